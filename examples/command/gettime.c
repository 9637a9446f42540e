/* What two readings of the clock cost, on a pipe of their own: a source of samples for
 *   cc -O2 -pthread -o gettime gettime.c && latido run command channel=fd -- ./gettime
 * One thread measures into a ring and never waits for the writer: what does not fit is lost, and said so. */
#define _GNU_SOURCE
#include <pthread.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { RING = 1 << 16, PAUSE_NS = 100000 };

static struct { long value, end; } ring[RING];
static atomic_ulong written, taken, lost;
static atomic_int go, over, tid;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void *measure(void *unused)
{
	(void)unused;
	struct timespec pause = { 0, PAUSE_NS };
	atomic_store(&tid, (int)syscall(SYS_gettid));
	while (!atomic_load(&go))
		nanosleep(&pause, NULL);
	while (!atomic_load(&over)) {
		long before = now(), after = now();
		unsigned long at = atomic_load_explicit(&written, memory_order_relaxed);
		if (at - atomic_load_explicit(&taken, memory_order_acquire) < RING) {
			ring[at % RING].value = after - before;
			ring[at % RING].end = after;
			atomic_store_explicit(&written, at + 1, memory_order_release);
		} else {
			atomic_fetch_add(&lost, 1);
		}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void tell(FILE *out)
{
	unsigned long end = atomic_load_explicit(&written, memory_order_acquire);
	for (unsigned long at = atomic_load(&taken); at != end; at++)
		fprintf(out, "0 %ld %ld\n", ring[at % RING].value, ring[at % RING].end);
	atomic_store_explicit(&taken, end, memory_order_release);
	fflush(out);
}

int main(void)
{
	const char *fd = getenv("LATIDO_SAMPLES_FD");
	FILE *out = fdopen(fd ? atoi(fd) : 1, "w");
	pthread_t thread;
	char word[16];
	struct pollfd input = { 0, POLLIN, 0 };

	if (!out || pthread_create(&thread, NULL, measure, NULL))
		return 1;
	while (!atomic_load(&tid))
		usleep(100);
	fprintf(out, "latido-samples 1\n");
	fprintf(out, "series 0 quantity=cost unit=ns clock=monotonic tid=%d label.call=clock_gettime\n", atomic_load(&tid));
	fprintf(out, "ready\n");
	fflush(out);
	puts("this is not read as samples: they have a pipe of their own");
	fflush(stdout);
	if (read(0, word, sizeof word) <= 0) /* go */
		return 1;
	atomic_store(&go, 1);
	while (poll(&input, 1, 100) == 0) /* until stop, or the end of input */
		tell(out);
	atomic_store(&over, 1);
	pthread_join(thread, NULL);
	tell(out);
	if (atomic_load(&lost))
		fprintf(out, "drop 0 %lu\n", atomic_load(&lost));
	fprintf(out, "end 0 %lu\n", atomic_load(&written) + atomic_load(&lost));
	return fclose(out) != 0;
}
