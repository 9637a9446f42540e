"""What running processes cost, read from /proc while they run: CPU time per thread, memory, interrupts of a CPU."""
import os
import re
import subprocess
import time
from pathlib import Path


def family(pid):
    """A process and its descendants."""
    found = [pid]
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += family(int(child))
    except OSError:
        pass
    return found


def threads(pids):
    """Maps each thread, as (pid, tid), to: the role of its process, its name, whether it is FIFO, its time on a CPU in ns, and how often it
    got a CPU (schedstat).
    """
    found = {}
    for pid in pids:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            role = "measuring process" if b"--measure" in words else "agent" if b"agent" in words else "command"
            for task in Path(f"/proc/{pid}/task").iterdir():
                ran, _, slices = (task / "schedstat").read_text().split()
                # Policy and priority are fields 41 and 40 (proc_pid_stat(5)); a measuring thread is FIFO.
                fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
                name = (task / "comm").read_text().strip()
                found[pid, int(task.name)] = (role, name, fields[38] in ("1", "2"), int(ran), int(slices))
        except OSError:
            continue
    return found


def pss(pids):
    """Returns the proportional set size of all processes together, and how much of it no other process shares, in MB of 10^6 bytes."""
    whole = private = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        fields = {name: int(kib) for name, kib in re.findall(r"(\w+): +(\d+) kB", text)}
        whole += fields.get("Pss", 0)
        private += fields.get("Private_Clean", 0) + fields.get("Private_Dirty", 0)
    return whole * 1.024e-3, private * 1.024e-3


def interrupts(cpu):
    """Returns the counts of one CPU, per line of /proc/interrupts."""
    lines = Path("/proc/interrupts").read_text().splitlines()
    column = lines[0].split().index(f"CPU{cpu}")
    rows = (line.split(":", 1) for line in lines[1:])
    counts = ((name.strip(), rest.split()) for name, rest in rows)
    return {name: int(words[column]) for name, words in counts if len(words) > column and words[column].isdigit()}


class Span:
    """What a command did between two readings: the first `settle` seconds after its start, the second `seconds` later. `Span` then ends the
    command.
    """

    def __init__(self, command, settle, seconds, cpu=None):
        own = os.sched_getaffinity(0)
        child = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            # This process waits on another CPU: its timer would interrupt the measured one.
            os.sched_setaffinity(0, own - {cpu} or own)
            time.sleep(settle)
            pids = family(child.pid)
            before, began, rows = threads(pids), time.monotonic(), interrupts(cpu) if cpu is not None else {}
            time.sleep(seconds)
            rows = {name: count - rows.get(name, 0) for name, count in (interrupts(cpu) if rows else {}).items()}
            after, self.seconds = threads(pids), time.monotonic() - began
            self.pss, self.private = pss(family(child.pid))
            if child.poll() is not None:
                raise RuntimeError(f"{command[0]} ended too early: {child.stderr.read().decode()[-500:]}")
        finally:
            os.sched_setaffinity(0, own)
            child.terminate()
            child.communicate()
        # Each thread: role, name, whether it is a measuring one, ns on a CPU, how often it got one.
        self.threads = [(role, name, rt, ran - before[key][3], slices - before[key][4])
                        for key, (role, name, rt, ran, slices) in after.items() if key in before]
        self.interrupts = rows
        if not self.measuring():
            raise RuntimeError(f"{command[0]} has no FIFO thread: no right to real-time scheduling?")

    def measuring(self):
        return [thread for thread in self.threads if thread[2] and thread[4] > 0]

    def per_wakeup_us(self):
        """The measuring threads' time on a CPU per wake-up, in us."""
        return sum(thread[3] for thread in self.measuring()) / sum(thread[4] for thread in self.measuring()) / 1e3

    def rest(self):
        """The time of everything else, in percent of one CPU."""
        return sum(thread[3] for thread in self.threads if not thread[2]) / self.seconds / 1e7

    def shares(self):
        """The time of everything else per thread, in percent of one CPU, the largest first."""
        by = {}
        for role, name, rt, ran, _ in self.threads:
            if not rt:
                key = f"{role}, {name}"
                by[key] = by.get(key, 0) + ran / self.seconds / 1e7
        return sorted(by.items(), key=lambda item: -item[1])
