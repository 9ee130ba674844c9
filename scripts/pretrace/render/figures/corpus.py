"""How many documents a corpus test needs."""

import math

import pandas as pd

from pretrace.evaluation.corpus_units import ENSEMBLE
from pretrace.evaluation.evidence import LEVEL
from pretrace.render.figures.drawing import BLACK, Drawing, LineStyle, line_styles
from pretrace.render.figures.lines import Facet, draw_lines
from pretrace.render.names import method_label, ordered, panel_label
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.rows import long_frame, panel_record

TOO_FEW = (
    "too few documents: the power of a corpus test needs two of each class, or with texts of both classes"
)


@figure("corpus_power", needs=("estimates",), statistic="corpus_power")
def over_documents(artifact: Artifact, results: Results) -> Drawing:
    """A facet a panel, a line a score: the share of draws of documents in which the corpus test has p <= 5 %."""
    facets, frames = [], []
    for panel in artifact["panels"]:
        whole = {"subset": "", "length": None, **panel, "reference": ", ".join(panel.get("references", ()))}
        found = results.estimates_of(artifact, whole, "corpus_power", hint=TOO_FEW)
        found = found[found["start_token"] == panel["start_token"]]
        points = found.assign(series=found["method"], x=found["documents"].map(math.log2).astype(float))
        ticks = {math.log2(n): str(n) for n in sorted(found["documents"].unique())}
        facets.append(Facet(panel_label({"length": None, **panel}), "documents of each class",
                            f"share of draws with p ≤ {LEVEL:g}", points, ticks=ticks, banded=True,
                            across={f"{LEVEL:.0%}".replace("%", " %"): LEVEL}))  # fmt: skip
        kept = found[["method", "documents", "value"]].rename(columns={"value": "share"})
        frames.append(kept.assign(draws=found["n"], **panel_record(panel)))
    frame = pd.concat(frames, ignore_index=True)
    methods = ordered(artifact, frame.loc[frame["method"] != ENSEMBLE, "method"])
    styles = line_styles(methods) | {ENSEMBLE: LineStyle(BLACK, "-", 1.8)}
    names = {name: method_label(name) for name in methods} | {ENSEMBLE: "ensemble of all"}
    return Drawing(draw_lines(facets, styles, names), long_frame(frame))
