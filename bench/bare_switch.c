/* The least that times a task switch: a low thread reads the clock and posts a semaphore, the high one that waits for
 * it reads the clock; both on one CPU; the median of all.
 * Usage: bare_switch SWITCHES INTERVAL_US CPU PRIO */
#define _GNU_SOURCE
#include "bare.h"
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

static sem_t gate;
static volatile int64_t posted;
static int64_t *took;
static long n;

static void *waiter(void *unused)
{
    for (long i = 0; i < n; i++) {
        sem_wait(&gate);
        took[i] = now_ns() - posted;
    }
    return unused;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return fprintf(stderr, "usage: bare_switch SWITCHES INTERVAL_US CPU PRIO\n"), 64;
    n = atol(argv[1]);
    struct timespec interval = {.tv_nsec = atol(argv[2]) * 1000};
    struct sched_param high = {.sched_priority = atoi(argv[4])}, low = {.sched_priority = atoi(argv[4]) - 1};
    /* Before the waiter starts, which inherits the place. */
    become(argv[3], "0");
    took = calloc(n, sizeof *took);
    sem_init(&gate, 0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, waiter, NULL);
    if (pthread_setschedparam(thread, SCHED_FIFO, &high) || pthread_setschedparam(pthread_self(), SCHED_FIFO, &low))
        return perror("scheduling"), 1;
    mlockall(MCL_CURRENT);
    for (long i = 0; i < n; i++) {
        if (interval.tv_nsec)
            clock_nanosleep(CLOCK_MONOTONIC, 0, &interval, NULL);
        posted = now_ns();
        sem_post(&gate);
    }
    pthread_join(thread, NULL);
    qsort(took, n, sizeof *took, ascending);
    printf("median_ns=%ld\n", (long)took[n / 2]);
}
