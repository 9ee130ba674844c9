"""Whether a measured number agrees with a published one, and by which criterion.

Where a benchmark was released, both numbers are of the same texts and share their sampling error, so they must
coincide but for number formats and kernels (a fixed tolerance) or for what is drawn (the draws' standard deviation).
Where it was rebuilt, the texts are others, and our 95 % interval decides.
"""

from dataclasses import dataclass

from pretrace.render.tables.measured import Found, Lookup

CRITERIA = {"tolerance": "fixed tolerance", "draws": "SD of draws", "interval": "our interval"}
"""By their name in the long data, what they are called in print."""

_EXACT = 1e-9
"""What floating-point arithmetic adds to a difference of printed digits."""


@dataclass(frozen=True)
class Agreement:
    """`criterion` is a key of `CRITERIA`, `tolerance` the largest difference it allows (none for an interval).

    Without a criterion `agrees` is None, and `unjudged` says why.
    """

    criterion: str = ""
    tolerance: float | None = None
    agrees: bool | None = None
    unjudged: str = ""


def judge(published: str, printed_sd: str, found: Found, lookup: Lookup, *, rebuilt: bool) -> Agreement:
    """The agreement of a number as printed with ours, to its last digit.

    `printed_sd`: the standard deviation over resamples that the paper prints beside it, "" without one.
    """
    rounding = 0.5 * 10.0 ** -len(published.partition(".")[2]) + _EXACT
    apart = abs(found.value - float(published))
    if lookup.unjudged:
        return Agreement(unjudged=lookup.unjudged)
    if rebuilt:
        if found.low is None or found.high is None:
            return Agreement(unjudged="of a rebuilt benchmark, and without an interval")
        inside = found.low - rounding <= float(published) <= found.high + rounding
        return Agreement("interval", None, inside)
    if len(found.draws) == 1 and not printed_sd:
        return Agreement(
            unjudged="shots are drawn, and this study has one draw: no standard deviation of draws"
        )
    drawn = float(printed_sd) if printed_sd else found.sd
    allowed = max(lookup.tolerance, drawn or 0.0) + rounding
    return Agreement("tolerance" if drawn is None else "draws", allowed, apart <= allowed)
