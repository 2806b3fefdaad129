"""The site is built from the documents, without broken links and without requests to other hosts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

import figures
import sojourn
from documents import FIGURE, ROOT, Section, sections_of
from outside import site_name, with_links
from reports import NOT_MADE, report_files, report_page
from sojourn.apps.cli import COMMANDS
from sojourn.engines.emulated.command import SHELLS
from sojourn.figures import KINDS
from sojourn.papers import PAPERS

pytest.importorskip("mkdocs", reason="needs MkDocs (the extra dev)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site in strict mode; test_documents.py runs the commands of its figures."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "SITE_FIGURES": "stored"}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


def test_every_document_has_a_page(site: Path) -> None:
    documents = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in ROOT.glob("docs/**/*.md")}
    pages = {path.relative_to(site) for path in site.glob("**/*.html")}
    assert {path.with_name("index.html") if path.stem == "README" else path for path in documents} <= pages
    assert Path("CONTRIBUTING.html") in pages and Path("scenarios/score/mix-II.toml.html") in pages


@cache
def file_at(folder: Path, link: str) -> Path | None:
    """File that a link in a page of a folder leads to, if there is one; most links are on every page."""
    target = (folder / link).resolve()
    target = target / "index.html" if target.is_dir() else target
    return target if target.is_file() else None


def test_links_within_the_site_lead_to_a_page_and_a_place_on_it(site: Path) -> None:
    places: dict[Path, set[str]] = {}
    seen = 0
    for page in set(site.glob("**/*.html")) - {site / "404.html"}:  # served for any URL
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r'<a [^>]*href="([^"]*)"', text):
            path, _, anchor = unquote(link).partition("#")
            if re.match(r"\w+:", path):
                continue
            target = file_at(page.parent, path) if path else page
            assert target is not None, f"{page.relative_to(site)}: {link}"
            if anchor and target.suffix == ".html":
                if target not in places:
                    places[target] = set(re.findall(r'\bid="([^"]*)"', target.read_text(encoding="utf-8")))
                assert anchor in places[target], f"{page.relative_to(site)}: {link}"
            seen += 1
    assert seen > 5000


def test_every_command_and_public_name_is_in_the_reference(site: Path) -> None:
    listed = (site / "cli" / "index.html").read_text(encoding="utf-8")
    for name in (*COMMANDS, *SHELLS):
        assert f"sojourn {name}" in listed
        assert (site / "cli" / f"{name}.html").is_file()
    compare = (site / "cli" / "compare.html").read_text(encoding="utf-8")
    assert all(option in compare for option in ("--aqm", "--seeds", "--reverse-rate"))
    assert "sojourn pcap export" in (site / "cli" / "pcap.html").read_text(encoding="utf-8")
    assert "--netem" in (site / "cli" / "link.html").read_text(encoding="utf-8")
    api = (site / "api.html").read_text(encoding="utf-8")
    assert all(f'id="{name.lower()}"' in api for name in sojourn.__all__)


def test_the_site_queries_no_other_host(site: Path) -> None:
    for page in site.glob("**/*.html"):
        loaded = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(https?:[^"]*)"', page.read_text("utf-8"))
        assert not loaded, page.name


def test_the_search_finds_pages(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    text = {entry["location"]: entry["text"] for entry in index["docs"]}
    assert "first_above_time" in "".join(text.values())
    assert any(location.startswith("scenario.html#") for location in text)
    assert "6.1.192" not in "".join(found for location, found in text.items() if location.startswith("validation.html"))


def test_a_link_to_a_file_without_a_page_is_text() -> None:
    text = "[a](../crates/aqm/src/lib.rs) [b](figures.md#of-a-flow) [c](../scenarios/codel.toml) `[d](x.rs)` [e](no.md)"
    known = {"figures.md", "scenarios/codel.toml.md"}
    assert with_links("studies.md", text, known) == (
        '<span class="source" title="crates/aqm/src/lib.rs">a</span> [b](figures.md#of-a-flow) '
        "[c](scenarios/codel.toml.md) `[d](x.rs)` [e](no.md)"
    )
    assert with_links("CONTRIBUTING.md", "[a](docs/figures.md)", known) == "[a](figures.md)"
    assert with_links("aqm/codel.md", "[a](../figures.md)", known) == "[a](../figures.md)"


def test_a_folder_is_its_readme() -> None:
    assert site_name(ROOT / "docs" / "aqm") == "aqm/README.md"


def test_the_gallery_has_every_kind_of_figure() -> None:
    shown = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    drawn = set(re.findall(r"sojourn plot (\w+) ", shown)) | {"comparison"}  # drawn by `compare`
    assert drawn == set(KINDS)
    paths = re.findall(r"-o (\S+\.png)|--plot (\S+)", shown)
    assert {path or plot for path, plot in paths} == {found["path"] for found in FIGURE.finditer(shown)}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty store of figures."""
    monkeypatch.setattr(figures, "STORE", tmp_path / "store")
    return tmp_path / "store"


def a_section(command: str) -> Section:
    text = f"# One\n```console\n$ {command}\n```\n<!-- ![a square](out/a.png) -->\n"
    return list(sections_of("page.md", text))[-1]


def test_commands_of_a_figure_are_run_once_and_again_when_they_change(store: Path) -> None:
    section = a_section("mkdir out; date +%N > out/a.png")
    assert figures.drawn(section, stored_only=True) == {} and not store.exists()
    first = figures.drawn(section)["out/a.png"]
    content = first.read_bytes()
    assert figures.drawn(section)["out/a.png"] == first and first.read_bytes() == content
    other = figures.drawn(a_section("mkdir out; date +%N%N > out/a.png"))["out/a.png"]
    assert other != first and other.read_bytes() != content
    figures.forget({figures.key(section)})
    assert first.exists() and not other.exists()


def test_figures_depend_on_the_files_that_their_commands_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "way.down").write_text("1\n2\n")
    (tmp_path / "a" / "it.toml").write_text('link.trace = "way.down"\nlink.other = "none.down"\n')
    named = figures.named_files("sojourn run a/it.toml --set x=1.5 -o out/b.png", tmp_path)
    assert named == {tmp_path / "a" / "it.toml", tmp_path / "a" / "way.down"}


@pytest.mark.parametrize(
    ("command", "message"),
    [("false", "page.md: One: false\nended with 1"), ("mkdir out", "page.md: One: no command has drawn out/a.png")],
)
def test_a_figure_that_is_not_drawn_is_an_error(command: str, message: str, store: Path) -> None:
    with pytest.raises(ValueError, match=message):
        figures.drawn(a_section(command))
    assert not list(store.iterdir())


def test_reports_that_were_made_are_in_the_site_and_listed(tmp_path: Path) -> None:
    own = tmp_path / "nichols2012"
    own.mkdir()
    for name, text in {
        "index.html": "<p>report</p>",
        "fig7.svg": "<svg/>",
        "runs.parquet": "",
        "fig7.claims.json": json.dumps([{"id": "a", "verdict": "tight"}, {"id": "b", "verdict": "failed"}]),
    }.items():
        (own / name).write_text(text)
    names = [name for name, _ in report_files(tmp_path)]
    assert names == ["papers/nichols2012/fig7.svg", "papers/nichols2012/index.html"]
    page = report_page(tmp_path)
    assert "[nichols2012](nichols2012/index.html) | 1 tight, 1 failed |" in page
    assert page.count(NOT_MADE) == len(PAPERS) - 1


def test_the_papers_have_a_page(site: Path) -> None:
    page = (site / "papers" / "index.html").read_text(encoding="utf-8")
    assert all(name in page for name in PAPERS)
