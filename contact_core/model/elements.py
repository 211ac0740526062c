"""What a file says and we do not read is named: with the element, its line, and why.

A table per format (:mod:`contact_core.model.vocabulary`) lists for each element the attributes and
elements within it, each with a mark:

- none: it is read;
- ``.``: it does not concern the motion (looks, sensors, plugins, settings of a solver);
- ``?``: it is not read, which is a warning unless it is zero or switched off;
- ``#``: it is a parameter of another law of contact, which is a warning;
- ``!``: without it the motion would be another one, so the file is refused.

What the table does not list is a warning, too. What it lists at ONCE may not be there twice, as a
reader would take the first, unless both say the same.
"""

from __future__ import annotations

import codecs
import re
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from xml.parsers import expat

from contact_core.base.errors import ModelError, ModelWarning

ONCE = "<once>"  # key of a table; no name in XML
_MARKS = ".?#!"
_AGAIN = "2"
_DECLARED = re.compile(rb"<\?xml[^>]*?\bencoding\s*=\s*[\"']([\w.-]+)")
_HEAD = 1 << 8  # bytes in which a file says its encoding
COMMENT = re.compile("<!--.*?-->", re.DOTALL)
_OFF = {"", "false", "disable", "none", "auto", "inf", "-inf"}
# What switches the others off switches these on.
_ON = {"gravity": {"true", "1"}, "actuation": {"enable"}}
_SHOWN = 3  # of many in a message


class LocatedElement(ElementTree.Element):
    """An element that knows where it is written.

    Attributes:
        line: Its line.
        source: Its file, or what else the text is called.
    """

    line = 0
    source = ""


def read_text(path: Path) -> str:
    """Return the text of an XML file in the encoding that it declares.

    Args:
        path: The file.

    Raises:
        OSError: If it cannot be read.
        ModelError: If it is not a text in this encoding, or we do not know that.
    """
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    declared = _DECLARED.match(head.removeprefix(codecs.BOM_UTF8).lstrip())
    encoding = declared[1].decode() if declared else "utf-8"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif head.startswith((b"<\0", b"\0<")):
        encoding = "utf-16-le" if head[0] else "utf-16-be"
    elif encoding.lower().startswith(("utf-8", "utf-16")):  # What can be read so is not UTF-16.
        encoding = "utf-8-sig"
    try:
        return path.read_text(encoding)
    except (UnicodeError, LookupError) as error:
        raise ModelError(f"{path} is not a text file: {error}") from error


def parse(text: str, where: str) -> ElementTree.Element:
    """Parse XML; prefixes of extensions such as ``drake:`` are part of the names.

    Blank lines above it, which the parsers of others accept, are passed over.

    Args:
        text: The text.
        where: What it is, for the error.

    Returns:
        Its root element; it and all below are of LocatedElement.

    Raises:
        ModelError: If it is not well-formed.
    """
    try:
        return _parsed(text, where)
    except expat.ExpatError as error:
        with suppress(expat.ExpatError):
            # The parsers of others accept two dashes within a comment.
            return _parsed(COMMENT.sub(lambda comment: _plain(comment[0]), text), where)
        raise ModelError(f"{where} is not valid XML: {error}") from error


def _plain(comment: str) -> str:
    return f"<!--{comment[4:-3].replace('-', ' ')}-->"


def _parsed(text: str, where: str) -> ElementTree.Element:
    parser = expat.ParserCreate()
    begun = text.lstrip()
    above = text.count("\n", 0, len(text) - len(begun))

    def located(tag: str, attributes: dict[str, str]) -> LocatedElement:
        element = LocatedElement(tag, attributes)
        element.line, element.source = above + parser.CurrentLineNumber, where
        return element

    builder = ElementTree.TreeBuilder(element_factory=located)
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.Parse(begun, True)
    return builder.close()


def place(element: ElementTree.Element, where: str) -> str:
    """Return where an element is written: its line, and its file if that is another one.

    Args:
        element: The element.
        where: The file that it should be in.
    """
    if not isinstance(element, LocatedElement):
        return "no line"
    return f"line {element.line}" + (
        f" of {element.source}" if element.source not in ("", where) else ""
    )


def named(element: ElementTree.Element, tag: str) -> Iterator[ElementTree.Element]:
    """Yield the children of a name; unlike ``findall`` for names with a prefix."""
    return (child for child in element if child.tag == tag)


def check_elements(
    root: ElementTree.Element,
    where: str,
    table: Mapping[str, str],
    reasons: Mapping[str, str],
) -> None:
    """Name what a file has and we do not read.

    Args:
        root: Its root element.
        where: What it is, for errors and warnings.
        table: Element, or PARENT/ELEMENT, -> what may be within, see above.
        reasons: Element, PARENT/ELEMENT or @attribute -> what to do about it; ``#`` for all of that
            mark.

    Raises:
        ModelError: If it has something without which the motion would be another one.
    """
    notes: dict[str, dict[str, list[str]]] = {}
    for name, mark, element in _left_out(root, root.tag, table):
        reason = reasons.get(name, reasons.get(name.split("/")[-1], ""))
        spot = place(element, where)
        if mark in ("!", _AGAIN):
            remedy = reason or "cannot be simulated"
            remedy = "is there twice (valid: once)" if mark == _AGAIN else remedy
            raise ModelError(f"{where}: {name} ({spot}): {remedy}")
        why = reason or {"#": reasons["#"], "?": "not read"}.get(mark, "unknown, not read")
        notes.setdefault(why, {}).setdefault(name, []).append(spot)
    if notes:
        clauses = (
            ", ".join(f"{name} ({first_of(spots)})" for name, spots in names.items()) + f": {why}"
            for why, names in notes.items()
        )
        warnings.warn(f"{where}: {'; '.join(clauses)}", ModelWarning, stacklevel=4)


def first_of(names: Sequence[str]) -> str:
    """Return the first of names, which may be hundreds, and how many more there are.

    Args:
        names: Of lines, links, files and the like.
    """
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _left_out(
    element: ElementTree.Element, key: str, table: Mapping[str, str]
) -> Iterator[tuple[str, str, ElementTree.Element]]:
    """Yield names of attributes and elements that are not read, their marks, and where they are."""
    known = dict(_marked(word) for word in table.get(key, "").split())
    for name, value in element.attrib.items():
        mark = _mark(f"@{name}", known)
        if not name.startswith("xmlns") and mark != "." and _says_something(name, value, mark):
            yield f"{element.tag}/@{name}", mark, element
    once = set(table.get(ONCE, "").split())
    for child in element:
        mark = _mark(child.tag, known)
        if mark == "" and child.tag in once and _differs(child, element.find(child.tag)):
            yield f"{element.tag}/{child.tag}", _AGAIN, child
        elif mark == "":
            inner = f"{element.tag}/{child.tag}"
            yield from _left_out(child, inner if inner in table else child.tag, table)
        elif mark != "." and _has_content(child, mark):
            yield f"{element.tag}/{child.tag}", mark, child


def _differs(element: ElementTree.Element, first: ElementTree.Element | None) -> bool:
    """Whether an element says something else than the first one of its kind."""
    if first is None or element is first:
        return False
    one, other = (ElementTree.tostring(e, encoding="unicode").split() for e in (first, element))
    return one != other


def _has_content(element: ElementTree.Element, mark: str) -> bool:
    holds = len(element) > 0 or len(element.attrib) > 0
    return holds or _says_something(element.tag, element.text or "", mark)


def _marked(word: str) -> tuple[str, str]:
    return (word[:-1], word[-1]) if word[-1] in _MARKS else (word, "")


def _mark(name: str, known: Mapping[str, str]) -> str:
    """Mark of a name; that of PREFIX:* or * where there is none, and ``-`` without these."""
    prefix = name.partition(":")[0]
    wildcard = "@*" if name.startswith("@") else "*"
    return known.get(name, known.get(f"{prefix}:*", known.get(wildcard, "-")))


def _says_something(name: str, value: str, mark: str) -> bool:
    """Whether a value is not the one that switches it off."""
    if mark == "":
        return False
    if mark != "?":
        return True
    text = value.strip().lower()
    if name in _ON:
        return text not in _ON[name]
    return not all(word in _OFF or is_zero(word) for word in text.split())


def is_zero(word: str) -> bool:
    """Return whether a text is the number zero."""
    try:
        return float(word) == 0.0
    except ValueError:
        return False
