"""A trace of this machine under load, read by latido and by `trace-cmd report`: processor time of whole processes."""
import os
import re
import subprocess
import time
from pathlib import Path


def record(latido, path, events):
    """Records a trace while stress-ng runs, longer each time until there are enough events. Returns how many there are."""
    seconds = 4
    while True:
        load = subprocess.Popen(["stress-ng", "--switch", "2", "--pipe", "1", "--timer", "1", "-q"], stderr=subprocess.DEVNULL)
        try:
            words = [latido, "trace", "record", "--for", f"{seconds}s", "--size", "128MiB", "-o", path]
            for name in ("sched", "irq", "irq_vectors", "raw_syscalls"):
                words += ["-e", name]
            done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        finally:
            load.terminate()
            load.wait()
        found = re.search(r": ([\d \u202f]+) events", done.stdout + done.stderr)
        if done.returncode != 0 or not found:
            raise RuntimeError(f"latido trace record: exit {done.returncode}: {done.stderr[-300:]}")
        count = int(re.sub(r"\D", "", found[1]))
        if count >= events:
            return count
        # The events so far show how long it takes. The recording never gets longer than a minute, and stops at a file of 2 GB.
        longer = min(60, seconds * events * 1.3 / max(count, 1))
        if longer <= seconds * 1.05 or path.stat().st_size > 2e9:
            raise RuntimeError(f"{count} events in {seconds} s, and {events} are needed")
        seconds = round(longer, 1)


def packed(path, into):
    """Packs the trace with zstd by trace-cmd. Returns None if trace-cmd cannot do that."""
    done = subprocess.run(["trace-cmd", "convert", "-i", path, "-o", into, "--compression", "zstd"], capture_output=True)
    return into if done.returncode == 0 and into.exists() and b"zstd" in into.read_bytes()[:40] else None


def cpu_s(command):
    """Returns the processor time of a command in s, and the most memory that it had without mapped files, in MB."""
    child = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    most = 0
    while True:
        try:
            status = Path(f"/proc/{child.pid}/status").read_text()
            anonymous = re.search(r"RssAnon:\s+(\d+)", status)
            most = max(most, int(anonymous[1]) if anonymous else 0)
        except OSError:
            pass
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        # Seldom enough not to slow the command.
        time.sleep(0.005)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"{command[0]}: exit {child.returncode}: {child.stderr.read().decode()[-300:]}")
    return usage.ru_utime + usage.ru_stime, most * 1.024e-3
