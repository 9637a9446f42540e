/* The least that times a sleep: the clock, a relative sleep, the clock; the median of all.
 * Usage: bare_sleep SLEEPS LENGTH_US CPU PRIO */
#define _GNU_SOURCE
#include "bare.h"
#include <sys/mman.h>

int main(int argc, char **argv)
{
    if (argc != 5)
        return fprintf(stderr, "usage: bare_sleep SLEEPS LENGTH_US CPU PRIO\n"), 64;
    long n = atol(argv[1]);
    struct timespec length = {.tv_nsec = atol(argv[2]) * 1000};
    become(argv[3], argv[4]);
    int64_t *took = calloc(n, sizeof *took);
    mlockall(MCL_CURRENT);
    for (long i = 0; i < n; i++) {
        int64_t start = now_ns();
        clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL);
        took[i] = now_ns() - start;
    }
    qsort(took, n, sizeof *took, ascending);
    printf("median_ns=%ld\n", (long)took[n / 2]);
}
