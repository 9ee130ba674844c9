"""A checkpoint of the Hugging Face hub: safetensors, configuration and tokenizer, never a pickle."""

from pathlib import Path

from pretrace.models.checkpoint import BESIDE, VOCABULARIES, Checkpoint, write_checkpoint
from pretrace.runtime.errors import InputError
from pretrace.runtime.hub import explained, snapshot
from pretrace.runtime.logs import log

_WEIGHTS = ("model*.safetensors", "model.safetensors.index.json")
_SETTINGS = ("config.json", "generation_config.json", "chat_template.jinja", *VOCABULARIES, *BESIDE)
_CODE = ("*.py",)
_CONVERTER, _CONVERSION = "SFconvertbot", "Adding `safetensors` variant of this model"


def fetch_model(
    hub: str, revision: str, checkpoint_json: Path, *, access: str = "", remote_code: bool = False
) -> Checkpoint:
    """Fetch the model `hub` at `revision` into the hub client's cache and record it in `checkpoint_json`.

    A revision without safetensors is replaced by the pull request in which the hub's own bot converted it, if there is
    one. Its Python files are fetched, and later run, only with `remote_code`. Raises `InputError` if the model cannot
    be fetched or has pickled weights only; `access` is the registry's note for users.
    """
    patterns = [*_WEIGHTS, *_SETTINGS, *(_CODE if remote_code else ())]
    try:
        fetched = snapshot(hub, "model", revision, patterns)
        if not any(name.endswith(".safetensors") for name in fetched.files):
            fetched = snapshot(hub, "model", _converted(hub, revision), patterns)
    except InputError as error:
        raise InputError(f"{error} Access: {access}." if access else str(error)) from error
    source = f"hub:{hub}@{fetched.commit}"
    checkpoint = write_checkpoint(
        fetched.folder, checkpoint_json, source, remote_code=remote_code, revision=revision
    )
    log.info("%s: %d files, digest %s", hub, len(checkpoint.files), checkpoint.digest[:12])
    return checkpoint


def _converted(hub: str, revision: str) -> str:
    """The revision of the hub's own, open conversion to safetensors; anybody else's is not taken."""
    from huggingface_hub import HfApi

    with explained(hub, "model", revision):
        proposals = list(HfApi().get_repo_discussions(hub, author=_CONVERTER, discussion_type="pull_request"))
    for proposal in proposals:
        if (proposal.author, proposal.title, proposal.status) == (_CONVERTER, _CONVERSION, "open"):
            taken = str(proposal.git_reference)
            log.info("%s has no safetensors at %s; taking %s by %s", hub, revision, taken, _CONVERTER)
            return taken
    raise InputError(
        f"{hub} has no safetensors at '{revision}', and no conversion by {_CONVERTER}. Loading pickled weights runs "
        "any code that they hold, so they are refused: convert the model once where you trust it (load it with "
        "transformers and call save_pretrained, the tokenizer's too) and name the folder under `paths` of "
        "config.yaml."
    )
