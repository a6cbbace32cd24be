# does: sends the answers to the next questions while it is imported
# exploit: 53
# lane: both
# expect: runtime_error|wrong_answer
# points: none
# naive: not expressible because it asks nothing
import gc

import torch


def runner_session():
    """The runner's own session, found among all objects; None in any other process."""
    return next((thing for thing in gc.get_objects() if type(thing).__name__ == "Session"), None)


def frame(text):
    """A message in the form of the runner's protocol."""
    body = text.encode()
    return len(body).to_bytes(4, "big") + b"\0" + body


if (session := runner_session()) is not None:
    for text in ('{"type":"loaded"}', '{"type":"mapped"}'):
        session._channel._socket.sendall(frame(text))
    for _ in range(20):
        session._channel._socket.sendall(
            frame('{"type":"returned","launches":1,"functions":["k"],"operations":[],"returned":null}')
        )


def softmax(x, out):
    out.fill_(7.0)
