"""The answers table: one row an answer, wherever the answer came from."""

import pyarrow as pa

LETTERS = ("A", "B", "C", "D")
PROBABILITIES = ("p_a", "p_b", "p_c", "p_d")

SCHEMA = pa.schema(
    [
        ("task", pa.string()),
        ("setting", pa.string()),
        ("document", pa.string()),
        ("label", pa.int64()),
        ("subset", pa.string()),
        ("length", pa.int64()),
        ("passage", pa.int64()),
        ("paraphraser", pa.string()),
        ("permutation", pa.int64()),
        ("true_answer", pa.string()),
        *((name, pa.float64()) for name in PROBABILITIES),
        ("answer", pa.string()),
        ("correct", pa.bool_()),
        ("reason", pa.string()),
    ]
)
"""`task`: a method of `registry.QUESTION_METHODS`; `setting`: its parameters, `k=32` for completion, else "".

`permutation` (0..23, itertools.permutations((0, 1, 2, 3)); the option at letter i is source permutation[i], 0 the
true text) and `true_answer` (a letter) are null for completion and name cloze, whose `answer` is text.
`paraphraser` is the view of the paraphrases, "" where a task has none. `p_*` are null for answers in text alone.
An unusable answer is null and not `correct`, and a passage that the task skips has neither `answer` nor
`correct`: `reason` says why.
"""

SORTED_BY = ["task", "setting", "paraphraser", "subset", "length", "document", "passage", "permutation"]
