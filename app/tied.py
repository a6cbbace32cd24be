"""``tied.py PARENT COMMAND…``: become COMMAND, and be killed when the process PARENT dies.

Run as a file by ``app.supervise``, with nothing but the standard library: setting this up between fork and
exec in a process that has threads would not be safe. Killed, not asked: what a parent's sudden death
interrupts is found in the database and done again.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it died before we asked to be told
        sys.exit(1)
    os.execvp(command[0], command)  # noqa: S606


main()
