"""The corpus of the drill t2_online_softmax."""

from __future__ import annotations

from tests.worker.corpus.graded import CorpusOf


class TestCorpus(CorpusOf):
    slug = "t2_online_softmax"
    least_accepted = 6
    least_others = 12
