"""What an audit will do, on which device and for about how long, before its first job."""

from collections.abc import Mapping, Sequence
from typing import Any

from pretrace.benchmarks.loaders.local import texts_of
from pretrace.benchmarks.sources import Text
from pretrace.studies.audit_study import TEXTS, has_gpu
from pretrace.studies.compute import FORWARD, TOKENS_A_WORD
from pretrace.studies.registries import files_of
from pretrace.studies.study import Study

CPU_FLOPS = 3e11
"""Operations a second of a forward pass on two cores: SmolLM2-135M in bfloat16, AMD EPYC, 1,100 tokens a second."""

ROUGH = 2.0
"""A pass takes up to this number of times the time of its operations alone; starts of jobs add a minute."""


def description(study: Study, config: Mapping[str, Any]) -> str:
    """Return what an audit will do, on which device and for about how long, before its first job."""
    texts = texts_of(*files_of(study.benchmarks.entries[TEXTS]))
    suspects, known = (
        [text for text in texts if (text.label == 0) == is_known] for is_known in (False, True)
    )
    model = study.models.entries[study.runs[0].model]
    tokens = sum(len(text.text.split()) for text in texts) * TOKENS_A_WORD["en"]
    gpu = config["device"].startswith("cuda") or (config["device"] == "auto" and has_gpu())
    time = _time(tokens, model.parameters, config["gpu_flops"] if gpu else CPU_FLOPS)
    return (
        f"pretrace: was {config['model']} trained on {_count(suspects)}? They are compared with {_count(known)} that "
        f"it cannot have read: about {tokens:,.0f} tokens on the {'GPU' if gpu else 'CPU'}, {time}. "
        f"The answer will be in results/{study.name}/report.html"
    )


def _count(texts: Sequence[Text]) -> str:
    documents = len({text.document or text.text_id for text in texts})
    return f"{len(texts)} text{'s' * (len(texts) != 1)} of {documents} document{'s' * (documents != 1)}"


def _time(tokens: float, parameters: float | None, flops: float) -> str:
    if parameters is None:
        return "for a time that depends on the model's size"
    minutes = 1 + ROUGH * tokens * FORWARD * parameters / flops / 60
    return f"about {max(2, minutes):.0f} minutes" if minutes < 90 else f"about {minutes / 60:.0f} hours"
