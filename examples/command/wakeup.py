"""How late a Python thread wakes up: a source of samples for `latido run command -- python3 wakeup.py`.

One thread measures and never writes; the main thread writes twice a second what was collected. docs/command.md has the protocol.
"""
import os
import sys
import threading
import time

PERIOD = 1_000_000  # ns

out = os.fdopen(int(os.environ.get("LATIDO_SAMPLES_FD", "1")), "w", buffering=1 << 16)
samples, missed, produced = [], [], 0
go, over = threading.Event(), threading.Event()


def measure():
    """Sleeps until each slot; slots that have passed are counted and not made up for."""
    global produced
    go.wait()
    due = time.monotonic_ns() + PERIOD
    while not over.is_set():
        time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
        now = time.monotonic_ns()
        samples.append((now - due, now))
        produced += 1
        due += PERIOD
        if now > due:
            passed = (now - due) // PERIOD + 1
            missed.append((passed, due))
            due += passed * PERIOD


def write():
    """Tells what was collected: the thread appends behind what is taken here."""
    for line, collected in (("0 %d %d\n", samples), ("miss 0 %d %d\n", missed)):
        count = len(collected)
        out.writelines(line % one for one in collected[:count])
        del collected[:count]
    out.flush()


thread = threading.Thread(target=measure)
thread.start()
out.write("latido-samples 1\n")
out.write(f"series 0 quantity=latency unit=ns clock=monotonic tid={thread.native_id} period={PERIOD} label.by=python\n")
out.write("miss 0 0\nready\n")  # slots that pass are counted: there are none yet
out.flush()

sys.stdin.readline()  # go
go.set()
stop = threading.Thread(target=sys.stdin.readline, daemon=True)  # stop, or the end of input
stop.start()
while stop.is_alive():
    stop.join(0.5)
    write()
over.set()
thread.join()
write()
out.write(f"end 0 {produced}\n")
out.close()
