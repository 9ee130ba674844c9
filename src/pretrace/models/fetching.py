"""A checkpoint of the Hugging Face hub: safetensors, configuration and tokenizer, never
a pickle."""

import re
from collections.abc import Container
from fnmatch import fnmatchcase
from pathlib import Path

from pretrace.models.checkpoint import (
    ADAPTER,
    BESIDE,
    INDEX,
    VOCABULARIES,
    Checkpoint,
    refuse_adapter,
    refuse_second_weights,
    write_checkpoint,
)
from pretrace.models.sentencepiece_files import lacking_package
from pretrace.runtime.errors import InputError
from pretrace.runtime.hub import (
    Listing,
    explain_failures,
    list_files,
    snapshot,
    use_pins,
)
from pretrace.runtime.logs import log

_WEIGHTS = ("model*.safetensors",)
_SETTINGS = (
    "config.json",
    INDEX,
    ADAPTER,
    "generation_config.json",
    "chat_template.jinja",
    *VOCABULARIES,
    *BESIDE,
)
_CODE = ("*.py",)
_PICKLED = "pytorch_model*.bin"
_CONVERTED = (_PICKLED, "pytorch_model.bin.index.json", *_SETTINGS, *_CODE)
"""The files that a revision and its conversion have in common."""
_CONVERTER, _CONVERSION = "SFconvertbot", "Adding `safetensors` variant of this model"


def fetch_model(
    hub: str,
    revision: str,
    checkpoint_json: Path,
    *,
    access: str = "",
    remote_code: bool = False,
) -> Checkpoint:
    """Fetch the model `hub` at `revision` into the hub client's cache and record it in
    `checkpoint_json`.

    A revision without safetensors is replaced by the pull request in which the hub's
    own bot converted it, if that holds the same pickled weights and settings. Its
    Python files are fetched, and later run, only with `remote_code`. Raises
    `InputError` if the model cannot be fetched or has pickled weights only; `access` is
    the registry's note for users.
    """
    patterns = _patterns(remote_code)
    try:
        settings = snapshot(hub, "model", revision, patterns[len(_WEIGHTS) :])
        _refuse_adapter_alone(hub, settings.files)
        _check_settings(settings.folder, remote_code)
        with use_pins(None):  # these are commits already
            if INDEX in settings.files:
                whole = list_files(hub, "model", settings.commit)
                refuse_second_weights(settings.folder, whole.files)
            fetched = snapshot(hub, "model", settings.commit, patterns)
            if not any(name.endswith(".safetensors") for name in fetched.files):
                converted = conversion(hub, revision, fetched.commit)
                fetched = snapshot(hub, "model", converted, patterns)
    except InputError as error:
        note = f" Access: {access}." if access else ""
        raise InputError(f"{error}{note}") from error
    source = f"hub:{hub}@{fetched.commit}"
    return write_checkpoint(
        fetched.folder,
        checkpoint_json,
        source,
        remote_code=remote_code,
        revision=revision,
    )


def check_model(hub: str, revision: str, *, remote_code: bool = False) -> Listing:
    """List the files that `fetch_model` fetches, without fetching any.

    Raises `InputError` if a repository, a revision, the account's access or a file is
    missing, or if the tokenizer needs a package that is not installed.
    """
    patterns = _patterns(remote_code)
    whole = list_files(hub, "model", revision, fetchable=True)
    _refuse_adapter_alone(hub, whole.files)
    files = whole.select(patterns)
    if not any(name.endswith(".safetensors") for name in files.files):
        with use_pins(None):
            converted = conversion(hub, revision, whole.commit)
            files = list_files(hub, "model", converted).select(patterns)
    if ADAPTER in files.files:
        raise InputError(
            f"{hub} at '{revision}' has an adapter beside it ({ADAPTER}): name a "
            "merged model."
        )
    needed = {"config.json"}
    for name in files.files:
        shard = re.fullmatch(r"(.+-)(\d+)(-of-(\d+)\.safetensors)", name)
        if shard:
            begin, number, end, total = shard.groups()
            for other in range(1, int(total) + 1):
                needed.add(f"{begin}{other:0{len(number)}d}{end}")
    for name in sorted(needed - files.files.keys()):
        raise InputError(f"{hub} at '{revision}' has no {name}.")
    if not files.files.keys() & set(VOCABULARIES):
        raise InputError(
            f"{hub} at '{revision}' has no tokenizer ({', '.join(VOCABULARIES)})."
        )
    reason = lacking_package(files.files)
    if reason:
        raise InputError(f"{hub} at '{revision}' has its tokenizer as {reason}")
    return files


def _refuse_adapter_alone(hub: str, files: Container[str]) -> None:
    """Raise `InputError` for a repository with an adapter and no model beside it."""
    if ADAPTER in files and "config.json" not in files:
        folder = hub.rpartition("/")[2]
        raise InputError(
            f"{hub} is an adapter ({ADAPTER}), which is read from a folder: hf "
            f"download {hub} --local-dir {folder}, and name that folder as the model."
        )


def _check_settings(folder: Path, remote_code: bool) -> None:
    """Raise `InputError`, before weights are fetched, for settings with which they
    cannot be loaded."""
    from pretrace.models.architecture import loader_of, read_config

    refuse_adapter(folder)
    if (folder / "config.json").is_file():
        loader_of(read_config(folder, remote_code=remote_code), folder)


def _patterns(remote_code: bool) -> list[str]:
    return [*_WEIGHTS, *_SETTINGS, *(_CODE if remote_code else ())]


def conversion(hub: str, revision: str, commit: str) -> str:
    """Return the commit in which the hub's own bot converted the pickled weights of
    `commit` to safetensors.

    The bot converts the main branch, and proposes the conversion for no other. So its
    open proposal counts only if it has the same weights, settings and code as `commit`,
    which `revision` names. Raises `InputError` otherwise.
    """
    from huggingface_hub import HfApi

    converted = {}
    with use_pins(None):
        with explain_failures(hub, "model", revision):
            proposals = list(
                HfApi().get_repo_discussions(
                    hub, author=_CONVERTER, discussion_type="pull_request"
                )
            )
        original = list_files(hub, "model", commit).select(_CONVERTED).files
        for proposal in proposals:
            is_of_bot = proposal.author == _CONVERTER and proposal.title == _CONVERSION
            if is_of_bot and proposal.status == "open":
                reference = str(proposal.git_reference)
                converted[reference] = list_files(hub, "model", reference)
    refused = f"no conversion by {_CONVERTER}"
    for reference, proposed in converted.items():
        files = proposed.select(_CONVERTED).files
        different = []
        for name in sorted(original.keys() | files.keys()):
            if original.get(name) != files.get(name):
                different.append(name)
        if not different and any(fnmatchcase(name, _PICKLED) for name in original):
            log.info(
                "%s has no safetensors at %s; %s has %s's",
                hub,
                revision,
                reference,
                _CONVERTER,
            )
            return proposed.commit
        refused = (
            f"the conversion {reference} by {_CONVERTER} is of other files "
            f"({', '.join(different[:3])})"
        )
    raise InputError(
        f"{hub} has no safetensors at '{revision}', and {refused}. Loading pickled "
        "weights runs any code that they hold, so they are refused: convert the model "
        "once where you trust it (load it with transformers and call save_pretrained, "
        "the tokenizer's too) and name the folder under `paths` of config.yaml."
    )
