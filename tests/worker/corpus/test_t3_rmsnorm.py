"""The corpus of the drill t3_rmsnorm."""

from __future__ import annotations

from tests.worker.corpus.graded import CorpusOf


class TestCorpus(CorpusOf):
    slug = "t3_rmsnorm"
    least_accepted = 6
    least_others = 12
