"""No message advises to delete anything: it may be the user's only copy."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Cli

ROOT = Path(__file__).parents[2]
WORDS = re.compile(r"\b(delete|remove|erase|wipe|unlink|discard|throw away|rm -\w+|rm \S+/)\b", re.IGNORECASE)
OTHERS = {
    ("io/tc/lines.py", "delete"),  # a tc verb
    ("apps/lab/embedded.py", "remove"),  # JavaScript
    ("apps/lab/widget.py", "remove"),
    ("engines/ns2/web.py", "delete"),  # Tcl
}


def texts_of_python(path: Path) -> Iterator[str]:
    """Strings of a module except docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    docs |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def texts_of_rust(path: Path) -> Iterator[str]:
    """Strings of a file outside comments and tests."""
    source = path.read_text(encoding="utf-8").split("\n#[cfg(test)]\nmod tests")[0]
    for line in source.splitlines():
        if not line.lstrip().startswith(("//", "#[")):
            yield from re.findall(r'"(?:[^"\\]|\\.)*"', line)


def test_no_text_of_ours_advises_to_delete() -> None:
    found: list[tuple[str, str]] = []
    for path in sorted((ROOT / "python" / "sojourn").rglob("*.py")):
        name = str(path.relative_to(ROOT / "python" / "sojourn"))
        for text in texts_of_python(path):
            if (word := WORDS.search(text)) and (name, word[0]) not in OTHERS:
                found.append((name, text))
    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        if "tests" not in path.parts and path.name != "tests.rs":
            found += [(str(path.relative_to(ROOT)), text) for text in texts_of_rust(path) if WORDS.search(text)]
    assert not found


@pytest.mark.parametrize("words", ["plot cdf", "qoo", "pcap export --side in -o out", "flent export -o out"])
@pytest.mark.parametrize("place", ["/etc", "/tmp", ".", "thesis"])
def test_a_folder_without_a_result_is_distinguished_from_a_damaged_one(cli: Cli, place: str, words: str) -> None:
    Path("thesis").mkdir()
    Path("thesis", "chapter.tex").write_text("all of it")
    result = cli(*words.split(), place)
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1
    assert f"{place}: not a result, it has no manifest.json; give a folder that `sojourn run` wrote" in result.stderr
    assert not re.search("damage|delete|remove|again", result.stderr)
    assert Path("thesis", "chapter.tex").read_text() == "all of it"
