"""Compares guests of the laboratory with bare QEMU. A shim replaces QEMU and keeps what latido passes to it, so that QEMU can boot it
again.
"""
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
    """How latido started QEMU for one cell: the image, the kernel, the arguments, and the time."""

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
        # Before its first cell latido boots another guest, once, to ask what the kernel offers.
        self.run()

    def run(self):
        """Runs latido. Returns the seconds from latido's start to the start of its guest."""
        begun = time.time()
        done = subprocess.run(self.command, env=self.environment, capture_output=True, text=True)
        if done.returncode not in (0, 2, 3):
            raise RuntimeError(f"latido: exit {done.returncode}: {done.stderr[-300:]}")
        return float((self.folder / "started").read_text()) - begun

    def boot(self, image, *told, without=()):
        """Boots an image as latido would, with more kernel parameters. Returns the processor time in s and the console's text."""
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
        """Returns guest seconds: until user space, for the start of the agent, and until the end. The first and the last are from the
        kernel's own log.
        """
        _, text = self.boot("image", "loglevel=7", "printk.time=1", without=("quiet",))
        marks = [re.search(rf"\[ *([\d.]+)\] {words}", text) for words in ("Run /init as init", "reboot: Power")]
        if None in marks:
            raise RuntimeError(f"the guest's log lacks its marks: {text[-300:]}")
        head = (self.folder / "answers").read_bytes().split(b"\n", 1)[0]
        up, end = (float(mark[1]) for mark in marks)
        return up, int(head.split()[3]) / 1e9, end


def archive(path, to, name="bare"):
    """Writes an archive (newc) with one program. The kernel unpacks it after the archives before it."""
    data = Path(path).read_bytes()
    out = bytearray()
    for entry, mode, content in ((name, 0o100755, data), ("TRAILER!!!", 0, b"")):
        fields = (1, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(entry) + 1, 0)
        out += b"070701" + b"".join(b"%08x" % field for field in fields) + entry.encode() + b"\0"
        out += b"\0" * (-len(out) % 4) + content
        out += b"\0" * (-len(out) % 4)
    Path(to).write_bytes(out)
    return to
