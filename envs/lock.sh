#!/bin/sh
# Remake envs/requirements.txt, the one lock, from pyproject.toml: resolve in a fresh environment, write exact pins. Of
# these, envs/pretrace.yaml has those that jobs need. envs/clusters.txt has what the extra `cluster` adds to them,
# envs/browser.txt what the group `browser` adds.
# Run by hand when a dependency changes: sh envs/lock.sh
# It keeps the pins that are there. To raise all of them: sh envs/lock.sh --upgrade
set -eu
cd "$(dirname "$0")/.."
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
python3 -m venv "$fresh"
"$fresh/bin/pip" install --quiet --upgrade "pip>=25.1"
"$fresh/bin/python" - > "$fresh/wanted.txt" <<'PYTHON'
import pathlib, sys, tomllib
project = tomllib.loads(pathlib.Path("pyproject.toml").read_text())
extras = project["project"]["optional-dependencies"]
needed = project["project"]["dependencies"] + project["dependency-groups"]["test"]
needed += [requirement for extra in ("hf", "adapters", "workflow", "documents") for requirement in extras[extra]]
# the lock's torch; pyproject.toml has the lowest version that works
print("\n".join([*needed, "torch==2.13.0"]))
apart = {"clusters": extras["cluster"], "browser": project["dependency-groups"]["browser"]}
for name, requirements in apart.items():
    pathlib.Path(sys.prefix, f"{name}.txt").write_text("\n".join(requirements))
PYTHON
cat envs/requirements.txt envs/clusters.txt envs/browser.txt > "$fresh/kept.txt"
if [ "${1:-}" = --upgrade ]; then
    : > "$fresh/kept.txt"
fi
"$fresh/bin/pip" install --quiet --requirement "$fresh/wanted.txt" --constraint "$fresh/kept.txt"
{
    echo "# Exact pins of everything the workflow and its tests use; made by envs/lock.sh from pyproject.toml."
    # the local build suffix of torch differs between machines, and what torch itself brings for a GPU follows its pin
    # there are wheels of xllamacpp for Linux alone
    "$fresh/bin/pip" freeze | sed "s/^\(torch==[0-9.]*\)+.*/\1/; s/^\(xllamacpp==.*\)/\1; sys_platform == 'linux'/" | grep -v '^nvidia-\|^triton==\|^cuda-'
} > envs/requirements.txt
for apart in clusters browser; do
    "$fresh/bin/pip" freeze > "$fresh/before.txt"
    "$fresh/bin/pip" install --quiet --requirement "$fresh/$apart.txt" --constraint "$fresh/before.txt" --constraint "$fresh/kept.txt"
    {
        echo "# What is apart from requirements.txt (envs/README.md); made by envs/lock.sh from pyproject.toml."
        "$fresh/bin/pip" freeze | grep --invert-match --line-regexp --fixed-strings --file "$fresh/before.txt"
    } > "envs/$apart.txt"
done
"$fresh/bin/python" envs/write_environment.py
