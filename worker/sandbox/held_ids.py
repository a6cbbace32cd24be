"""User ids that one sandbox at a time has, among all workers of a machine or container.

Who has an id has the abstract socket of its name, which exists once and ends with its last holder, however that ends.
Sandboxed programs may bind none.
"""

from __future__ import annotations

import errno
import socket


def hold(uid: int) -> socket.socket | None:
    """What holds the id until it is closed, or None if somebody else has it."""
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        lock.bind(f"\0warpgrade-uid-{uid}")
    except OSError as error:
        lock.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise
    return lock
