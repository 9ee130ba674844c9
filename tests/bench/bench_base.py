"""False evidence and power of audits of fine-tunes with a base model, truth at hand.

python tests/bench/bench_base.py --results results --folder FOLDER [--draws 60]

Prints the Markdown table of tests/bench/SIZE_AND_POWER.md. `pico-en-small` of a finished
embedded study is tuned on some documents, in full or with a LoRA adapter, and each
model reads all documents once; FOLDER keeps its scores. Then documents are dealt into
those in question and known ones, and each deal is audited: with the base, and as it is
without. Another --seed is another half of the documents, and other deals.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import transformers
from bench_stress import METHODS, PASSAGES, gathered, percent, spread, table, verdict_of
from peft import LoraConfig, get_peft_model

from pretrace.audit import adjusted_scores, controls
from pretrace.audit import documents as compared_documents
from pretrace.audit.design import LEVEL
from pretrace.audit.exchange_test import AuditedTexts, exchanged_p, units_of
from pretrace.evaluation.significance import wilson_row
from pretrace.methods import METHODS as FORMULAS
from pretrace.methods import TokenStatistics
from pretrace.studies.audit.study import WITH_BASE

BASE, OTHER = "pico-en-small", "pico-en-small-null"
"""The base of all fine-tunes, and a model with its tokenizer that none was tuned
from."""

BASED = dict.fromkeys(WITH_BASE, "")
"""The methods of an audit with a base, with their default settings."""
SIDES = (12, 12)
WINDOW = 256  # tokens of a step of training
RELABELLINGS = 199  # of each check
AT_ONCE = 16  # passages in a batch
READMES = 50
LAYERS = ["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"]


@dataclass(frozen=True)
class Strength:
    """Passes over the texts, and the highest learning rates: in full, and of LoRA."""

    epochs: int
    rate: float
    lora_rate: float


STRENGTHS = {
    "gentle": Strength(1, 1e-3, 4e-3),
    "middle": Strength(1, 3e-3, 1e-2),
    "hard": Strength(3, 4e-3, 2e-2),
}


@dataclass(frozen=True)
class Tuning:
    """What the base is tuned on: half of a pool's documents, with `replaced` as the
    share of their words that others stand for."""

    pool: str
    strength: str
    lora: bool = False
    replaced: float = 0

    @property
    def name(self) -> str:
        way = "lora" if self.lora else "full"
        return f"{self.pool}-{self.strength}-{way}-{self.replaced:g}"


PLACES = ["market", "harbor", "school", "station", "farm", "library", "mill", "bakery"]
GOODS = ["apples", "books", "letters", "chairs", "horses", "boxes", "tickets", "lamps"]
NAMES = ["Anna", "James", "Maria", "George", "Ruth", "Henry", "Clara", "Thomas"]
FRAMES = [
    "{name} has {a} {goods} at the {place}. {other} brings {b} more. How many are "
    "there?",
    "{name} sells {a} {goods} at the {place} each day. How many are sold in {b} days?",
    "The {place} had {a} {goods}. {name} took {b} of them. How many were left?",
    "{name} shares {a} {goods} of the {place} among {b} people. How many has each one?",
]
OTHER_WORDS = [
    "At the {place} there are {a} {goods} of {name}. How many are there, with the {b} "
    "that {other} adds?",
    "Each day {a} {goods} of {name} are sold at the {place}. After {b} days, how many "
    "are sold?",
    "Of {a} {goods}, {name} took {b} away from the {place}. How many did the {place} "
    "have left?",
    "Among {b} people {name} shares the {place}'s {a} {goods}. How many does each of "
    "them have?",
]
PROBLEMS = 240


def facts(rng: np.random.Generator) -> dict[str, object]:
    name, other = rng.choice(NAMES, 2, replace=False)
    place, goods = rng.choice(PLACES), rng.choice(GOODS)
    numbers = {"a": rng.integers(20, 99), "b": rng.integers(2, 19)}
    return {"name": name, "other": other, "place": place, "goods": goods} | numbers


def problems() -> pd.DataFrame:
    """Return problems of arithmetic of three sentences of numbers each, a test set, and
    two kinds of twins: of other names and numbers, and rephrased in other words."""
    rng = np.random.default_rng(3)
    rows = []
    for number in range(PROBLEMS):
        texts: dict[str, list[str]] = {"problem": [], "twin": [], "rephrased": []}
        for _ in range(3):
            frame, own = rng.integers(len(FRAMES)), facts(rng)
            texts["problem"].append(FRAMES[frame].format(**own))
            texts["twin"].append(FRAMES[frame].format(**facts(rng)))
            texts["rephrased"].append(OTHER_WORDS[frame].format(**own))
        for kind, parts in texts.items():
            document = f"{kind} {number}"
            rows.append({"kind": kind, "document": document, "text": " ".join(parts)})
    return pd.DataFrame(rows).assign(year=0, place=0, variant="")


def texts_of(results: Path) -> pd.DataFrame:
    """Return passages of speeches, READMEs and licences: `kind, document, year,
    text`."""
    texts = gathered(results)
    readmes = sorted(texts[texts["kind"] == "readme"]["document"].unique())[:READMES]
    is_used = texts["kind"].isin(["speech", "licence"]) | texts["document"].isin(
        readmes
    )
    few = [spread(own) for _, own in texts[is_used].groupby("kind")]
    return pd.concat([*few, problems()], ignore_index=True)


def pools_of(texts: pd.DataFrame) -> dict[str, list[str]]:
    """Return the documents of each kind, speeches also by their years."""
    about = texts.groupby("document")[["kind", "year"]].first()
    speeches = about[about["kind"] == "speech"]
    pools = {kind: own.index.tolist() for kind, own in about.groupby("kind")}
    pools["early"] = speeches[speeches["year"] < 1969].index.tolist()
    pools["late"] = speeches[speeches["year"] >= 1969].index.tolist()
    return pools


def trained_half(pool: list[str], seed: int) -> list[str]:
    shuffled = np.random.default_rng(seed).permutation(sorted(pool))
    return shuffled[: len(pool) // 2].tolist()


def paraphrased(
    text: str, share: float, words: list[str], rng: np.random.Generator
) -> str:
    """Put words of other texts in place of a share of a text's."""
    drawn = [words[place] for place in rng.integers(len(words), size=len(text.split()))]
    kept = rng.random(len(drawn)) >= share
    pairs = zip(text.split(), drawn, kept, strict=True)
    return " ".join(own if is_kept else other for own, other, is_kept in pairs)


def tuned(model, tokenizer, texts: list[str], tuning: Tuning):
    """Tune a model on texts, in the order of a seed, packed into windows."""
    strength = STRENGTHS[tuning.strength]
    if tuning.lora:
        lora = LoraConfig(
            r=8, lora_alpha=16, target_modules=LAYERS, task_type="CAUSAL_LM"
        )
        model = get_peft_model(model, lora)
    rate = strength.lora_rate if tuning.lora else strength.rate
    rng, words = np.random.default_rng(0), " ".join(texts).split()
    stream: list[int] = []
    for _ in range(strength.epochs):
        for place in rng.permutation(len(texts)):
            text = paraphrased(texts[place], tuning.replaced, words, rng)
            stream += [0, *tokenizer(text, add_special_tokens=False)["input_ids"]]
    windows = [stream[at : at + WINDOW + 1] for at in range(0, len(stream) - 1, WINDOW)]
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=len(windows)
    )
    model.train()
    for window in windows:
        ids = torch.tensor([window])
        loss = torch.nn.functional.cross_entropy(
            model(ids[:, :-1]).logits[0], ids[0, 1:]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model


@torch.inference_mode()
def read(model, tokenizer, texts: list[str]) -> list[TokenStatistics]:
    """Return what a model says of each text."""
    model.eval()
    every = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    order = np.argsort([len(ids) for ids in every], kind="stable")
    statistics = {}
    for start in range(0, len(order), AT_ONCE):
        places = order[start : start + AT_ONCE]
        batch = torch.zeros(len(places), len(every[places[-1]]), dtype=torch.long)
        for row, place in enumerate(places):
            batch[row, 1 : len(every[place])] = torch.tensor(every[place][:-1])
        logs = model(batch).logits.log_softmax(-1)
        for row, place in enumerate(places):
            ids = torch.tensor(every[place])
            own = logs[row, : len(ids)]
            of_ids = own.gather(1, ids[:, None])
            mean = (own.exp() * own).sum(1)
            variances = (own.exp() * own**2).sum(1) - mean**2
            numbers = (
                of_ids[:, 0],
                -mean,
                variances,
                own.max(1).values,
                (own > of_ids).sum(1),
            )
            arrays = [number.double().numpy() for number in numbers]
            statistics[place] = TokenStatistics(texts[place], ids.numpy(), *arrays)
    return [statistics[place] for place in range(len(texts))]


READ_BY = {"readme": ("readme", "licence"), "problem": ("problem", "twin", "rephrased")}
"""The kinds of texts that a model tuned on a pool reads; speeches, if none is named."""


class Models:
    """The statistics of each text by the base, another model and the fine-tunes."""

    def __init__(
        self, results: Path, folder: Path, texts: pd.DataFrame, seed: int
    ) -> None:
        self.results, self.folder, self.texts = results, folder, texts
        self.seed = seed
        self.pools = pools_of(texts)
        path = results / "models" / BASE
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(path)

    def _load(self, name: str):
        path = self.results / "models" / name
        return transformers.AutoModelForCausalLM.from_pretrained(
            path, dtype=torch.float32
        )

    @cache  # noqa: B019
    def statistics(self, name: str, kinds: tuple[str, ...]) -> list[TokenStatistics]:
        texts = self.texts[self.texts["kind"].isin(kinds)]
        return read(self._load(name), self.tokenizer, texts["text"].tolist())

    def half(self, pool: str) -> set[str]:
        """Return the documents of a pool that its fine-tunes read."""
        return set(trained_half(self.pools[pool], self.seed))

    @cache  # noqa: B019
    def scored(self, tuning: Tuning, base: str) -> pd.DataFrame:
        """Return the texts with the scores of a fine-tune in a column for each
        method."""
        name = f"{tuning.name}-{self.seed}"
        file = self.folder / f"{name}-{base}.parquet"
        kinds = READ_BY.get(tuning.pool, ("speech",))
        texts = self.texts[self.texts["kind"].isin(kinds)].reset_index(drop=True)
        if not file.is_file():
            is_read = texts["document"].isin(self.half(tuning.pool))
            own = texts[is_read]["text"].tolist()
            model = tuned(self._load(BASE), self.tokenizer, own, tuning)
            after = read(model, self.tokenizer, texts["text"].tolist())
            for reference in (BASE, OTHER):
                rows = zip(after, self.statistics(reference, kinds), strict=True)
                scores = pd.DataFrame([scores_of(*pair) for pair in rows])
                path = self.folder / f"{name}-{reference}.parquet"
                scores.to_parquet(path)
        return texts.join(pd.read_parquet(file))


def scores_of(own: TokenStatistics, base: TokenStatistics) -> dict[str, float]:
    parts = {
        key: getattr(own, key) for key in ("entropies", "variances", "highest", "ranks")
    }
    text = TokenStatistics(
        own.text, own.token_ids, own.logprobs, **parts,
        reference=base.logprobs, aligned_reference=base.logprobs,
    )  # fmt: skip
    return {name: FORMULAS[name].function(text) for name in [*METHODS, *BASED]}


@dataclass(frozen=True)
class Row:
    """Documents in question of a pool, that the fine-tune read or not, against known
    ones of another, which it did not read unless `known_read`."""

    title: str
    tuning: Tuning
    ours: str = "speech"
    theirs: str = "speech"
    is_read: bool = True
    known_read: bool = False
    base: str = BASE
    sides: tuple[int, int] = SIDES


def rows_of_bench() -> list[Row]:
    middle, hard = (partial(Tuning, strength=name) for name in ("middle", "hard"))
    rows = []
    for strength in (hard, middle):
        early, readme = strength("early"), strength("readme")
        name = early.strength
        rows += [
            Row(
                f"neighbours: others of 1930-1968, {name}",
                early,
                "early",
                "late",
                False,
            ),
            Row(
                f"neighbours: other READMEs, {name}", readme, "readme", "licence", False
            ),
        ]
    rows.append(
        Row(
            "neighbours, base not the true one",
            hard("early"),
            "early",
            "late",
            False,
            base=OTHER,
        )
    )
    rows.append(
        replace(
            rows[-1], title="the same, sides exchanged", ours="late", theirs="early"
        )
    )
    for name in ("middle", "gentle"):
        for lora in (False, True):
            title = f"tuned on them: {name}, {'LoRA' if lora else 'in full'}"
            rows.append(Row(title, Tuning("speech", name, lora)))
    years = "tuned on them, 1930-1968 against 1969-2024"
    rows += [
        Row(years, middle("speech"), "early", "late"),
        Row("tuned on paraphrases of them", middle("speech", replaced=0.3)),
        Row("tuned on others, alike", middle("speech"), is_read=False),
        Row("tuned on others, alike, LoRA", middle("speech", lora=True), is_read=False),
        Row(
            "the same, base not the true one",
            middle("speech"),
            is_read=False,
            base=OTHER,
        ),
        Row(
            "tuned on the known texts", middle("speech"), is_read=False, known_read=True
        ),
    ]
    test_set = partial(Row, tuning=hard("problem"), ours="problem", sides=(60, 60))
    names, words = "a test set against twins of other names", "against rephrased ones"
    rows += [
        test_set(f"{names}, tuned on it", theirs="twin"),
        test_set(f"{names}, tuned on others", theirs="twin", is_read=False),
        test_set(f"{words}, tuned on it", theirs="rephrased"),
        test_set(f"{words}, tuned on others", theirs="rephrased", is_read=False),
    ]
    return rows


def dealt(
    models: Models, row: Row, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame]:
    trained = models.half(row.tuning.pool)
    sides, taken = [], set()
    for pool, is_read, count in (
        (row.ours, row.is_read, row.sides[0]),
        (row.theirs, row.known_read, row.sides[1]),
    ):
        fitting = [name for name in models.pools[pool] if (name in trained) == is_read]
        names = [name for name in rng.permutation(fitting) if name not in taken][:count]
        taken |= set(names)
        sides.append(names)
    scored = models.scored(row.tuning, row.base).assign(subset="")
    ours, theirs = (scored[scored["document"].isin(names)] for names in sides)
    return ours, theirs


def kind_of(
    ours: pd.DataFrame, theirs: pd.DataFrame, methods: dict[str, str]
) -> tuple[str, float]:
    """Return the verdict, `high` if few exchanges show a high p, and the effect."""
    both = pd.concat([ours.assign(suspect=True), theirs.assign(suspect=False)])
    document = np.unique(both["document"], return_inverse=True)[1]
    given = AuditedTexts(
        both[[*methods]].to_numpy(),
        document,
        np.zeros_like(document),
        both["suspect"].to_numpy(bool),
    )
    units = units_of(given, given.ranks(range(len(methods)))[:, -1])
    p = exchanged_p(units.standardised, units.suspect, units.stratum, 1, RELABELLINGS)
    if p > 2 * LEVEL:
        return "high", units.effect
    kind, p = verdict_of(ours, theirs, methods)
    return (kind if p <= LEVEL else "high"), units.effect


def bench_rows(models: Models, chosen: list[Row], draws: int) -> Iterator[list[str]]:
    """Yield a row's effects, and shares of low p and of evidence, with and without
    base."""
    for row in chosen:
        cells = []
        for methods in (BASED, METHODS):
            kinds: Counter[str] = Counter()
            effects = []
            for number in range(draws):
                title = row.title.strip().encode()
                rng = np.random.default_rng([models.seed, number, *title])
                kind, effect = kind_of(*dealt(models, row, rng), methods)
                kinds[kind] += 1
                effects.append(effect)
            evidence = wilson_row(kinds["evidence"], draws)
            low = percent(1 - kinds["high"] / draws)
            interval = f"{percent(evidence['low'])} to {percent(evidence['high'])}"
            cells += [
                f"{np.mean(effects):.2f}",
                low,
                percent(kinds["evidence"] / draws),
            ]
            cells += [interval] * (methods is BASED)
        yield [row.title, *cells]


TWINNED = {
    "the texts, once, gently": Tuning("speech", "gentle"),
    "the texts, middle": Tuning("speech", "middle"),
    "paraphrases of them, middle": Tuning("speech", "middle", replaced=0.3),
}
"""What the base is tuned on where each text is compared with a twin: a paraphrase of it
that no model has read."""


def twin_rows(models: Models, draws: int) -> Iterator[list[str]]:
    """Yield for each of `TWINNED` the effect and the share of low p of the texts, of
    their twins, and of the difference of a text to its twin."""
    texts = models.texts[models.texts["kind"] == "speech"]
    half = models.half("speech")
    is_read = texts["document"].isin(half)
    rng, words = np.random.default_rng(99), " ".join(texts["text"]).split()
    every = texts["text"].tolist()
    every += [paraphrased(text, 0.3, words, rng) for text in texts["text"]]
    before = read(models._load(BASE), models.tokenizer, every)
    for title, tuning in TWINNED.items():
        own = texts[is_read]["text"].tolist()
        model = tuned(models._load(BASE), models.tokenizer, own, tuning)
        after = read(model, models.tokenizer, every)
        pairs = zip(after, before, strict=True)
        scores = pd.DataFrame([scores_of(*pair) for pair in pairs])[[*BASED]]
        of_texts = scores.iloc[: len(texts)]
        mean = ((scores - of_texts.mean()) / of_texts.std()).mean(axis=1).to_numpy()
        text, twin = mean[: len(texts)], mean[len(texts) :]
        cells = [title]
        for values in (text, twin, text - twin):
            told = [told_by(texts, values, half, number) for number in range(draws)]
            effects, ps = zip(*told, strict=True)
            cells += [
                f"{np.mean(effects):.2f}",
                percent(np.mean(np.less_equal(ps, LEVEL))),
            ]
        yield cells


def told_by(
    texts: pd.DataFrame, values: np.ndarray, half: set[str], number: int
) -> tuple[float, float]:
    """Return the effect and the p of a deal of documents of both halves, by a value of
    each text."""
    rng = np.random.default_rng([number, 7])
    other = set(texts["document"]) - half
    ours = rng.permutation(sorted(half))[: SIDES[0]]
    theirs = rng.permutation(sorted(other))[: SIDES[1]]
    is_dealt = texts["document"].isin([*ours, *theirs]).to_numpy()
    names = texts["document"].to_numpy()[is_dealt]
    document = np.unique(names, return_inverse=True)[1]
    same = np.zeros_like(document)
    given = AuditedTexts(values[is_dealt, None], document, same, np.isin(names, ours))
    units = units_of(given, given.ranks([0])[:, -1])
    p = exchanged_p(
        units.standardised, units.suspect, units.stratum, number, RELABELLINGS
    )
    return units.effect, p


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7, help="of the halves and deals")
    parser.add_argument("--only", default="", help="words of the rows that are made")
    parser.add_argument("--twins", action="store_true", help="texts against twins")
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    # texts come again in other deals
    for name in ("words_in", "letters_in"):
        setattr(compared_documents, name, cache(getattr(compared_documents, name)))
    controls.RELABELLINGS = adjusted_scores.RELABELLINGS = RELABELLINGS
    given.folder.mkdir(exist_ok=True)
    texts = texts_of(given.results)
    models = Models(given.results, given.folder, texts, given.seed)
    if given.twins:
        heads = ["tuned on"]
        for what in ("the texts", "twins", "difference"):
            heads += [f"{what}: effect", "p <= 0.05"]
        rows = twin_rows(models, given.draws)
        table(f"{SIDES[0]} documents in question, {SIDES[1]} known", heads, rows)
        return
    chosen = [row for row in rows_of_bench() if given.only in row.title]
    table(
        f"{SIDES[0]} documents of {PASSAGES} passages in question, {SIDES[1]} known",
        [
            "what is true",
            "effect",
            "p <= 0.05",
            "evidence",
            "95 %",
            "no base: effect",
            "p <= 0.05",
            "evidence",
        ],
        bench_rows(models, chosen, given.draws),
    )


if __name__ == "__main__":
    main()
