/* What the bare loops share: the clock, a place and a priority, and the order for a median. */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Pins the calling thread and makes it FIFO (0 leaves the policy); ends the program where that is refused. */
static inline void become(const char *cpu, const char *prio)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(cpu), &set);
    struct sched_param p = {.sched_priority = atoi(prio)};
    if (sched_setaffinity(0, sizeof set, &set) || (p.sched_priority && sched_setscheduler(0, SCHED_FIFO, &p))) {
        perror("scheduling");
        exit(1);
    }
}

static inline int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
