/* The least that times a sleep: the clock, a relative sleep, the clock; the median of all.
 * Usage: bare_sleep SLEEPS LENGTH_US CPU PRIO */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return fprintf(stderr, "usage: bare_sleep SLEEPS LENGTH_US CPU PRIO\n"), 64;
    long n = atol(argv[1]);
    struct timespec length = {.tv_nsec = atol(argv[2]) * 1000};
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[3]), &set);
    struct sched_param p = {.sched_priority = atoi(argv[4])};
    if (sched_setaffinity(0, sizeof set, &set) || (p.sched_priority && sched_setscheduler(0, SCHED_FIFO, &p)))
        return perror("scheduling"), 1;
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
