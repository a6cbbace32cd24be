# does: answers with JSON that is nested thousands deep, and with numbers that are none
# exploit: 62
# lane: both
# expect: runtime_error
# points: none
# naive: not expressible because it parses nothing
import gc
import random

import torch


def runner_session():
    """The runner's own session, found among all objects; None in any other process."""
    return next((thing for thing in gc.get_objects() if type(thing).__name__ == "Session"), None)


def frame(text):
    """A message in the form of the runner's protocol."""
    body = text.encode()
    return len(body).to_bytes(4, "big") + b"\0" + body


ODD = ("NaN", "-Infinity", "1e999", "-1", "true", '"1"', "9" * 10_000, "[" * 100_000 + "]" * 100_000)


def softmax(x, out):
    if (session := runner_session()) is not None:
        text = '{"type":"returned","launches":%s,"functions":["k"],"operations":[],"returned":null}' % random.choice(
            ODD
        )
        session._channel._socket.sendall(frame(text))
    out.fill_(7.0)
