"""The kinds of input that several methods share; a kind of one method is registered in
the method's file."""

from dataclasses import replace

import numpy as np

from pretrace.methods.inputs import Complete, Inputs, TextStatistics
from pretrace.methods.registry import input_kind
from pretrace.methods.statistics import ABSENT, Floats, TokenStatistics
from pretrace.passes.index import PassIndex
from pretrace.runtime.files import read_json
from pretrace.views.readings import PassKey


@input_kind(
    "frequencies", "token frequencies of the reference corpus",
    noun="corpus", example="CORPUS", key="corpora",
)  # fmt: skip
def frequencies(inputs: Inputs, plain: PassKey, corpus: str) -> Complete:
    """Add ln q of each token, from the corpus' counts by this model's tokenizer."""
    from pretrace.corpora.counts import log_frequencies

    # [V], V the size of the model's output layer
    vocabulary = inputs.passes.manifest["vocabulary"]
    by_id = inputs.opened(
        "frequencies", corpus, lambda path: log_frequencies(path, vocabulary)
    )

    def complete(id: str, text: TokenStatistics) -> TokenStatistics:
        if by_id is None:
            return text
        return replace(text, log_frequencies=by_id[text.token_ids])

    return complete


@input_kind(
    "reference", "log-probabilities of the text under the reference model",
    noun="reference model", example="MODEL",
    key="references",
)  # fmt: skip
def reference(inputs: Inputs, plain: PassKey, model: str) -> Complete:
    """Add the log-probabilities under a reference model, by its own tokens and, if they
    are the same, by these."""
    index = inputs.opened(
        "reference", model, lambda path: PassIndex(read_json(path), inputs.passes.store)
    )
    if index is None:
        return lambda id, text: text
    rows = inputs.rows(plain, index)

    def complete(id: str, text: TokenStatistics) -> TokenStatistics:
        aligned = aligned_logprobs(text, rows.only(id))
        return replace(text, reference=rows.logprobs(id), aligned_reference=aligned)

    return complete


def aligned_logprobs(text: TokenStatistics, row: TextStatistics | None) -> Floats:
    """Return the log-probabilities of another model's row of the text if its tokens are
    known to be the same."""
    if not isinstance(row, TokenStatistics):
        return ABSENT
    are_the_same = np.array_equal(row.token_ids, text.token_ids)
    are_known = bool(np.all(row.token_ids >= 0))
    return row.logprobs if are_the_same and are_known else ABSENT


@input_kind(
    "neighbours", "log-probabilities of the text's neighbours",
    noun="view of neighbours",
    example="neighbours_by_MODEL-25", key="neighbours",
)  # fmt: skip
def neighbours(inputs: Inputs, plain: PassKey, view: str) -> Complete:
    """Add the log-probabilities of a text's neighbours in a view."""
    variants = inputs.rows(plain.with_changes(altered=view), inputs.passes)

    def complete(id: str, text: TokenStatistics) -> TokenStatistics:
        logprobs = []
        for row in variants.get(id, []):
            if isinstance(row, TokenStatistics):
                logprobs.append(row.logprobs)
        return replace(text, neighbours=tuple(logprobs) or ABSENT)

    return complete
