/* The least that times a mutex: batches of lock and unlock between two readings of the clock, the median of all.
 * Usage: bare_mutex BATCHES PAIRS CPU PRIO normal|inherit */
#define _GNU_SOURCE
#include "bare.h"
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static void *idle(void *unused)
{
    pause();
    return unused;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return fprintf(stderr, "usage: bare_mutex BATCHES PAIRS CPU PRIO normal|inherit\n"), 64;
    long n = atol(argv[1]), pairs = atol(argv[2]);
    become(argv[3], argv[4]);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (!strcmp(argv[5], "inherit"))
        pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &attributes);
    /* Two threads in the process, as in any program that has a mutex: the C library takes shortcuts for one. */
    pthread_t other;
    pthread_create(&other, NULL, idle, NULL);
    int64_t *took = calloc(n, sizeof *took);
    for (long i = 0; i < n; i++) {
        int64_t start = now_ns();
        for (long k = 0; k < pairs; k++) {
            if (pthread_mutex_lock(&mutex) || pthread_mutex_unlock(&mutex))
                return fprintf(stderr, "a call failed\n"), 1;
        }
        took[i] = now_ns() - start;
    }
    qsort(took, n, sizeof *took, ascending);
    printf("median_ps=%.0f\n", took[n / 2] * 1000.0 / pairs);
}
