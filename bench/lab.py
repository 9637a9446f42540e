"""Guests of the laboratory beside bare QEMU: a shim in the place of QEMU keeps what latido gives it, to be booted again."""
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

QEMU = "qemu-system-x86_64"
SHIM = """#!/bin/sh
case " $* " in *" -kernel "*)
  date +%s.%N > '{kept}/started'
  cp -L image vmlinuz '{kept}'
  printf '%s\\n' "$@" > '{kept}/arguments';;
esac
exec '{qemu}' "$@"
"""


class Guest:
    """What latido started QEMU with for one cell: the image, the kernel, the arguments, and when."""

    def __init__(self, latido, folder, words):
        self.folder = Path(folder) / "guest"
        self.folder.mkdir()
        real = shutil.which(QEMU)
        if not real:
            raise RuntimeError(f"{QEMU} is not installed")
        shims = Path(folder) / "shims"
        shims.mkdir()
        (shims / QEMU).write_text(SHIM.format(kept=self.folder, qemu=real))
        (shims / QEMU).chmod(0o755)
        self.environment = os.environ | {"PATH": f"{shims}:{os.environ['PATH']}", "LATIDO_STORE": f"{folder}/guests"}
        self.command = [str(latido), "run", *words, "-q", "--no-report"]
        # What the kernel can have is asked of a guest of its own, once.
        self.run()

    def run(self):
        """Seconds from latido's start to that of its guest."""
        begun = time.time()
        done = subprocess.run(self.command, env=self.environment, capture_output=True, text=True)
        if done.returncode not in (0, 2, 3):
            raise RuntimeError(f"latido: exit {done.returncode}: {done.stderr[-300:]}")
        return float((self.folder / "started").read_text()) - begun

    def boot(self, image, *told, without=()):
        """Boots an image as latido would, told more; processor time in s, and the console's text."""
        words = (self.folder / "arguments").read_text().splitlines()
        words[words.index("-initrd") + 1] = str(image)
        at = words.index("-append") + 1
        words[at] = " ".join([word for word in words[at].split() if word not in without] + list(told))
        child = subprocess.Popen([QEMU, *words], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise RuntimeError(f"{QEMU}: exit {child.returncode}")
        return usage.ru_utime + usage.ru_stime, (self.folder / "console.log").read_text(errors="replace")

    def seconds(self):
        """Guest seconds until user space and until the end, by the kernel's own log; and those that the agent took to start."""
        _, text = self.boot("image", "loglevel=7", "printk.time=1", without=("quiet",))
        marks = [re.search(rf"\[ *([\d.]+)\] {words}", text) for words in ("Run /init as init", "reboot: Power")]
        if None in marks:
            raise RuntimeError(f"the guest's log lacks its marks: {text[-300:]}")
        head = (self.folder / "answers").read_bytes().split(b"\n", 1)[0]
        up, end = (float(mark[1]) for mark in marks)
        return up, int(head.split()[3]) / 1e9, end


def archive(path, to, name="bare"):
    """An archive with one program, which the kernel unpacks after whatever is before it (newc)."""
    data = Path(path).read_bytes()
    out = bytearray()
    for entry, mode, content in ((name, 0o100755, data), ("TRAILER!!!", 0, b"")):
        fields = (1, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(entry) + 1, 0)
        out += b"070701" + b"".join(b"%08x" % field for field in fields) + entry.encode() + b"\0"
        out += b"\0" * (-len(out) % 4) + content
        out += b"\0" * (-len(out) % 4)
    Path(to).write_bytes(out)
    return to
