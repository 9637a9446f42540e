/* A source of samples for `latido run command`: this many million per second; without a number, as many as the pipe takes.
 * usage: lines [MILLIONS_PER_SECOND]; when latido has sent the start line, it writes for three seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINES = 2500, SECONDS = 3 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int count, char **words)
{
	double rate = count > 1 ? atof(words[1]) * 1e6 : 0, begin;
	char *text = malloc(LINES * 64), word[16];
	long length = 0, told = 0;

	printf("latido-samples 1\nseries 0 quantity=latency unit=ns clock=none\nready\n");
	fflush(stdout);
	if (!text || read(0, word, sizeof word) <= 0)
		return 1;
	for (int line = 0; line < LINES; line++)
		length += sprintf(text + length, "0 %d 12345678%05d\n", 20000 + line * 7919 % 9973, line);
	begin = now();
	while (now() - begin < SECONDS) {
		double ahead = rate ? told / rate - (now() - begin) : 0;
		if (ahead > 0) {
			struct timespec pause = { 0, (long)(ahead * 1e9) };
			nanosleep(&pause, NULL);
			continue;
		}
		for (long at = 0; at < length;) {
			ssize_t wrote = write(1, text + at, length - at);
			if (wrote < 0)
				return 1;
			at += wrote;
		}
		told += LINES;
	}
	printf("end 0 %ld\n", told);
	return 0;
}
