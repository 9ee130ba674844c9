"""What DE-COP's authors released: each model's answers about 165 books, and other methods' scores of the books.

A file of answers has a row a question: `book`, `suspect` (the label), `passage`, `order` and `answer` (the true
letter). `MODEL:A` to `MODEL:D` are a model's probabilities of the letters; a column MODEL has the letters of a model
without probabilities. A file of scores has a row a book: `book` (the title alone) and `MODEL:METHOD`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretrace.questions.answering import LETTERS, PROBABILITIES
from pretrace.runtime.errors import InputError, nearest

if TYPE_CHECKING:  # planning checks files without pandas
    import pandas as pd

QUESTION = ("book", "suspect", "passage", "order", "answer")
SCORES = {
    "perplexity": ("loss", "form=perplexity"),
    "zlib": ("zlib", ""),  # of the logarithm of the perplexity, not of the perplexity as the paper says
    "lowercase": ("lowercase", ""),  # likewise
    "min_k": ("min_k", "k=0.2"),  # k is not stated
}
"""Their name of a method -> ours, and its setting. Their scores are lower for members, ours higher."""


def check_released(path: Path, model: str) -> None:
    """Raise `InputError` if a file of answers has none of a model; reads its columns' names alone."""
    import pyarrow.parquet

    columns = pyarrow.parquet.read_schema(path).names
    models = {column.partition(":")[0] for column in columns if column not in QUESTION}
    if model not in models:
        raise InputError(f"{path}: there are no answers of '{model}': {nearest(model, models)}")


def released_answers(path: Path, model: str) -> Any:
    """Read a model's answers as an Arrow table of `table.SCHEMA`. Books that it was not asked about are left out."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet

    from pretrace.questions.table import SCHEMA

    probabilities = [f"{model}:{letter}" for letter in LETTERS]
    has_probabilities = probabilities[0] in pyarrow.parquet.read_schema(path).names
    frame = pd.read_parquet(path, columns=[*QUESTION, *(probabilities if has_probabilities else [model])])
    if has_probabilities:
        frame = frame[frame[probabilities[0]].notna()]
        chosen = frame[probabilities].astype("float64").set_axis(list(LETTERS), axis=1).idxmax(axis=1)
    else:
        chosen = frame[model].astype("object")
    answer = chosen.where(chosen.isin(LETTERS), None)
    given = frame[probabilities].astype("float64") if has_probabilities else frame[[]]
    true = frame["answer"].astype("object")
    table = given.set_axis(PROBABILITIES[: given.shape[1]], axis=1).assign(
        task="de_cop", setting="", document=frame["book"].astype("object"), label=frame["suspect"], subset="",
        passage=frame["passage"], paraphraser="paraphrase", permutation=frame["order"], true_answer=true,
        answer=answer, correct=answer.eq(true), reason=answer.map(lambda letter: None if letter else "no letter"),
    )  # fmt: skip
    return pa.Table.from_pandas(table.reindex(columns=SCHEMA.names), schema=SCHEMA, preserve_index=False)


def released_scores(path: Path, model: str, documents: "pd.Series[str]") -> "pd.DataFrame":
    """Read a model's scores of documents, columns as the scores table's; empty if the file has none of the model."""
    import pandas as pd

    from pretrace.questions.scoring import score_table

    given = pd.read_csv(path).set_index("book")
    titles = documents.str.partition(" - ")[0]
    frames = [
        pd.DataFrame(
            {"id": documents, "method": method, "setting": setting, "score": -titles.map(given[column])}
        )
        for name, (method, setting) in SCORES.items()
        if (column := f"{model}:{name}") in given
    ]
    frame = pd.concat(frames) if frames else pd.DataFrame(columns=["id", "method", "setting", "score"])
    return score_table(frame.dropna(subset="score").assign(view="original"))
