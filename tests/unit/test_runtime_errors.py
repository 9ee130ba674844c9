"""What the machine refuses is told as that, wherever it is met, and no file is blamed
for it."""

import errno

import pyarrow as pa
import pytest

from hub_server import Hub
from pretrace.benchmarks.loaders.dolma_book import books_in
from pretrace.benchmarks.packages import lines_of
from pretrace.runtime.errors import InputError, explain_failure, remedy
from pretrace.runtime.files import read_table, write_parquet
from pretrace.runtime.http import Fetcher
from pretrace.runtime.hub import explain_failures
from pretrace.runtime.logs import job_log, log, prepare_terminal, print_answer, say
from pretrace.runtime.schema import read_yaml

FULL = OSError(errno.ENOSPC, "No space left on device")
DENIED = PermissionError(errno.EACCES, "Permission denied")


def refuse(monkeypatch, error: OSError) -> None:
    """From now on this machine opens no file."""

    def opened(*_, **__):
        raise error

    monkeypatch.setattr("builtins.open", opened)
    monkeypatch.setattr("io.open", opened)
    monkeypatch.setattr("pyarrow.parquet.read_table", opened)


@pytest.mark.parametrize(
    "read",
    [
        read_table,
        read_yaml,
        lambda path: list(books_in(path)),
        lambda path: lines_of(path, ("a",)),
    ],
    ids=["table", "yaml", "books", "lines"],
)
def test_a_file_that_may_not_be_read_is_not_to_be_deleted(tmp_path, monkeypatch, read):
    path = tmp_path / "a.parquet"
    write_parquet(path, pa.table({"id": ["a"]}))
    refuse(monkeypatch, DENIED)
    with pytest.raises(
        InputError, match=r"a\.parquet.*Make that file or folder accessible"
    ) as told:
        read(path)
    assert "elete" not in str(told.value)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        pa.ArrowMemoryError("malloc of size 1"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ],
    ids=["python", "arrow", "torch"],
)
def test_no_memory_is_no_defect_of_a_file_or_of_the_code(
    tmp_path, monkeypatch, capsys, error
):
    def read(*_, **__):
        raise error

    monkeypatch.setattr("pyarrow.parquet.read_table", read)
    with pytest.raises(SystemExit), job_log(tmp_path / "log"):
        read_table(tmp_path / "a.parquet")
    told = capsys.readouterr().err
    assert "Memory ran out" in told
    assert "elete" not in told
    assert "defect" not in told


def test_a_full_disk_is_not_the_hubs_fault():
    with (
        pytest.raises(InputError, match=r"No space left.*Make room on that disk"),
        explain_failures("a/b", "model", "main"),
    ):
        raise FULL


CLEAR = "\x1b[2J\x1b]0;pwned\x07\u202eno\r"


def test_names_of_others_cannot_write_to_the_terminal(tmp_path, capsys):
    def job() -> None:
        log.warning("%s", CLEAR)
        print_answer([CLEAR, "a second line"])
        raise InputError(f"{CLEAR} is wrong.\nA second line")

    with pytest.raises(SystemExit), job_log(tmp_path / "log"):
        job()
    say(CLEAR)
    shown = capsys.readouterr()
    for text in (shown.out, shown.err, (tmp_path / "log").read_text(encoding="utf-8")):
        assert not {"\x1b", "\x07", "\u202e", "\r"} & {*text}
        assert r"\x1b[2J\x1b]0;pwned\x07\u202eno\r" in text
    assert "wrong.\nA second line" in shown.err


def test_a_blank_in_the_path_of_python_is_refused_before_any_job(monkeypatch):
    monkeypatch.setattr("sys.executable", "/home/First Last/.venv/bin/python")
    with pytest.raises(InputError, match="the path of Python has a blank"):
        prepare_terminal()


@pytest.mark.parametrize("error", [FULL, DENIED])
def test_a_job_ends_with_the_remedy_and_no_traceback(tmp_path, capsys, error):
    with pytest.raises(SystemExit), job_log(tmp_path / "log"):
        raise error
    said = (tmp_path / "log").read_text()
    assert remedy(error)
    assert said.rstrip().endswith(remedy(error))
    assert "Traceback" not in said


GPU = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79 "
    "GiB of which 1 GiB is free. Process 7 has 70.00 GiB memory in use.\nOf the "
    "allocated memory 76 GiB is allocated by PyTorch, and 1 GiB is reserved by PyTorch "
    "but unallocated. If reserved but unallocated memory is large try setting x. See "
    "documentation"
)


@pytest.mark.parametrize(
    ("error", "begins"),
    [
        (
            RuntimeError(GPU),
            f"error: {GPU.partition(chr(10))[0]} Memory of the GPU ran out: ",
        ),
        (
            RuntimeError("CUDA error: out of memory\nCompile with `X`"),
            "error: CUDA error: out of memory. M",
        ),
        (
            RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `a`"),
            "error: CUDA error: CUBLAS",
        ),
    ],
)
def test_memory_of_a_gpu_that_ran_out_anywhere_is_one_line_with_the_remedy(
    tmp_path, error, begins
):
    with pytest.raises(SystemExit), job_log(tmp_path / "log"):
        raise error
    [said] = (tmp_path / "log").read_text().splitlines()
    assert begins in said
    assert said.endswith(remedy(error))
    says = r"cannot load x: RuntimeError: CUDA .*nvidia-smi"
    with (
        pytest.raises(InputError, match=says) as told,
        explain_failure("transformers cannot load x"),
    ):
        raise error
    assert "\n" not in str(told.value)


def test_other_errors_have_no_remedy_of_the_machines():
    assert remedy(ValueError("a")) == ""
    assert (
        remedy(FileNotFoundError(errno.ENOENT, "No such file"), "Look again.")
        == "Look again."
    )


def test_a_file_of_the_web_is_not_asked_for_again_where_the_disk_is_full(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "pretrace.runtime.http._copy", lambda *_, **__: (_ for _ in ()).throw(FULL)
    )
    with Hub() as server:
        server.pages["/a.txt"] = b"text"
        with pytest.raises(
            InputError, match=r"a\.txt.*No space left.*Make room on that disk"
        ):
            Fetcher(3, 0.0, lambda seconds: None).save(
                f"{server.url}/a.txt", tmp_path / "a.txt"
            )
        assert len(server.asked) == 1


SECRET = "http://user:PASS@WORD123@127.0.0.1:9"
SHOWN = "http://127.0.0.1:9/a@b"


def test_no_message_has_the_password_of_an_address(tmp_path, capsys):
    def shown(do):
        with pytest.raises(SystemExit), job_log(tmp_path / "logs" / "a.log"):
            do()
        return (tmp_path / "logs" / "a.log").read_text() + capsys.readouterr().err

    def refusing():
        log.warning("asking %s/a@b again", SECRET)
        raise InputError(f"{SECRET}/a@b is not reached")

    def failing():
        raise RuntimeError(f"{SECRET}/a@b")

    def long():
        raise InputError(f"{SECRET}/a@b/{'x' * 400}")

    for do in (refusing, failing, long):
        text = shown(do)
        assert SHOWN in text
        assert "PASS" not in text
        assert "WORD" not in text
    say(f"{SECRET}/a@b")
    print_answer([f"{SECRET}/a@b"])
    assert "PASS" not in capsys.readouterr().out
