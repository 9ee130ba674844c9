"""The estimate of what APIs cost: counts of requests and tokens by hand, and what the table says of the budget."""

import pandas as pd
import pytest

from pretrace.models.api.endpoint import Endpoint
from pretrace.questions.estimate import Line, estimate, table

PRICE = {"input": 1.0, "output": 10.0}
ENDPOINT = Endpoint(name="api", base_url="http://x", model="m", endpoint="chat", price=PRICE, top_logprobs=5)
TEXTS = pd.DataFrame(
    {
        "text": ["x" * 400, "y" * 80, "\u4e2d" * 40],  # 100, 20 and 30 tokens at 4 bytes each
        "subset": ["a", "a", "b"],
        "length": pd.array([64, 32, None], dtype="Int64"),
    }
)


def lines_of(endpoint=ENDPOINT, **work):
    plain = {"model": "api", "benchmark": "texts", "subsets": None, "lengths": None}
    return estimate([plain | work], {"api": endpoint}, {"texts": TEXTS})


def test_every_order_of_the_options_holds_the_passage_and_three_like_it():
    (line,) = lines_of(task="de_cop", k=0)
    assert line.requests == 3 * 24
    assert line.prompt_tokens == 24 * (3 * 120 + 4 * 150)
    assert line.completion_tokens == 3 * 24
    assert line.cost == pytest.approx(line.prompt_tokens * 1e-6 + line.completion_tokens * 10e-6)


def test_completions_leave_short_passages_out():
    (line,) = lines_of(task="completion", k=15)
    assert (line.requests, line.prompt_tokens) == (2, 2 * (50 + 15))


def test_a_pass_reads_every_variant_after_every_shot():
    (line,) = lines_of(task="scoring", shots=2, variants=3, subsets=["a"])
    assert (line.requests, line.completion_tokens) == (6, 6)
    assert line.prompt_tokens == 3 * 120 + 6 * 2 * 60
    token_by_token = ENDPOINT.model_copy(update={"top40": "next_token"})
    (line,) = lines_of(token_by_token, task="scoring", shots=0, variants=1, subsets=["a"])
    assert (line.requests, line.prompt_tokens) == (120, 100 * 50 + 20 * 10)


def test_each_sample_of_a_continued_text_is_a_request_for_its_second_half():
    (line,) = lines_of(task="continuation", samples=10)
    assert line.requests == 3 * 10
    assert line.prompt_tokens == 10 * (3 * 50 + 75)
    assert line.completion_tokens == 10 * 150, "three tokens for each word of a half"


def test_a_part_of_the_benchmark_is_a_part_of_the_cost():
    assert lines_of(task="paraphrase", lengths=[64])[0][3:6] == (1, 100 + 90, 300)
    assert lines_of(task="name_cloze", subsets=["b"])[0].prompt_tokens == 30 + 190


def test_the_table_says_what_is_stored_and_whether_the_budget_suffices():
    line = Line("api", "texts", "de_cop", 72, 23_040, 72, 4.0)
    enough = "\n".join(table([line], {"api": (10, 10**9)}, spent=10**9, budget_usd=5))
    assert "| api | texts | de_cop | 72 | 23,040 | 72 | 4.00 |" in enough
    assert "10 answers of api, for 1.00" in enough
    assert "1.00 are spent and 4.00 are left" in enough
    assert "may not suffice" not in enough
    assert "may not suffice" in "\n".join(table([line], {}, spent=0, budget_usd=3))
    assert table([], {}, spent=0, budget_usd=0) == [
        "No model of this study is behind an API: nothing to pay for."
    ]
