"""Manual pages: one per command, with all options, without warnings from roff; badges."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from badges import badges
from man import pages
from sojourn.apps.cli import COMMANDS, cli
from sojourn.engines.emulated.command import SHELLS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the pages."""
    made = tmp_path_factory.mktemp("man")
    for name, text in pages():
        (made / name).write_text(text, encoding="utf-8")
    return made


def plain(roff: str) -> str:
    return roff.replace("\\-", "-").replace("\\&", "").replace("\\fB", "").replace("\\fR", "")


def test_every_command_has_a_page_that_the_first_one_names(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    assert names == {"sojourn.1", *(f"sojourn-{name}.1" for name in (*COMMANDS, *SHELLS))}
    first = plain((folder / "sojourn.1").read_text(encoding="utf-8"))
    assert all(f".B sojourn-{name}(1)" in first for name in (*COMMANDS, *SHELLS))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_has_all_options(folder: Path, name: str) -> None:
    context = click.Context(cli, info_name="sojourn")
    command = cli.get_command(context, name)
    assert command is not None
    text = plain((folder / f"sojourn-{name}.1").read_text(encoding="utf-8"))
    commands = [command, *getattr(command, "commands", {}).values()]
    for one in commands:
        for param in one.params:
            if param.param_type_name == "option":
                assert re.search(rf"^\.B .*{re.escape(max(param.opts, key=len))}\b", text, re.MULTILINE), param.opts


@pytest.mark.parametrize("tool", ["groff", "mandoc"])
def test_roff_reads_them_without_a_warning(folder: Path, tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    words = (
        ["groff", "-K", "utf8", "-man", "-ww", "-z"] if tool == "groff" else ["mandoc", "-T", "lint", "-W", "warning"]
    )
    for path in folder.iterdir():
        done = subprocess.run([*words, str(path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and not done.stdout + done.stderr, (path.name, done.stdout, done.stderr)


def test_badges_match_the_project(tmp_path: Path) -> None:
    kept = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "badges").iterdir()}
    assert kept == badges(), "make pages writes them"
    front = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## ")[0]
    shown = dict(re.findall(r"!\[(.+?)\]\(docs/badges/(.+?)\)", front))
    assert set(shown.values()) == set(kept)
    for words, name in shown.items():
        title = re.search(r"<title>(.+)</title>", kept[name])
        assert title is not None and title[1].replace(":", "").lower() == words.lower()
    assert not re.search(r"!\[[^]]*\]\(https?:", front), "a badge that asks another host"
