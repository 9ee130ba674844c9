"""A checkpoint of the Hugging Face hub: safetensors, configuration and tokenizer, never
a pickle."""

import re
from collections.abc import Container
from fnmatch import fnmatchcase
from pathlib import Path

from pretrace.models.checkpoint import (
    ADAPTER,
    BESIDE,
    VOCABULARIES,
    Checkpoint,
    refuse_adapter,
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

_WEIGHTS = ("model*.safetensors", "model.safetensors.index.json")
_SETTINGS = (
    "config.json",
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
            fetched = snapshot(hub, "model", settings.commit, patterns)
            if not any(name.endswith(".safetensors") for name in fetched.files):
                fetched = snapshot(
                    hub, "model", conversion(hub, revision, fetched.commit), patterns
                )
    except InputError as error:
        raise InputError(
            f"{error} Access: {access}." if access else str(error)
        ) from error
    source = f"hub:{hub}@{fetched.commit}"
    checkpoint = write_checkpoint(
        fetched.folder,
        checkpoint_json,
        source,
        remote_code=remote_code,
        revision=revision,
    )
    log.info(
        "%s: %d files, digest %s", hub, len(checkpoint.files), checkpoint.digest[:12]
    )
    return checkpoint


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
            files = list_files(
                hub, "model", conversion(hub, revision, whole.commit)
            ).select(patterns)
    if ADAPTER in files.files:
        raise InputError(
            f"{hub} at '{revision}' has an adapter beside it ({ADAPTER}): name a "
            "merged model."
        )
    shards = [
        re.fullmatch(r"(.+-)(\d+)(-of-)(\d+)(\.safetensors)", name)
        for name in files.files
    ]
    needed = {
        f"{shard[1]}{number:0{len(shard[2])}d}{shard[3]}{shard[4]}{shard[5]}"
        for shard in shards if shard for number in range(1, int(shard[4]) + 1)
    }  # fmt: skip
    if missing := sorted({"config.json", *needed} - files.files.keys()):
        raise InputError(f"{hub} at '{revision}' has no {missing[0]}.")
    if not files.files.keys() & set(VOCABULARIES):
        raise InputError(
            f"{hub} at '{revision}' has no tokenizer ({', '.join(VOCABULARIES)})."
        )
    if reason := lacking_package(files.files):
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

    with explain_failures(hub, "model", revision):
        proposals = list(
            HfApi().get_repo_discussions(
                hub, author=_CONVERTER, discussion_type="pull_request"
            )
        )
    of_bot = [
        str(proposal.git_reference)
        for proposal in proposals
        if (proposal.author, proposal.title, proposal.status)
        == (_CONVERTER, _CONVERSION, "open")
    ]
    with use_pins(None):
        original = list_files(hub, "model", commit).select(_CONVERTED).files
        converted = {
            reference: list_files(hub, "model", reference) for reference in of_bot
        }
    refused = f"no conversion by {_CONVERTER}"
    for reference, proposed in converted.items():
        files = proposed.select(_CONVERTED).files
        either = original.keys() | files.keys()
        different = sorted(
            name for name in either if original.get(name) != files.get(name)
        )
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
