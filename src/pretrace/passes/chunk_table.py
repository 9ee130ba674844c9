"""The rows of a chunk of passes as the store has them."""

import numpy as np
import pyarrow as pa

from pretrace.passes.prompt_prefix import PromptPrefix
from pretrace.passes.requests import TOKEN_STATISTICS, Request

_TEXT_COLUMNS = {
    "text_id": pa.string(),
    "variant": pa.int32(),
    "token_ids": pa.list_(pa.int32()),
}
_FACT_COLUMNS = {
    "n_tokens": pa.int32(),
    "truncated": pa.bool_(),
    "shots_used": pa.int32(),
    "skipped": pa.string(),
}
_STATISTIC_COLUMNS = dict.fromkeys(TOKEN_STATISTICS["top40"], pa.list_(pa.float32()))
_STATISTIC_COLUMNS["ranks"] = pa.list_(pa.int32())

PASS_SCHEMA = pa.schema({**_TEXT_COLUMNS, **_STATISTIC_COLUMNS, **_FACT_COLUMNS})


def chunk_table(
    chunk: list[Request],
    prompt_prefix: PromptPrefix,
    statistics: str,
    values: list[np.ndarray],
) -> pa.Table:
    """Return the store's rows of one chunk; `values` as `Engine.statistics` gives
    them for these `statistics`."""
    rows = []
    scored = []
    ends = [0]
    for request in chunk:
        row = {
            "text_id": request.text_id,
            "variant": request.variant,
            "n_tokens": request.n_tokens,
            "truncated": request.truncated,
            "shots_used": prompt_prefix.shots_used,
            "skipped": request.skip_reason(prompt_prefix),
        }
        tokens = request.scored_tokens(prompt_prefix)
        rows.append(row)
        scored.append(tokens)
        ends.append(ends[-1] + len(tokens))
    offsets = pa.array(ends, pa.int32())
    columns = {"token_ids": scored}
    for number, name in enumerate(TOKEN_STATISTICS[statistics]):
        columns[name] = [of_text[number] for of_text in values]
    table = pa.Table.from_pylist(rows, schema=PASS_SCHEMA)
    for name, parts in columns.items():
        field = PASS_SCHEMA.field(name)
        numbers = pa.array(np.concatenate(parts), field.type.value_type)
        lists = pa.ListArray.from_arrays(offsets, numbers)
        table = table.set_column(PASS_SCHEMA.get_field_index(name), field, lists)
    return table
