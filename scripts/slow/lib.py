"""Runs a script of this folder and writes its logs: the machine, what the script prints, how it ends.

Each script restarts itself through this file. So a run by hand and a run by scripts/slow/all leave the same files:

  target/slow/NAME.long  all that the script printed
  target/slow/NAME.log   the short log, at most 40 lines: date, commit, machine; the figures; how it ended

A script prints its figures on stdout, and they make up the short log. It prints details on stderr. NAME is the name of the script, followed
by the part if the script has parts: `kill --lab` is kill-lab. `scripts/slow/all --keep NAME` writes a short log into logs.md of this folder,
where git tracks it.

In a script, the line `# needs: ...` names what the script requires, `# needs --lab: ...` names what one part requires, and `# parts: --runs
...` names the parts. If this machine lacks something, lib.py skips the script with exit status 77.

usage: python3 scripts/slow/lib.py SCRIPT [ARGUMENT...]
       python3 scripts/slow/lib.py --guest FLAVOUR [release]   fetches kernel and busybox, builds a static latido, prints the three paths
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "target/slow"
MOST_LINES = 40
SKIPPED = 77


def logs(page=pathlib.Path(__file__).with_name("logs.md")):
    """Maps the name of each step to its committed log."""
    text = page.read_text() if page.exists() else ""
    return dict(re.findall(r"^## ([\w-]+)\n\n```text\n(.*?)^```$", text, re.M | re.S))


def keep_log(name, text, page=pathlib.Path(__file__).with_name("logs.md")):
    """Writes the log of a step into the page; the sections are in the order of their names."""
    all_logs = logs(page) | {name: text}
    head = page.read_text().split("\n## ")[0].rstrip("\n") if page.exists() else "# Logs of the slow scripts"
    sections = [f"\n## {one}\n\n```text\n{all_logs[one]}```\n" for one in sorted(all_logs)]
    page.write_text(head + "\n" + "".join(sections))


def declared(script, word):
    """Returns the words that a script declares in a comment, such as those after `# needs:`."""
    found = re.search(rf"^# {re.escape(word)}: (.+)$", pathlib.Path(script).read_text(), re.M)
    return found[1].split() if found else []


def part_of(script, arguments):
    """Returns the part that the arguments name; None if they name no part."""
    return next((part for part in declared(script, "parts") if part in arguments), None)


def name_of(script, part):
    return pathlib.Path(script).name + (part or "").replace("--", "-")


def there(word):
    """Whether this machine has what a word of `# needs:` names."""
    if word == "root":
        return os.geteuid() == 0
    if word == "two-CPUs":
        return len(os.sched_getaffinity(0)) > 1
    if word == "tracefs":
        return "tracefs" in pathlib.Path("/proc/filesystems").read_text().split()
    if word == "nightly-cargo-fuzz":
        return succeeds("cargo", "+nightly", "fuzz", "--version")
    if word.startswith("LATIDO_"):
        return word in os.environ
    if word == "duckdb":
        return succeeds(sys.executable, "-c", "import duckdb") or (ROOT / "target/readers/python/bin/python3").exists()
    return shutil.which(word) is not None


def succeeds(*command):
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0
    except OSError:
        return False


HINTS = {
    "root": "root",
    "two-CPUs": "two CPUs",
    "tracefs": "a kernel with tracefs",
    "nightly-cargo-fuzz": "a nightly compiler and cargo-fuzz (rustup toolchain install nightly && cargo install cargo-fuzz)",
    "duckdb": "DuckDB for Python (scripts/readers installs it)",
}


def lacks(script, part=None):
    """Lists what the script or this part requires and this machine lacks."""
    words = declared(script, "needs") + (declared(script, f"needs {part}") if part else [])
    return [HINTS.get(word, f"the program {word}") for word in words if not there(word)]


def said(*command):
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def head(script, arguments, part):
    """Returns the first line of a log: date, commit, machine and command."""
    model = re.search(r"^model name\s*: (.+)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    words = [time.strftime("%F", time.gmtime()), f"commit {said('git', 'describe', '--always', '--dirty', '--exclude=*') or 'unknown'}"]
    words.append(f"{os.cpu_count()} CPUs ({model[1] if model else os.uname().machine})")
    words.append(f"Linux {os.uname().release}, {'root' if os.geteuid() == 0 else 'a user'}, load average {os.getloadavg()[0]:.1f}")
    needs = declared(script, "needs") + declared(script, f"needs {part}")
    if "qemu-system-x86_64" in needs:
        version = re.search(r"version (\S+)", said("qemu-system-x86_64", "--version"))
        words.append(f"QEMU {version[1] if version else 'unknown'}")
    return f"{', '.join(words)}: {' '.join(['scripts/slow/' + pathlib.Path(script).name, *arguments])}"


def short(first, figures, last):
    """Returns the short log, without blank lines and without the lines beyond MOST_LINES."""
    figures = [line.rstrip() for line in figures if line.strip()]
    most = MOST_LINES - 2
    if len(figures) > most:
        figures = [*figures[: most - 1], f"... and {len(figures) - most + 1} lines more"]
    return "\n".join([first, *figures, last]) + "\n"


def run(script, arguments):
    """Runs the script, writes its two logs and returns its exit status."""
    part = part_of(script, arguments)
    name = name_of(script, part)
    if lacking := lacks(script, part):
        print(f"skipped: {name} needs {'; '.join(lacking)}", file=sys.stderr)
        return SKIPPED
    PLACE.mkdir(parents=True, exist_ok=True)
    long, log = PLACE / f"{name}.long", PLACE / f"{name}.log"
    first, figures, turn, begun = head(script, arguments, part), [], threading.Lock(), time.monotonic()

    def pump(pipe, shown, kept):
        for line in pipe:
            with turn:
                shown.write(line)
                shown.flush()
                whole.write(line)
                whole.flush()
                if kept is not None:
                    kept.append(line)

    with open(long, "w") as whole:
        print(first, flush=True)
        whole.write(first + "\n")
        environment = os.environ | {"LATIDO_SLOW": name, "PYTHONUNBUFFERED": "1"}
        pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        child = subprocess.Popen([pathlib.Path(script).resolve(), *arguments], env=environment, **pipes)
        # Ctrl-C reaches the script too, which cleans up and ends. This process passes SIGTERM on to the script.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        ways = (child.stdout, sys.stdout, figures), (child.stderr, sys.stderr, None)
        threads = [threading.Thread(target=pump, args=way, daemon=True) for way in ways]
        for one in threads:
            one.start()
        status = child.wait()
        # A process that outlives the script may keep its output open. Each thread waits at most 10 s for that.
        for one in threads:
            one.join(10)
        # If a signal ended the script, this is the status that a shell reports.
        status = status if status >= 0 else 128 - status
        ended = "passed" if status == 0 else "skipped" if status == SKIPPED else f"FAILED with exit status {status}"
        left = "; a process that it started still runs" if any(one.is_alive() for one in threads) else ""
        last = f"{ended} in {time.monotonic() - begun:.0f} s{left}; all that it printed: {long.relative_to(ROOT)}"
        whole.write(last + "\n")
    log.write_text(short(first, figures, last))
    print(f"{last}\nshort log: {log.relative_to(ROOT)}", file=sys.stderr)
    return status


def guest(flavour, profile="dev"):
    """Fetches kernel and busybox for a guest, builds a static latido, and prints the three paths."""
    fetched = subprocess.run([ROOT / "scripts/guest", "fetch", "--flavour", flavour], stdout=subprocess.PIPE, text=True, check=True).stdout
    environment = os.environ | {"RUSTFLAGS": "-Ctarget-feature=+crt-static"}
    host = re.search(r"^host: (.+)$", said("rustc", "-vV"), re.M)[1]
    subprocess.run(["cargo", "build", "--quiet", "--profile", profile, "--target", host, "-p", "latido"], cwd=ROOT, env=environment, check=True)
    print(*fetched.split(), ROOT / "target" / host / ("debug" if profile == "dev" else profile) / "latido")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--guest":
        guest(*sys.argv[2:])
    else:
        sys.exit(run(sys.argv[1], sys.argv[2:]))
