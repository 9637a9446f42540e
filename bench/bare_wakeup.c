/* The least a periodic loop can do: sleep until a slot, read the clock, keep minimum and maximum.
 * Usage: bare_wakeup SLOTS PERIOD_US CPU PRIO */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

static int64_t ns(struct timespec t) { return t.tv_sec * 1000000000ll + t.tv_nsec; }

int main(int argc, char **argv)
{
    if (argc != 5)
        return fprintf(stderr, "usage: bare_wakeup SLOTS PERIOD_US CPU PRIO\n"), 64;
    long n = atol(argv[1]), period = atol(argv[2]) * 1000;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[3]), &set);
    struct sched_param p = {.sched_priority = atoi(argv[4])};
    if (sched_setaffinity(0, sizeof set, &set) || (p.sched_priority && sched_setscheduler(0, SCHED_FIFO, &p)))
        return perror("scheduling"), 1;
    mlockall(MCL_CURRENT | MCL_FUTURE);

    struct rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    int64_t least = INT64_MAX, most = 0;
    struct timespec due, now;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (long i = 0; i < n; i++) {
        due.tv_nsec += period;
        while (due.tv_nsec >= 1000000000) {
            due.tv_nsec -= 1000000000;
            due.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t late = ns(now) - ns(due);
        if (late < least)
            least = late;
        if (late > most)
            most = late;
    }
    getrusage(RUSAGE_THREAD, &after);
#define US(f) ((after.f.tv_sec - before.f.tv_sec) * 1000000l + after.f.tv_usec - before.f.tv_usec)
    printf("count=%ld min=%ld max=%ld\ncpu_us=%ld\n", n, (long)least, (long)most, US(ru_utime) + US(ru_stime));
}
