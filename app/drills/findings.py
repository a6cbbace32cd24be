"""Findings as REST and pages show them: with their sentences in both languages."""

from __future__ import annotations

from pydantic import Field

from app.api.schemas import Answer
from graders.catalogue import LOCALES, Catalogue, judge_catalogue
from graders.manifest import Localised
from graders.report import Param
from graders.validation import Finding, FindingCode, Severity


class FindingOut(Answer):
    """One thing that is wrong with a drill, or worth a look."""

    code: FindingCode
    severity: Severity = Field(description="An error keeps the version from being published; a warning does not.")
    file: str | None = Field(description="Within the package, such as graders/t2_softmax/cases.py.")
    line: int | None
    place: str = Field(description="File and line, as compilers write them; empty where there is none.")
    submission: str | None = Field(description="Such as wrong_answer/padding_zero.")
    case: str | None = Field(description="Such as basic/random.")
    category: str | None
    params: dict[str, Param] = Field(description="What the sentences are made with.")
    text: Localised = Field(description="What is so.")
    cure: Localised = Field(description="What to do about it.")

    @classmethod
    def of(cls, finding: Finding, catalogue: Catalogue | None = None) -> FindingOut:
        """``catalogue`` is the drill's, where it is known: a finding may speak with its sentences."""
        told = {locale: finding.told(catalogue or judge_catalogue(), locale) for locale in LOCALES}
        return cls(
            code=finding.code,
            severity=finding.severity,
            file=finding.file,
            line=finding.line,
            place=finding.place,
            submission=finding.submission,
            case=finding.case,
            category=finding.category,
            params=finding.params,
            text=Localised(en=told["en"][0], zh=told["zh"][0]),
            cure=Localised(en=told["en"][1], zh=told["zh"][1]),
        )
