"""What a report says, in sentences: the report keeps keys and parameters, whose sentences only the drill's version has.

Made from what the reader may see: nothing is put into a sentence that ``graders.visibility`` has taken out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from pydantic import Field

from graders.catalogue import Catalogue
from graders.manifest import Localised
from graders.report import (
    Annotation,
    CaseResult,
    Cause,
    Diagnosis,
    Message,
    Mismatch,
    Param,
    Performance,
)


@dataclass(frozen=True)
class Sentences:
    """A drill version's catalogue, in both languages at once."""

    catalogue: Catalogue

    def __call__(self, key: str, params: dict[str, Param] | None = None) -> Localised:
        """The sentence of a key. What has none is told by its key."""
        en, zh = (self.catalogue.render(key, params, locale) or key for locale in ("en", "zh"))
        return Localised(en=en, zh=zh)

    def of(self, message: Message) -> Localised:
        return self(message.key, message.params)


class MessageOut(Message):
    text: Localised = Field(description="The key's sentence, with the parameters in it.")

    @classmethod
    def told(cls, message: Message, say: Sentences) -> Self:
        return cls(**dict(message), text=say.of(message))


class AnnotationOut(Annotation, MessageOut):
    """A marker in the student's file. Lines and columns count from 1."""


class CauseOut(Cause):
    """Why something did not pass, and where to look."""

    text: Localised = Field(description="The key's sentence, with the parameters in it.")
    hint: Localised | None = Field(description="The sentence of hint_key.")

    @classmethod
    def of(cls, cause: Cause | None, say: Sentences) -> Self | None:
        if cause is None:
            return None
        return cls(**dict(cause), text=say.of(cause), hint=say(cause.hint_key) if cause.hint_key else None)


class MismatchOut(Mismatch):
    """How an output differs from the oracle's."""

    pattern_text: Localised | None = Field(description="The sentence of the pattern.")

    @classmethod
    def of(cls, mismatch: Mismatch | None, say: Sentences) -> Self | None:
        if mismatch is None:
            return None
        return cls(**dict(mismatch), pattern_text=say(mismatch.pattern) if mismatch.pattern else None)


class CaseOut(CaseResult):
    """One hidden test."""

    cause: CauseOut | None
    mismatch: MismatchOut | None

    @classmethod
    def of(cls, case: CaseResult, say: Sentences) -> Self:
        cause, mismatch = CauseOut.of(case.cause, say), MismatchOut.of(case.mismatch, say)
        return cls(**{**dict(case), "cause": cause, "mismatch": mismatch})


class DiagnosisOut(Diagnosis):
    """A named mistake whose model equals the wrong output."""

    evidence: MessageOut
    title: Localised = Field(description="What the mistake is called.")
    hint: Localised = Field(description="The sentence of hint_key.")

    @classmethod
    def of(cls, diagnosis: Diagnosis, say: Sentences) -> Self:
        evidence = MessageOut.told(diagnosis.evidence, say)
        title, hint = say(f"misconception.{diagnosis.misconception}.title"), say(diagnosis.hint_key)
        return cls(**{**dict(diagnosis), "evidence": evidence}, title=title, hint=hint)


class PerformanceOut(Performance):
    reason: MessageOut | None

    @classmethod
    def of(cls, performance: Performance, say: Sentences) -> Self:
        reason = performance.reason
        told = None if reason is None else MessageOut.told(reason, say)
        return cls(**{**dict(performance), "reason": told})
