"""Seeds of all that is drawn: every room may import this file, and it counts in the
digest of each job that draws."""

import hashlib
import json
from typing import Any


def seed_of(*parts: Any) -> int:
    """Make a seed of 63 bits from names and numbers: the same parts give the same seed
    on every machine."""
    text = json.dumps([str(part) for part in parts], separators=(",", ":"))
    return int(hashlib.sha256(text.encode()).hexdigest()[:16], 16) >> 1
