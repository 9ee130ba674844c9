"""Figures as part of a page: the SVGs of matplotlib, with what several draw written
once."""

import re
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, fromstring, tostring

_ID = re.compile(r"#[\w-]+")
_NUMBER = re.compile(r"-?\d+\.\d+")
_COMMAND = re.compile(r"\s*([A-Zz])\s*")
ROUNDED = ("d", "x", "y", "width", "height", "transform")
PIXELS = 120 / 72
"""Pixels of the page for a point of a figure."""
LEAST = 0.69
"""The share of its width to which a narrow screen shrinks a figure; then it scrolls."""


@dataclass
class PageFigures:
    """The figures of one page. `shared` has what they refer to, letters, markers,
    hatches and clips, as markup, each with its id."""

    shared: dict[str, str] = field(default_factory=dict)

    def inline(self, svg: str, label: str) -> str:
        """Return the SVG of a figure as an element of HTML that is called `label`.

        Titles stay: a reader sees the one of the part that the pointer is on.
        """
        root = fromstring(svg)
        ids: dict[str, str] = {}
        for parent in [*root.iter()]:
            _shorten(parent)
            for child in [*parent]:
                if child.tag.endswith("}defs"):
                    ids |= self._share(child)
                if child.tag.endswith(("}defs", "}metadata")):
                    parent.remove(child)
        for element in root.iter():
            element.attrib.pop("id", None)
            for name, value in element.items():
                element.set(name, _ID.sub(lambda id: ids.get(id[0], id[0]), value))
        width = float(root.attrib["width"].removesuffix("pt")) * PIXELS
        root.attrib = {
            "viewBox": root.attrib["viewBox"],
            "width": f"{width:.0f}",
            "style": f"--least: {LEAST * width:.0f}px",
            "role": "img",
            "aria-label": label,
        }
        return tostring(root, encoding="unicode")

    def _share(self, definitions: Element) -> dict[str, str]:
        """Keep what is defined, and return the new name of each by its old one; equal
        definitions have one name."""
        ids = {}
        for definition in definitions.iterfind("*[@id]"):
            for element in definition.iter():
                _shorten(element)
            id = "#" + definition.attrib.pop("id")
            markup = tostring(definition, encoding="unicode")
            # no artifact has a point in its slug
            ids[id] = self.shared.setdefault(markup, f"#f.{len(self.shared)}")
        return ids

    @property
    def definitions(self) -> str:
        """Return what the figures share as an element of HTML without a size."""
        defined = ""
        for markup, id in self.shared.items():
            defined += re.sub(r"^<\w+", rf'\g<0> id="{id[1:]}"', markup)
        return f'<svg class="shared" aria-hidden="true"><defs>{defined}</defs></svg>'


def _shorten(element: Element) -> None:
    """Take namespaces, blanks and needless digits off an element."""
    element.tag = element.tag.rpartition("}")[2]
    element.tail = None
    if element.tag != "title":
        element.text = None
    given = element.attrib
    element.attrib = {}
    for name, value in given.items():
        if name in ROUNDED:
            value = _NUMBER.sub(lambda number: f"{float(number[0]):.4g}", value)
            value = _COMMAND.sub(r"\1", value).strip()
        # the lines of an image
        element.set(name.rpartition("}")[2], value.replace("\n", ""))
