"""Row softmax as a ladder of Triton kernels, from five operations of torch to rows that programs share.

``softmax`` picks the rung that suits a matrix, ``RUNGS`` has them all, ``oracle`` is the float64 truth.
"""

from reference.softmax.arguments import EmptyRow
from reference.softmax.dispatch import softmax
from reference.softmax.ladder import RUNGS, Rung
from reference.softmax.oracle import oracle

__all__ = ["RUNGS", "EmptyRow", "Rung", "oracle", "softmax"]
