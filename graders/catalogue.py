"""The sentences that students and instructors read, in English and Chinese: a key and its parameters in, text out.

The judge's own sentences are ``graders/sentences.<locale>.toml``, and those for instructors
``graders/findings.<locale>.toml``; a drill brings those of its misconceptions and hints in its own
``sentences.<locale>.toml``. Keys are dotted, one TOML table a topic.
"""

from __future__ import annotations

import string
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from graders.report import Param
from graders.toml_places import read_toml

LOCALES = ("en", "zh")

MOST_DEPTH = 8
"""Names that a key has at most: those of misconceptions have three."""

_SHOWN_CHARACTERS = 200


class Catalogue:
    """Sentences by key in each language."""

    def __init__(self, sentences: Mapping[str, Mapping[str, str]]) -> None:
        self._sentences = {locale: dict(sentences[locale]) for locale in LOCALES}

    def extended(self, files: Mapping[str, str]) -> Catalogue:
        """This catalogue with a drill's, ``locale -> text of its sentences file``; the judge's own keys stay."""
        return Catalogue({locale: flatten(files[locale]) | self._sentences[locale] for locale in LOCALES})

    def keys(self, locale: str) -> set[str]:
        return set(self._sentences[locale])

    def fields(self, key: str, locale: str) -> set[str]:
        """The parameters that a sentence names. Raises ValueError for one that names them otherwise than ``{name}``."""
        return fields_of(self._sentences[locale][key])

    def render(self, key: str, params: Mapping[str, Param] | None = None, locale: str = "en") -> str:
        """The sentence, or the bare key where the catalogue has none: a missing sentence must not hide a verdict.

        One about a misconception may name its title.
        """
        sentence = self._sentences.get(locale, self._sentences["en"]).get(key)
        if sentence is None:
            return key
        given = dict(params or {})
        if "misconception" in given:
            given["title"] = self.render(f"misconception.{given['misconception']}.title", locale=locale)
        return "".join(
            text if name is None else text + _put(name, given)
            for text, name, _, _ in string.Formatter().parse(sentence)
        )


def fields_of(sentence: str) -> set[str]:
    """The parameters that a sentence names. Raises ValueError for one that names them otherwise than ``{name}``."""
    fields: set[str] = set()
    for _, name, form, conversion in string.Formatter().parse(sentence):
        if name is not None:
            if form or conversion or not name.isidentifier():
                raise ValueError("between braces stands a name alone")
            fields.add(name)
    return fields


def _put(name: str, params: Mapping[str, Param]) -> str:
    """A parameter as it stands in a sentence: 30.0 is 30, and one that was not given stays visible as ``{name}``.

    How a sentence wants it written is not asked: a width of a billion would be that long.
    """
    value = params.get(name, f"{{{name}}}")
    return f"{value:g}" if isinstance(value, float) else str(value)


def flatten(text: str) -> dict[str, str]:
    """``[a] b = "…"`` of a sentences file as ``{"a.b": "…"}``.

    Raises TOMLDecodeError for what is no TOML, and for what is no text within tables of at most ``MOST_DEPTH`` names.
    """
    flat: dict[str, str] = {}

    def walk(names: tuple[str, ...], table: Mapping[str, object]) -> None:
        for name, value in table.items():
            path = (*names, name)
            if isinstance(value, Mapping):
                if len(path) == MOST_DEPTH:
                    raise tomllib.TOMLDecodeError(f"{_shown(path)} is nested too deeply")
                walk(path, value)
            elif isinstance(value, str):
                flat[".".join(path)] = value
            else:
                raise tomllib.TOMLDecodeError(f"{_shown(path)} is no text")

    walk((), read_toml(text))
    return flat


def _shown(path: tuple[str, ...]) -> str:
    return ".".join(path)[:_SHOWN_CHARACTERS]


@cache
def judge_catalogue() -> Catalogue:
    """The judge's own sentences."""
    here = Path(__file__).parent
    files = {locale: [here / f"{name}.{locale}.toml" for name in ("sentences", "findings")] for locale in LOCALES}
    return Catalogue({locale: _joined(file.read_text("utf-8") for file in files[locale]) for locale in LOCALES})


def _joined(texts: Iterable[str]) -> dict[str, str]:
    return {key: sentence for text in texts for key, sentence in flatten(text).items()}
