"""The tables of answers and of their times in results/answers/{model}/{benchmark}."""

import pyarrow as pa

ANSWER_SCHEMA = pa.schema({
    "task": pa.string(), "setting": pa.string(), "document": pa.string(),
    "label": pa.int64(), "subset": pa.string(),
    "length": pa.int64(), "passage": pa.int64(), "paraphraser": pa.string(),
    "permutation": pa.int64(),
    "true_answer": pa.string(), "p_a": pa.float64(), "p_b": pa.float64(),
    "p_c": pa.float64(), "p_d": pa.float64(),
    "answer": pa.string(), "correct": pa.bool_(), "reason": pa.string(),
})  # fmt: skip
"""One row an answer.

task         an id of `methods.QUESTION_METHODS`
setting      "" or `k=32` (completion), as `methods.setting_name` writes it
passage      number of the passage within its document and length
paraphraser  the view that the other options come from; "" for tasks of one row a
             passage
permutation  0..23, the order of the options as itertools.permutations((0, 1, 2, 3))
             counts them, 0 the true passage; null for tasks of one row a passage
true_answer  the letter of the true passage; for a text answer, the true words
p_a .. p_d   of the letters, among these four; null for text answers and controls
answer       the letter, or the text; null where unusable (then wrong) or skipped
correct      null where the passage is skipped for this task: it leaves the task's
             accuracy
reason       why no answer came, else null
"""

TIMES_SCHEMA = pa.schema({
    "task": pa.string(), "setting": pa.string(), "paraphraser": pa.string(),
    "subset": pa.string(), "length": pa.int64(),
    "documents": pa.int64(), "passages": pa.int64(), "seconds": pa.float64(),
})  # fmt: skip
"""One row for each task, subset and length: what was asked about, and the seconds that
its answers took."""
