"""Holds more than it may where nobody looks, or a memory file in plain sight."""

import ctypes
import mmap
import os
import signal
import sys
import threading

from worker.protocol.channel import from_descriptor

MIB = 1 << 20
MAP_NORESERVE, MADV_NOHUGEPAGE = 0x4000, 15
way = sys.argv[2]
if way in ("nothing", "leaderless"):
    kept = os.memfd_create("kept")
    for _ in range(64):
        os.write(kept, b"x" * MIB)
elif way == "tables":
    size = 40 << 30  # a page table for each 2 MiB in which a byte was read
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *3 * [ctypes.c_int], ctypes.c_long]
    start = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
    libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), MADV_NOHUGEPAGE)
    for offset in range(0, size, 2 * MIB):
        read = ctypes.c_char.from_address(start + offset).value
elif way == "unreadable":
    copy = os.memfd_create("copy")
    with open("/bin/sleep", "rb") as program:
        os.write(copy, program.read())
    os.fchmod(copy, 0o111)
    if os.fork() == 0:
        os.execv(f"/proc/self/fd/{copy}", ["sleep", "1000"])
    own = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    while "sleep" not in open(f"/proc/{open(own).read().split()[0]}/cmdline").read():
        pass
elif way == "many":
    for number in range(12):
        with open(f"file{number}", "wb") as file:
            file.write(b"x" * MIB)
elif way == "deep":
    for _ in range(100):
        os.mkdir("d" * 60)
        os.chdir("d" * 60)
    with open("file", "wb") as file:
        file.write(b"x" * MIB)
elif way == "closed":
    os.mkdir("closed")
    with open("closed/file", "wb") as file:
        file.write(b"x" * MIB)
    os.chmod("closed", 0)
channel = from_descriptor(int(sys.argv[1]), 1 << 20)


def tell():
    while way == "leaderless" and "Z" not in open("/proc/self/stat").read():
        pass
    channel.send({"type": "hider"})
    signal.pause()


if way == "leaderless":
    threading.Thread(target=tell).start()
    ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
tell()
