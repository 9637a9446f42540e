"""Makes files of cyclictest and reads them with Python, to compare `latido import` with."""
import random
import sys
import time

THREADS, ROWS = 64, 10_000


def histogram(path, dense=False):
    """Writes a histogram of 64 threads and 10,000 rows as cyclictest 2.4 prints it: a bulk, a tail, and mostly zeros; or no zero at all."""
    draw = random.Random(7)
    columns = []
    for thread in range(THREADS):
        counts = [draw.randrange(1, 900_000) if dense else 0 for _ in range(ROWS)]
        if not dense:
            for value in range(5, 400):
                counts[value] = int(3_000_000 * 0.97 ** (value - 5)) + draw.randrange(3)
            for _ in range(60):
                counts[draw.randrange(400, ROWS)] += 1
        columns.append(counts)
    used = [[value for value, count in enumerate(counts) if count] for counts in columns]
    with open(path, "w") as out:
        out.write("# /dev/cpu_dma_latency set to 0us\n# Histogram\n")
        for value in range(ROWS):
            out.write(f"{value:06d} " + "\t".join(f"{counts[value]:06d}" for counts in columns) + "\n")
        line = lambda name, form, values: out.write(f"# {name}: " + " ".join(form % value for value in values) + "\n")
        line("Total", "%09d", [sum(counts) for counts in columns])
        line("Min Latencies", "%05d", [values[0] for values in used])
        line("Avg Latencies", "%05d", [sum(v * c for v, c in enumerate(counts)) // sum(counts) for counts in columns])
        line("Max Latencies", "%05d", [values[-1] for values in used])
        line("Histogram Overflows", "%05d", [0] * THREADS)


def verbose(path, lines, threads=4):
    """Writes what cyclictest -v prints in about this many lines. Returns the exact number of lines."""
    draw = random.Random(7)
    values = [min(int(draw.lognormvariate(3.2, 0.5)), 9999) for _ in range(100_003)]
    each = lines // threads
    with open(path, "w") as out:
        out.write("Max CPUs = 4\nOnline CPUs = 4\n")
        for cycle in range(each):
            for thread in range(threads):
                out.write(f"{thread:8d}:{cycle:8d}:{values[(cycle * 7 + thread * 31) % 100_003]:8d}\n")
    return each * threads


def read_histogram(path):
    """Reads a histogram as rteval does: line by line, a dictionary for each thread, then its figures."""
    threads = []
    with open(path) as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            words = line.split()
            if not threads:
                threads = [{} for _ in words[1:]]
            for samples, word in zip(threads, words[1:]):
                count = int(word)
                if count:
                    samples[int(words[0])] = count
    for samples in threads:
        total = sum(samples.values())
        mean = sum(value * count for value, count in samples.items()) / total
        sum((value - mean) ** 2 * count for value, count in samples.items())
        sorted(samples)
    return len(threads)


def read_verbose(path):
    """Reads the output of -v: three numbers per line, counted by thread and value."""
    counts = {}
    with open(path) as lines:
        for line in lines:
            parts = line.split(":")
            if len(parts) == 3:
                key = int(parts[0]), int(parts[2])
                counts[key] = counts.get(key, 0) + 1
    return len(counts)


if __name__ == "__main__":
    started = time.perf_counter()
    {"histogram": read_histogram, "verbose": read_verbose}[sys.argv[1]](sys.argv[2])
    print(time.perf_counter() - started)
