# does: raises exceptions that are hard to show: markup, no Unicode, 64 MiB of text, no text at all
# exploit: 62
# lane: both
# expect: runtime_error
# points: none
# naive: not expressible because it shows no text
import torch


class Unshowable(BaseException):
    def __str__(self):
        raise Unshowable

    __repr__ = __str__


ERRORS = (
    lambda: ValueError("\0 \x1b[2J <script>alert(1)</script> {{ 7 * 7 }} ]]> \u202e"),
    lambda: ValueError("\ud800 and \udfff"),
    lambda: ValueError("x" * (64 << 20)),
    Unshowable,
)
calls = 0


def softmax(x, out):
    global calls
    calls += 1
    raise ERRORS[calls % len(ERRORS)]()
