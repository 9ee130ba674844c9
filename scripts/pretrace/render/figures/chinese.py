"""A font for the Chinese characters of a figure: Noto Sans SC (SIL Open Font License), the same on every machine."""

import hashlib
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path

from matplotlib import font_manager

from pretrace.runtime.logs import log

_FONT = files("justmytype_intl_cjk") / "fonts/ofl/notosanssc/NotoSansSC[wght].ttf"
_REGULAR = 400  # of the font's weights, 100 to 900; matplotlib can draw the first alone
_FAMILY, _FULL_NAME, _POSTSCRIPT_NAME, _TYPOGRAPHIC_FAMILY = 1, 4, 6, 16


@cache
def chinese_family(characters: str) -> str:
    """Register a font that holds these characters with matplotlib and give the name of its family.

    The name is that of the characters, so that no other font, nor that of another figure, is taken for it. About
    a second, most of it to read the whole font. Characters that the font lacks are logged; they show as boxes.
    """
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont
    from fontTools.varLib.instancer import instantiateVariableFont

    name = f"Noto Sans SC {hashlib.sha256(characters.encode()).hexdigest()[:12]}"
    with _FONT.open("rb") as file:
        font = TTFont(file, lazy=True, recalcTimestamp=False)
        subsetter = Subsetter(Options(layout_features=[], notdef_outline=True, name_IDs=[1, 2, 4, 6]))
        subsetter.populate(text=characters)
        subsetter.subset(font)
        if lacking := sorted(set(map(ord, characters)) - set(font.getBestCmap())):
            log.warning("Noto Sans SC lacks %s, which show as boxes", "".join(map(chr, lacking)))
        instantiateVariableFont(font, {"wght": _REGULAR}, inplace=True)
        for number in (_FAMILY, _FULL_NAME, _TYPOGRAPHIC_FAMILY):
            font["name"].setName(name, number, 3, 1, 0x409)
        font["name"].setName(name.replace(" ", ""), _POSTSCRIPT_NAME, 3, 1, 0x409)
        path = Path(_folder().name) / f"{name.replace(' ', '')}.ttf"
        font.save(path)
    font_manager.fontManager.addfont(path)
    return name


@cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Removed when the process ends; figures are written before."""
    return tempfile.TemporaryDirectory(prefix="pretrace-fonts-")
