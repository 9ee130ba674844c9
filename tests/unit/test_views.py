"""Views are found by name and depend on nothing but the text and the seed."""

import marshal

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from pretrace.documents.languages import jieba_tokenizer
from pretrace.runtime.errors import InputError
from pretrace.views import VIEWS
from pretrace.views.words import is_chinese, word_spans

few = examples(max_examples=50, deadline=None)
SPEECH = (
    "My fellow citizens, the state of our\nUnion is strong; our people are free, and "
    "they know it. Thank you!"
)
CHINESE = "我们的国家正在快速发展。人民生活水平不断提高。大家都很高兴。这是一件好事情。"


def test_original_is_the_text_itself_and_lowercase_its_lower_case():
    text = "The STATE of the Union — ÄÖ 国情"
    assert VIEWS["original"].variants(text, 1) == [text]
    assert VIEWS["lowercase"].variants(text, 1) == ["the state of the union — äö 国情"]


@pytest.mark.parametrize(
    ("name", "source", "number", "model"),
    [
        ("lowercase", "text", None, ""),
        ("delete-10", "text", 10, ""),
        ("delete-12", "text", 12, ""),
        ("transpositions-3", "text", 3, ""),
        ("synonym-20", "data", 20, ""),
        ("synonym_by_smollm2-135m-10", "model", 10, "smollm2-135m"),
        ("neighbours_by_bert-base-uncased-25", "model", 25, "bert-base-uncased"),
        ("synonym_by_mine~tiny-10", "model", 10, "mine~tiny"),
        ("neighbours-25", "benchmark", 25, ""),
        ("substitution_by_smollm2-135m-20", "model", 20, "smollm2-135m"),
        ("paraphrase", "benchmark", None, ""),
        ("paraphrase_by_claude-2.0", "benchmark", None, ""),
    ],
)
def test_a_name_says_whether_the_view_is_a_function_of_the_text_or_a_stored_table(
    name, source, number, model
):
    member = VIEWS[name]
    assert name in VIEWS
    assert member.name == name
    assert member.source == source
    assert member.number == number
    assert member.model == model
    assert member.materialised == (source != "text")
    if source in ("model", "benchmark"):
        with pytest.raises(ValueError, match="stored table"):
            member.variants("text", 0)


@pytest.mark.parametrize(
    "name",
    ["delete", "delete-0", "delete-100", "delete-010", "delete-x", "synonym_by_x",
     "synonym_by_-10",
     "shorten_by_x-10", "synonym_by_a/b-10", "neighbours", "paraphrase_by_",
     "paraphrase-2"],
)  # fmt: skip
def test_a_name_outside_its_family_is_no_view(name):
    assert name not in VIEWS
    with pytest.raises(InputError, match=f"no view '{name}'"):
        VIEWS[name]


def test_a_cache_of_jieba_in_the_temporary_folder_is_not_read(tmp_path, monkeypatch):
    """It would change the words of texts, and no result would be computed anew."""
    pytest.importorskip("jieba")
    words = jieba_tokenizer().lcut(CHINESE)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cache = marshal.dumps(({CHINESE[:3]: 10**6}, 10**6))
    (tmp_path / "jieba.cache").write_bytes(cache)
    jieba_tokenizer.cache_clear()
    assert jieba_tokenizer().lcut(CHINESE) == words
    assert [path.name for path in tmp_path.iterdir()] == ["jieba.cache"]


def test_words_are_runs_without_space_and_in_chinese_what_jieba_cuts():
    assert [SPEECH[slice(*span)] for span in word_spans(SPEECH)] == SPEECH.split()
    jieba = pytest.importorskip("jieba")
    assert [CHINESE[slice(*span)] for span in word_spans(CHINESE)] == jieba.lcut(
        CHINESE
    )
    assert is_chinese("他说 OK 了。没有问题")
    assert not is_chinese("The word 国 in English, 2024")
    assert not is_chinese("2024 ... !")


@few
@given(
    st.lists(st.sampled_from(["we", "are", "Free", "now,"]), min_size=1, max_size=60),
    st.integers(0, 9),
)
def test_deletion_takes_the_integer_share_of_the_words_and_keeps_the_others_in_order(
    words, seed
):
    for percent in (10, 15, 20):
        [shorter] = VIEWS[f"delete-{percent}"].variants(" ".join(words), seed)
        left = shorter.split(" ")
        rest = iter(words)
        assert len(left) == len(words) - len(words) * percent // 100
        for word in left:
            assert word in rest


def test_deletion_keeps_the_space_between_words_that_stay():
    seen = {VIEWS["delete-10"].variants(SPEECH, seed)[0] for seed in range(60)}
    for text in seen:
        assert "  " not in text
        assert text == text.strip()
    assert any("our\nUnion" in text for text in seen)
    assert any(text.startswith("fellow") for text in seen)


def test_chinese_words_are_deleted_whole():
    jieba = pytest.importorskip("jieba")
    words = jieba.lcut(CHINESE)
    [shorter] = VIEWS["delete-20"].variants(CHINESE, 3)
    assert len(shorter) < len(CHINESE)
    left: list[str] = []
    for word in words:
        left += [word] if shorter.startswith(word, len("".join(left))) else []
    assert "".join(left) == shorter
    assert len(left) == len(words) - len(words) * 20 // 100


@pytest.mark.parametrize("name", ["delete-20", "transpositions-5"])
def test_a_view_is_a_function_of_text_and_seed(name):
    first = VIEWS[name].variants(SPEECH, 1)
    assert VIEWS[name].variants(SPEECH, 1) == first
    assert any(VIEWS[name].variants(SPEECH, seed) != first for seed in range(2, 6))
