"""The texts of the pages in both languages, and speaking with a catalogue in one of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from graders.catalogue import LOCALES, Catalogue, flatten
from graders.report import Message, Param

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Speaker:
    """A catalogue in one language."""

    catalogue: Catalogue
    locale: str

    def __call__(self, key: str, **params: Param) -> str:
        """The sentence of a key."""
        return self.catalogue.render(key, {name: _number(value) for name, value in params.items()}, self.locale)

    def message(self, message: Message) -> str:
        """The sentence of a report's message."""
        return self(message.key, **message.params)

    def known(self, key: str, otherwise: str) -> str:
        """The sentence of a key that a newer worker may have made up."""
        return self(key) if key in self.catalogue.keys(self.locale) else otherwise


@cache
def page_texts() -> Catalogue:
    """The texts of the pages themselves."""
    return Catalogue({locale: flatten(_read(f"texts.{locale}.toml")) for locale in LOCALES})


@cache
def problem_texts(locale: str) -> dict[str, str]:
    """The problems of ``app.errors`` as people are told of them: ``<slug>.title`` and ``<slug>.help``."""
    return flatten(_read(f"problems.{locale}.toml"))


def _read(name: str) -> str:
    return (_HERE / name).read_text("utf-8")


def _number(value: Param) -> Param:
    return int(value) if isinstance(value, float) and value.is_integer() else value
