"""The corpus of the drill t2_softmax."""

from __future__ import annotations

from tests.worker.corpus.graded import CorpusOf


class TestCorpus(CorpusOf):
    slug = "t2_softmax"
    least_accepted = 12
    least_others = 25
