"""A page as a tree, held to what every page owes its readers."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree.ElementTree import Element, TreeBuilder

_VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "wbr"}
_APART = {"dd", "dt", "li", "option", "p", "td", "th"}  # read one after the other, with or without a space between
_LABELLED = {"input", "select", "textarea"}
_UNLABELLED_TYPES = {"hidden", "submit"}


class Document:
    """Parsed strictly: what is opened is closed, in order."""

    def __init__(self, html: str) -> None:
        assert html.startswith("<!doctype html>\n")
        parser = _Parser()
        parser.feed(html)
        self.root = parser.finish()

    @property
    def text(self) -> str:
        """What is read in the main part, spaces as one."""
        return text_of(self.one("main"))

    def all(self, path: str) -> list[Element]:
        """Elements by ElementTree's XPath, from anywhere."""
        return self.root.findall(f".//{path}")

    def one(self, path: str) -> Element:
        (found,) = self.all(path)
        return found

    def by_id(self, name: str) -> Element:
        return self.one(f"*[@id='{name}']")

    def require_sound(self) -> None:
        """What HTML and accessibility ask of every page, and what our own policy would block."""
        assert self.root.get("lang") in ("en", "zh-Hans")
        for tag in ("h1", "main", "header", "title"):
            assert len(self.all(tag)) == 1, tag
        ids = [element.get("id") for element in self.all("*[@id]")]
        assert len(ids) == len(set(ids))
        for link in self.all("a[@href]"):
            href = link.get("href", "")
            assert not href.startswith("#") or href[1:] in ids, href
        assert all(header.get("scope") for header in self.all("th"))
        self._require_labels()
        self._require_nothing_inline()

    def _require_labels(self) -> None:
        labelled = {label.get("for") for label in self.all("label")}
        for field in self.root.iter():
            if field.tag in _LABELLED and field.get("type") not in _UNLABELLED_TYPES:
                assert field.get("id") in labelled
        assert all(text_of(button) for button in self.all("button"))
        for element in self.all("*[@aria-labelledby]"):
            self.by_id(element.get("aria-labelledby", ""))

    def _require_nothing_inline(self) -> None:
        for element in self.root.iter():
            assert not [name for name in element.attrib if name == "style" or name.startswith("on")]
            assert element.tag != "style"
            assert element.tag != "script" or (element.get("src", "").startswith("/static/") and not element.text)


def text_of(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._builder = TreeBuilder()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute of <{tag}> twice"
        self._builder.start(tag, {name: value or "" for name, value in attrs})
        if tag in _VOID:
            self._builder.end(tag)
        else:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes something else"
        self._builder.end(tag)
        if tag in _APART:
            self._builder.data(" ")

    def handle_data(self, data: str) -> None:
        if self._open:
            self._builder.data(data)

    def finish(self) -> Element:
        self.close()
        assert not self._open
        return self._builder.close()
