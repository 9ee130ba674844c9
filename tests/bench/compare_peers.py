"""What other implementations compute of one text, beside plain arithmetic and pretrace.

python tests/bench/compare_peers.py results/models/smollm2-135m --bos
    in an environment with lm-eval==0.4.13 minicons==0.3.39 surprisal==0.1.7

Prints sums and means of log-probabilities in nats. `--bos`: a copy of the checkpoint
whose tokenizer adds a start token, as Llama's does. `docs/servers.md` has the numbers.
Not in CI.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

import torch
import transformers

TEXT = "The state of the union is strong, and the people of the land know it very well."
SHORT = "It was the best of times."


def copied(folder: Path) -> Path:
    """A copy of a checkpoint whose tokenizer puts its start token first."""
    from tokenizers import Tokenizer, processors

    copy = Path(tempfile.mkdtemp()) / "with-bos"
    shutil.copytree(folder, copy)
    tokenizer = Tokenizer.from_file(str(copy / "tokenizer.json"))
    start = transformers.AutoTokenizer.from_pretrained(folder).bos_token
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A", special_tokens=[(start, tokenizer.token_to_id(start))]
    )
    tokenizer.save(str(copy / "tokenizer.json"))
    return copy


def told(name: str, total: float, count: int) -> None:
    mean = total / count if count else float("nan")
    print(f"| {name} | {total:.2f} | {count} | {mean:.4f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bos", action="store_true")
    options = parser.parse_args()
    folder = copied(options.folder) if options.bos else options.folder
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32
    ).eval()

    def plain(ids: list[int]) -> tuple[float, int]:
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids])).logits[0].double()
        logprobs = logits.log_softmax(-1)
        values = logprobs[:-1].gather(1, torch.tensor(ids)[1:, None])
        return float(values.sum()), len(values)

    ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    start = tokenizer.bos_token_id
    told("plain, no start token", *plain(ids))
    told("plain, one start token", *plain([start, *ids]))
    try:
        import pretrace
    except ImportError:
        print("| pretrace | is not installed here |")
    else:
        for given in ("none", tokenizer.bos_token):
            scored = pretrace.score(
                [TEXT], model=str(folder), methods=["loss"], start_token=given
            )
            count = len(ids) - (given == "none")
            told(
                f"pretrace, start_token {given}",
                float(scored["loss"][0]) * count,
                count,
            )
    try:
        from lm_eval.api.instance import Instance
        from lm_eval.models.huggingface import HFLM
    except ImportError:
        print("| lm-eval | is not installed here |")
    else:
        for adds in (None, False):
            more = {} if adds is None else {"add_bos_token": adds}
            peer = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=1, **more)
            asked = Instance(
                request_type="loglikelihood_rolling", doc={}, arguments=(TEXT,), idx=0
            )
            [total] = peer.loglikelihood_rolling([asked], disable_tqdm=True)
            told(f"lm-eval rolling, add_bos_token {adds}", float(total), len(ids))
    try:
        from minicons import scorer
    except ImportError:
        print("| minicons | is not installed here |")
    else:
        peer = scorer.IncrementalLMScorer(model, tokenizer=tokenizer, device="cpu")
        [values] = peer.token_score([TEXT])
        told("minicons", sum(value for _, value in values), len(values))
    try:
        import surprisal
    except ImportError:
        print("| surprisal | is not installed here |")
    else:
        peer = surprisal.AutoHuggingFaceModel.from_pretrained(
            str(folder), model_class="gpt"
        )
        for texts in ([TEXT], [TEXT, SHORT]):
            found = [*peer.surprise(texts)]
            values = found[-1].surprisals
            what = f"surprisal, {len(texts)} text(s), the last"
            told(what, -float(sum(values)), len(values))


if __name__ == "__main__":
    main()
