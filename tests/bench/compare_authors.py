"""How far scores lie from those of the authors' public code and of plain transformers:
the tables of docs/methods.md.

python tests/bench/compare_authors.py CHECKOUTS

CHECKOUTS is a folder with clones of the authors' repositories, each under its own name;
what is absent is left out. Run it in the project's folder after the embedded study,
which has the model, the texts and the counts. Only the functions and the loop of the
authors' files that score texts are executed, as they are; nothing else is imported from
them.
"""

import argparse
import ast
import subprocess
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import torch
import transformers

from pretrace.benchmarks.sources import Text
from pretrace.benchmarks.table import finish
from pretrace.corpora.counts import log_frequencies
from pretrace.methods import METHODS, Chosen, Inputs, TokenStatistics, setting_name
from pretrace.methods import score as scores_table
from pretrace.methods.wbc import WIDTHS
from pretrace.models.checkpoint import read_checkpoint, register_local
from pretrace.models.target import load_checkpoint
from pretrace.passes import job
from pretrace.passes.index import PassIndex
from pretrace.runtime.files import read_json, read_parquet
from pretrace.studies.pairs import requests_of_methods
from pretrace.studies.runs import Run
from pretrace.views.prefixes import PREFIX_COLUMNS, shot_texts
from pretrace.views.readings import PassRequest, Reading
from pretrace.views.stored import rendered_texts

SHOTS, COPIES = 7, 5
Scores = dict[str, list[float]]

AUTHORS: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("loss", "detect-pretrain-code", {}, "ppl", "-ln"),
    ("zlib", "detect-pretrain-code", {}, "ppl/zlib", "-"),
    ("lowercase", "detect-pretrain-code", {}, "ppl/lowercase_ppl", "1/"),
    (
        "ref",
        "detect-pretrain-code",
        {},
        "ppl/Ref_ppl (calibrate PPL to the reference model)",
        "-",
    ),
    *(
        ("min_k", "detect-pretrain-code", {"k": k}, f"Min_{k * 100}% Prob", "-")
        for k in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    ),
    ("loss", "mink-plus-plus", {}, "loss", ""),
    ("zlib", "mink-plus-plus", {}, "zlib", ""),
    *(
        ("min_k", "mink-plus-plus", {"k": k / 10}, f"mink_{k / 10}", "")
        for k in range(1, 11)
    ),
    *(
        ("min_k_pp", "mink-plus-plus", {"k": k / 10}, f"mink++_{k / 10}", "")
        for k in range(1, 11)
    ),
    ("ref", "mink-plus-plus", {}, "ref", ""),
    ("lowercase", "mink-plus-plus", {}, "lowercase", "-1/"),
    ("neighbor", "mink-plus-plus", {}, "neighbor", ""),
    ("recall", "recall", {"shots": SHOTS}, "recall", ""),
    ("recall", "CON-RECALL", {"shots": SHOTS}, "recall", ""),
    *(
        (
            "con_recall",
            "CON-RECALL",
            {"shots": SHOTS, "gamma": g},
            f"con-recall_{g}",
            "",
        )
        for g in (0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    ),
    ("ref", "CON-RECALL", {"form": "con_recall_code"}, "ref", ""),
    ("dc_pdd", "DC-PDD", {"a": 0.01}, "DC-PDD", "-"),
    ("ref", "DC-PDD", {"form": "ratio"}, "tar_ppl/ref_ppl", "-"),
    ("lowercase", "DC-PDD", {}, "tar_ppl/low_ppl", "-"),
    ("min_k_pp", "DC-PDD", {"k": 0.2}, "min_20%++ prob", "-"),
    ("gap_k", "gap-k", {"window": 3}, "gapk_0.2", ""),
    ("wbc", "WBC", {"widths": "code"}, "wbc", ""),
    ("ez_mia", "ez-mia", {"edge": "code"}, "ez_mia", ""),
    ("pac", "PAC", {}, "pac", ""),
]
"""Method, repository, setting, the name of the score there, and what makes it ours: a
sign, ln or a reciprocal."""
CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "": lambda values: values, "-": lambda values: -values,
    "-ln": lambda values: -np.log(values),
    "1/": lambda values: 1 / values, "-1/": lambda values: -1 / values,
}  # fmt: skip
PLAIN_ONLY = [("surp", {"eps": 2.0, "percentile": 40}), ("max_renyi", {})]


def execute(file: Path, names: Iterable[str] = (), **known: Any) -> dict[str, Any]:
    """Execute functions of a file by name, and without names all of them and its first
    loop; return what is defined."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    if names:
        body: list[ast.stmt] = [node for node in functions if node.name in set(names)]
    else:
        body = [node for node in functions if node in tree.body]
        body.append(next(node for node in tree.body if isinstance(node, ast.For)))
    for node in (node for node in body if isinstance(node, ast.FunctionDef)):
        node.decorator_list, node.returns = [], None
        for argument in (*node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
    namespace = {
        "np": np,
        "torch": torch,
        "F": torch.nn.functional,
        "zlib": zlib,
        "tqdm": lambda items, **_: items,
        **known,
    }
    exec(compile(ast.Module(body, []), str(file), "exec"), namespace)
    return namespace


class Plain:
    """A model read by plain transformers, one text at a time, in float32."""

    def __init__(self, folder: Path) -> None:
        self.model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32
        ).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def statistics(
        self, text: str, before: Sequence[str] = ()
    ) -> dict[str, np.ndarray]:
        """Return the statistics of every token of the text but the first, or of all
        after shots, in float64."""
        prefix = [id for shot in before for id in self.tokenizer.encode(shot)]
        own = self.tokenizer.encode(text)
        ids = torch.tensor([[*prefix, *own]])
        first = max(len(prefix), 1)
        with torch.no_grad():
            lnp = self.model(ids).logits[0, first - 1 : -1].double().log_softmax(-1)
        ids = ids[0, first:]
        entropy = -(lnp.exp() * lnp).sum(-1)
        logprobs = lnp.gather(1, ids[:, None])
        values = {
            "token_ids": ids,
            "logprobs": logprobs[:, 0],
            "entropies": entropy,
            "highest": lnp.amax(-1),
            "variances": (lnp.exp() * (lnp + entropy[:, None]) ** 2).sum(-1),
            "ranks": (lnp > logprobs).sum(-1).double(),
        }
        return {name: value.numpy() for name, value in values.items()}


class Material:
    """Texts and shots of the embedded study, SmolLM2-135M, and a reference model:
    itself without the last layer.

    With `merging` the shots are as they come: the last word of one and the first of the
    next may merge into a token.
    """

    def __init__(
        self, results: Path, folder: Path, count: int, *, merging: bool
    ) -> None:
        sotu, split = (
            read_parquet(results / "benchmarks" / f"{name}.parquet")
            for name in ("sotu", "sotu_split")
        )
        split = split[split["length"].eq(64) & split["subset"].eq("1989-2024")]
        self.checkpoint = results / "models" / "smollm2-135m" / "checkpoint.json"
        self.target = Plain(read_checkpoint(self.checkpoint).path)
        self.shots = {
            kind: self._shots(sotu[sotu["label"].eq(label)]["text"].iloc[::-1], merging)
            for kind, label in (("member", 1), ("nonmember", 0))
        }
        own = [
            text
            for frame in (sotu, split)
            for text in frame["text"].iloc[:: len(frame) // count].head(count)
        ]
        shots = [text for texts in self.shots.values() for text in texts]
        self.texts = [text for text in dict.fromkeys(own) if text not in shots]
        named = {f"t{number:03d}": text for number, text in enumerate(self.texts)}
        drawn = {
            f"{kind}{number}": text
            for kind, texts in self.shots.items()
            for number, text in enumerate(texts)
        }
        self.ids = [*named]
        self.table = finish(
            [Text(id, text, None) for id, text in (named | drawn).items()],
            name="parity",
            seed=0,
        )
        rows = [(0, "", "", pd.NA, id[:-1], int(id[-1]), id) for id in drawn]
        self.prefixes = pd.DataFrame(rows, columns=PREFIX_COLUMNS).astype(
            {"length": "Int64"}
        )
        self.reference_checkpoint = folder / "reference.json"
        shallow = Plain(read_checkpoint(self.checkpoint).path)
        shallow.model.model.layers = shallow.model.model.layers[:-1]
        shallow.model.config.num_hidden_layers -= 1
        for part in (shallow.model, shallow.tokenizer):
            part.save_pretrained(folder / "reference")
        register_local(folder / "reference", self.reference_checkpoint)
        self.reference = Plain(folder / "reference")
        self.counts = (
            results / "corpora" / "sotu_historic" / "counts" / "smollm2-135m.parquet"
        )
        copied = rendered_texts(
            self.ids,
            self.texts,
            view="original",
            altered=f"transpositions-{COPIES}",
            stored={},
        )
        self.copies = [text for _, _, text in copied]

    def _shots(self, texts: Iterable[str], merging: bool) -> list[str]:
        chosen: list[str] = []
        encode = self.target.tokenizer.encode
        for text in texts:
            apart = not chosen or encode(chosen[-1] + text) == encode(
                chosen[-1]
            ) + encode(text)
            if len(chosen) < SHOTS and (merging or apart):
                chosen.append(text)
        return chosen


def ours(material: Material, folder: Path) -> pd.DataFrame:
    """Return the scores of the passes that rules run, mixed in batches, in float32."""
    settings = [(method, setting) for method, _, setting, *_ in AUTHORS] + PLAIN_ONLY
    chosen = {
        (method, setting_name(method, setting)): Chosen(
            method=method, parameters=METHODS[method].defaults | setting
        )
        for method, setting in settings
    }
    given = {
        "references": ["reference"],
        "corpora": ["counts"],
        "neighbours": [f"transpositions-{COPIES}"],
    }
    run = Run(
        model="target",
        benchmark="parity",
        start_token="none",
        methods=[*chosen.values()],
        **given,
    )

    def read(name: str, record: Path, requests: list[PassRequest]) -> Path:
        job.run(
            requests,
            benchmark=material.table,
            names={"study": "parity", "model": name, "benchmark": "parity"},
            target=load_checkpoint(record, dtype="float32", device="cpu"),
            store=folder / "store",
            manifest=folder / f"{name}.json",
            batch_tokens=2048,
            threads=1,
            shots=lambda key: shot_texts(
                key.reading.shots, key.slice, material.table, material.prefixes
            ),
            evaluated=lambda draw: set(material.ids),
        )
        return folder / f"{name}.json"

    reference = read(
        "reference",
        material.reference_checkpoint,
        [PassRequest(Reading("original", "none"), "logprobs")],
    )
    passes = read("target", material.checkpoint, requests_of_methods(run, "original"))
    files = {
        "reference": {"reference": reference},
        "frequencies": {"counts": material.counts},
    }
    inputs = Inputs(
        PassIndex(read_json(passes), folder / "store"),
        material.table,
        files=files,
        prefixes=material.prefixes,
        language="en",
    )
    return pd.concat(scores_table([run.for_jobs()], inputs)).set_index(
        ["method", "setting", "id"]
    )["score"]


def plain(material: Material) -> dict[str, TokenStatistics]:
    """Return what methods read of each text, all of it from plain transformers."""
    frequencies = log_frequencies(
        material.counts, material.target.model.config.vocab_size
    )
    statistics = {}
    for number, (id, text) in enumerate(zip(material.ids, material.texts, strict=True)):
        own, reference = (
            reader.statistics(text) for reader in (material.target, material.reference)
        )
        copies = material.copies[number * COPIES : (number + 1) * COPIES]
        after = {
            kind: material.target.statistics(text, before)["logprobs"]
            for kind, before in material.shots.items()
        }
        statistics[id] = TokenStatistics(
            text,
            **own,
            lowercase=material.target.statistics(text.lower())["logprobs"],
            reference=reference["logprobs"],
            aligned_reference=reference["logprobs"],
            neighbours=tuple(
                material.target.statistics(copy)["logprobs"] for copy in copies
            ),
            log_frequencies=frequencies[own["token_ids"]],
            given_nonmember=after["nonmember"],
            given_member=after["member"],
        )
    return statistics


def theirs(
    material: Material, checkouts: Path, read: dict[str, TokenStatistics]
) -> dict[str, Scores]:
    """Return the scores by repository, of those that are there, and by the name that
    they have in its code.

    The functions of WBC, EZ-MIA and PAC are formulas of log-probabilities, and get
    those of plain transformers.
    """
    target, reference = material.target, material.reference
    models = {
        "model": target.model,
        "tokenizer": target.tokenizer,
        "ref_model": reference.model,
    }
    pair = (target.model, reference.model, target.tokenizer, reference.tokenizer)
    data = [{"input": text, "label": 0} for text in material.texts]
    shots, device = material.shots, SimpleNamespace(device="cpu")

    def min_k(folder: Path) -> Iterable[dict[str, float]]:
        inference = execute(
            folder / "src/run.py", ("calculatePerplexity", "inference")
        )["inference"]
        return [
            inference(*pair, text, {}, "target", "reference")["pred"]
            for text in material.texts
        ]

    def min_k_pp(folder: Path) -> Iterable[dict[str, float]]:
        copies = {
            "perturbed_data": [{"input": text} for text in material.copies],
            "num_neighbors": COPIES,
        }
        scores: Scores = defaultdict(list)
        for name in ("run.py", "run_ref.py", "run_neighbor.py"):
            execute(folder / name, **models, **copies, data=data, scores=scores)
        return pd.DataFrame(scores).to_dict("records")

    def gap_k(folder: Path) -> Iterable[dict[str, float]]:
        scores: Scores = defaultdict(list)
        options = SimpleNamespace(window_size=3)
        execute(
            folder / "wikimia.py",
            **models,
            data=data,
            scores=scores,
            RATIO=0.2,
            args=options,
        )
        return pd.DataFrame(scores).to_dict("records")

    def recall(
        folder: Path, file: str, *prefixes: list[str]
    ) -> Iterable[dict[str, float]]:
        names = ("get_ll", "get_conditional_ll", "get_all_prob", "inference")
        inference = execute(folder / file, names)["inference"]
        return [
            inference(*pair, text, *prefixes, device, SHOTS, {})["pred"]
            for text in material.texts
        ]

    def dc_pdd(folder: Path) -> Iterable[dict[str, float]]:
        options = SimpleNamespace(max_tok=1024)
        reads = execute(
            folder / "com_pro_dis.py", ("cal_ppl", "inference"), args=options
        )["inference"]
        rows = [reads(text, 0, *pair) for text in material.texts]
        # a list of ids cannot be indexed by a list, as the code does
        rows = [row | {"input_ids": np.array(row["input_ids"])} for row in rows]
        frequencies = np.exp(
            log_frequencies(material.counts, target.model.config.vocab_size)
        )
        scored = execute(
            folder / "com_det_sco.py",
            ("cal_met",),
            tokenizer=target.tokenizer,
            fre_dis=frequencies,
        )
        return [row["pred"] for row in scored["cal_met"](rows, "en", 512, 0.01)]

    def wbc(folder: Path) -> Iterable[dict[str, float]]:
        share = execute(folder / "attacks/wbc.py", ("_compute_window_score",))[
            "_compute_window_score"
        ]
        for text in read.values():
            losses = -text.logprobs, -text.aligned_reference
            yield {
                "wbc": float(
                    np.mean([share(None, *losses, width) for width in WIDTHS["code"]])
                )
            }

    def ez_mia(folder: Path) -> Iterable[dict[str, float]]:
        names = ("_apply_mask_1d", "error_zone_pos_neg_sum_ratio")
        ratio = execute(folder / "mia/ez_score.py", names)[
            "error_zone_pos_neg_sum_ratio"
        ]
        for text in read.values():
            ids, wrong = torch.tensor(text.token_ids), torch.tensor(text.ranks > 0)
            logprobs = (
                torch.tensor(text.logprobs),
                torch.tensor(text.aligned_reference),
            )
            yield {
                "ez_mia": ratio(
                    *logprobs,
                    torch.where(wrong, ids + 1, ids),
                    ids,
                    torch.ones(len(ids)),
                )
            }

    def pac(folder: Path) -> Iterable[dict[str, float]]:
        distance = execute(folder / "attack.py", ("calculate_Polarized_Distance",))[
            "calculate_Polarized_Distance"
        ]
        for text in read.values():
            copies = [distance(copy.tolist()) for copy in text.neighbours]
            yield {"pac": float(np.mean(copies) - distance(text.logprobs.tolist()))}

    ways: dict[str, Callable[[Path], Iterable[dict[str, float]]]] = {
        "detect-pretrain-code": min_k,
        "mink-plus-plus": min_k_pp,
        "gap-k": gap_k,
        "DC-PDD": dc_pdd,
        "WBC": wbc,
        "ez-mia": ez_mia,
        "PAC": pac,
        "recall": lambda folder: recall(folder, "src/run.py", shots["nonmember"]),
        "CON-RECALL": lambda folder: recall(
            folder, "run.py", shots["nonmember"], shots["member"]
        ),
    }
    return {
        name: pd.DataFrame(way(checkouts / name))
        for name, way in ways.items()
        if (checkouts / name).is_dir()
    }


def largest(values: Iterable[float]) -> str:
    return f"{max(values):.0e}".replace("e-0", "e-")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "checkouts", type=Path, help="the folder of the authors' repositories"
    )
    parser.add_argument(
        "--results", type=Path, default=Path("results"), help="with the embedded study"
    )
    parser.add_argument("--texts", type=int, default=8, help="of each of two lengths")
    parser.add_argument(
        "--merging",
        action="store_true",
        help="take shots whose border words may merge into one token",
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as name:
        material = Material(
            options.results, Path(name), options.texts, merging=options.merging
        )
        scores = ours(material, Path(name))
        read = plain(material)
        authors = theirs(material, options.checkouts, read)
    tokens = [len(text.token_ids) for text in read.values()]
    print(
        f"{len(read)} texts of {min(tokens)} to {max(tokens)} scored tokens; shots of "
        f"each class: {SHOTS}"
    )
    print(
        f"torch {torch.__version__}, transformers {transformers.__version__}, numpy "
        f"{np.__version__}"
    )
    for repository in authors:
        head = [
            "git",
            "-C",
            str(options.checkouts / repository),
            "log",
            "-1",
            "--format=%h of %cs",
        ]
        print(
            f"{repository}: "
            f"{subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()}"
        )

    def own(method: str, setting: dict[str, Any]) -> np.ndarray:
        return (
            scores[method, setting_name(method, setting)].loc[material.ids].to_numpy()
        )

    print(
        "\n| method | settings | scores | to plain transformers | to the authors' code "
        "| repository |"
    )
    print("|---|--:|---|--:|--:|---|")
    rows: dict[tuple[str, str], list[tuple[dict[str, Any], str, str]]] = defaultdict(
        list
    )
    for method, repository, setting, score, change in AUTHORS:
        rows[method, repository].append((setting, score, change))
    for method, setting in PLAIN_ONLY:
        rows[method, ""].append((setting, "", ""))
    for (method, repository), settings in sorted(
        rows.items(), key=lambda item: item[0]
    ):
        mine = [own(method, setting) for setting, *_ in settings]
        with_plain = [
            np.abs(
                values
                - [METHODS[method].function(text, **setting) for text in read.values()]
            ).max()
            for values, (setting, *_) in zip(mine, settings, strict=True)
        ]
        to_theirs = "no public code compared"
        if repository:
            to_theirs = "not had"
        if repository in authors:
            their = [
                CHANGES[change](authors[repository][score].to_numpy())
                for _, score, change in settings
            ]
            to_theirs = largest(
                np.abs(values - other).max()
                for values, other in zip(mine, their, strict=True)
            )
        spread = f"{min(map(np.min, mine)):.3g} to {max(map(np.max, mine)):.3g}"
        print(
            f"| `{method}` | {len(settings)} | {spread} | {largest(with_plain)} | "
            f"{to_theirs} | {repository} |"
        )


if __name__ == "__main__":
    main()
