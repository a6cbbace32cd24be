"""The end of a warm-up: a judge or a runner gives back what it inherited to hold until it is warm."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable


def end_warm_up(arguments: Iterable[str]) -> None:
    """Unlock and close the inherited descriptors: what is left of the command line, nothing where nobody measures.

    To close alone would not do: a sandbox's own process may have a copy, and a lock lasts as long as any. And no
    submission is to meet the descriptor.
    """
    for argument in arguments:
        fcntl.flock(int(argument), fcntl.LOCK_UN)
        os.close(int(argument))
