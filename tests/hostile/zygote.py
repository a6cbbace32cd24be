"""Runs the naive grader in a process of its own for each submission, without importing torch each time.

``python zygote.py SCRATCH`` reads paths from standard input, one a line, and answers each with a JSON line: how the
grader ended, and what it printed.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import runpy
import selectors
import signal
import sys
import tempfile
import time
from pathlib import Path

import torch
import triton.language  # noqa: F401  a submission would import it

GRADER = Path(__file__).with_name("naive_grader.py")
LIMIT_S = 20.0


def child(path: str, scratch: str, output: int) -> None:
    """Become the grader. Does not return."""
    os.setsid()
    os.dup2(output, 1)
    os.chdir(scratch)
    tempfile.tempdir = os.environ["TMPDIR"] = scratch
    sys.argv = [str(GRADER), path]
    runpy.run_path(str(GRADER), run_name="__main__")
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(0)  # taking torch apart would take longer than grading


def run(path: str, scratch: str) -> dict[str, object]:
    """Grade ``path``; whatever is left of the grader's process group afterwards is killed."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        child(path, scratch, write_end)
    os.close(write_end)
    with os.fdopen(read_end, "rb", buffering=0) as output:
        text = _read(output.fileno(), time.monotonic() + LIMIT_S)
        if text is None:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    return {"returncode": os.waitstatus_to_exitcode(status), "stdout": (text or b"").decode("utf-8", "replace")}


def _read(descriptor: int, deadline: float) -> bytes | None:
    """Everything up to the end of the stream, or None when that does not come in time."""
    text = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while selector.select(deadline - time.monotonic()):
            data = os.read(descriptor, 1 << 16)
            if not data:
                return bytes(text)
            text += data
    return None


def main() -> None:
    torch.set_num_threads(1)
    for line in sys.stdin:
        print(json.dumps(run(line.rstrip("\n"), sys.argv[1])), flush=True)


if __name__ == "__main__":
    main()
