"""XML elements that know where they are, so that an error can say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from contact_core.errors import LaunchError


@dataclass
class XmlElement:
    """One element of a launch file.

    Attributes:
        tag: Its name.
        attributes: Its attributes.
        file: The file it is in.
        line: Its line in the file.
        children: The elements in it.
    """

    tag: str
    attributes: Mapping[str, str]
    file: Path
    line: int
    children: list[XmlElement] = field(default_factory=list)

    def error(self, message: str) -> LaunchError:
        """Make an error that names the file and the line.

        Args:
            message: What is wrong.

        Returns:
            The error, to be raised.
        """
        return LaunchError(f"{self.file}:{self.line}: {message}")


def read_xml(file: Path) -> XmlElement:
    """Read an XML file.

    Args:
        file: The file.

    Returns:
        Its root element.

    Raises:
        LaunchError: If the file cannot be read or is not well-formed.
    """
    parser = expat.ParserCreate()
    open_elements: list[XmlElement] = []
    roots: list[XmlElement] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = XmlElement(tag, attributes, file, parser.CurrentLineNumber)
        (open_elements[-1].children if open_elements else roots).append(element)
        open_elements.append(element)

    def end(tag: str) -> None:
        open_elements.pop()

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(file.read_bytes(), True)
    except OSError as error:
        raise LaunchError(f"cannot read {file}: {error.strerror}") from error
    except expat.ExpatError as error:
        raise LaunchError(f"{file}:{error.lineno}: not valid XML: {error}") from error
    return roots[0]
