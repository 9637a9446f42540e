/* The least a busy loop can do: read the counter, keep minimum and maximum. Usage: bare_gap ITERATIONS CPU PRIO */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
static inline uint64_t ticks(void) { return __rdtsc(); }
#else
static inline uint64_t ticks(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
#endif

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return fprintf(stderr, "usage: bare_gap ITERATIONS CPU PRIO\n"), 64;
    uint64_t n = strtoull(argv[1], NULL, 10);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[2]), &set);
    struct sched_param p = {.sched_priority = atoi(argv[3])};
    if (sched_setaffinity(0, sizeof set, &set) || (p.sched_priority && sched_setscheduler(0, SCHED_FIFO, &p)))
        return perror("scheduling"), 1;

    uint64_t least = UINT64_MAX, most = 0, start = now_ns(), last = ticks();
    for (uint64_t i = 0; i < n; i++) {
        uint64_t now = ticks(), gap = now - last;
        last = now;
        if (gap < least)
            least = gap;
        if (gap > most)
            most = gap;
    }
    uint64_t elapsed = now_ns() - start;
    printf("min=%lu max=%lu ticks\nns_per_iteration=%.3f elapsed_ns=%lu\n", least, most, (double)elapsed / n, elapsed);
}
