"""Hook of MkDocs: every file keeps its path in the repository, so that links work on the site and on GitHub."""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

SHOWN = (
    "*.md",
    "docs/*.md",
    "config/**/*.md",
    "config/**/*.yaml",
    "envs/*.md",
    "results/*.md",
    "tests/bench/*.md",
    "workflow/report/*.png",
    "CITATION.cff",
)
REPORT = "results/embedded/report.html"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The files of the theme, the documents, and the report of the embedded study where it has been run."""
    root = Path(config.config_file_path).parent
    for file in [file for file in files if file.src_dir == config.docs_dir]:
        files.remove(file)
    for path in sorted(path for pattern in (*SHOWN, REPORT) for path in root.glob(pattern)):
        files.append(File.generated(config, path.relative_to(root).as_posix(), abs_src_path=str(path)))
    if (root / REPORT).exists():
        config.nav.append({"Report": REPORT})
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """GitHub wants `\\|` for a bar in the code of a table; Python-Markdown would show the backslash."""
    return re.sub(r"`[^`\n]+`", lambda code: code.group().replace("\\|", "|"), markdown)
