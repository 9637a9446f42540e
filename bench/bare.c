/* The least that a loop of each kind can do, to compare latido's loops with: bare gap|mutex|sleep|switch|wakeup ARGUMENTS... */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Pins the calling thread and makes it FIFO (0 leaves the policy); ends the program if the kernel refuses that. */
static void become(const char *cpu, const char *prio)
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

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The least a busy loop can do: read the counter, keep minimum and maximum. Usage: bare gap ITERATIONS CPU PRIO */

#if defined(__x86_64__)
static inline uint64_t ticks(void) { return __rdtsc(); }
#else
static inline uint64_t ticks(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
#endif


static int gap(int argc, char **argv)
{
    if (argc != 4)
        return fprintf(stderr, "usage: bare gap ITERATIONS CPU PRIO\n"), 64;
    uint64_t n = strtoull(argv[1], NULL, 10);
    become(argv[2], argv[3]);

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
    return 0;
}

/* The least that times a mutex: batches of lock and unlock between two readings of the clock, the median of all.
 * Usage: bare mutex BATCHES PAIRS CPU PRIO normal|inherit */

static void *pauses(void *unused)
{
    pause();
    return unused;
}

static int mutex(int argc, char **argv)
{
    if (argc != 6)
        return fprintf(stderr, "usage: bare mutex BATCHES PAIRS CPU PRIO normal|inherit\n"), 64;
    long n = atol(argv[1]), pairs = atol(argv[2]);
    become(argv[3], argv[4]);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (!strcmp(argv[5], "inherit"))
        pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &attributes);
    /* Two threads in the process, as in any program that has a mutex: with one thread the C library takes shortcuts. */
    pthread_t other;
    pthread_create(&other, NULL, pauses, NULL);
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
    return 0;
}

/* The least that times a sleep: the clock, a relative sleep, the clock; the median of all.
 * Usage: bare sleep SLEEPS LENGTH_US CPU PRIO */

static int sleeps(int argc, char **argv)
{
    if (argc != 5)
        return fprintf(stderr, "usage: bare sleep SLEEPS LENGTH_US CPU PRIO\n"), 64;
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
    return 0;
}

/* The least that times a task switch: a low thread reads the clock and posts a semaphore, the high one that waits for
 * it reads the clock; both on one CPU; the median of all.
 * Usage: bare switch SWITCHES INTERVAL_US CPU PRIO */

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

static int switches(int argc, char **argv)
{
    if (argc != 5)
        return fprintf(stderr, "usage: bare switch SWITCHES INTERVAL_US CPU PRIO\n"), 64;
    n = atol(argv[1]);
    struct timespec interval = {.tv_nsec = atol(argv[2]) * 1000};
    struct sched_param high = {.sched_priority = atoi(argv[4])}, low = {.sched_priority = atoi(argv[4]) - 1};
    /* Before the waiter starts, because it inherits the CPU. */
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
    return 0;
}

/* The least a periodic loop can do: sleep until a slot, read the clock, keep minimum and maximum.
 * Usage: bare wakeup SLOTS PERIOD_US CPU PRIO */

static int64_t ns(struct timespec t)
{
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int wakeup(int argc, char **argv)
{
    if (argc != 5)
        return fprintf(stderr, "usage: bare wakeup SLOTS PERIOD_US CPU PRIO\n"), 64;
    long n = atol(argv[1]), period = atol(argv[2]) * 1000;
    become(argv[3], argv[4]);
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
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int, char **);
    } kinds[] = {{"gap", gap}, {"mutex", mutex}, {"sleep", sleeps}, {"switch", switches}, {"wakeup", wakeup}};
    for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(argv[1], kinds[i].name))
            return kinds[i].run(argc - 1, argv + 1);
    return fprintf(stderr, "usage: bare gap|mutex|sleep|switch|wakeup ARGUMENTS...\n"), 64;
}
