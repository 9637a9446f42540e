#!/usr/bin/env python3
"""Runs a command on a pseudo-terminal of 40 rows and 100 columns; its output to standard output, \\r\\n made \\n."""
import fcntl, os, pty, struct, subprocess, sys, termios

master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
child = subprocess.Popen(sys.argv[1:], stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
os.close(slave)
parts = []
while True:
    try:
        part = os.read(master, 65536)
    except OSError:
        break
    if not part:
        break
    parts.append(part)
sys.stdout.buffer.write(b"".join(parts).replace(b"\r\n", b"\n"))
sys.exit(child.wait() if child.returncode is None else child.returncode)
