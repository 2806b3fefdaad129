"""The report of a reproduction: one self-contained page with all claims that shows input as text."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import Cli
from sojourn import Scenario, papers
from sojourn.apps.lab import static
from sojourn.papers import Paper
from sojourn.papers.judge import all_claims, claims_of
from sojourn.papers.report import PAGE, folder_of, write_figure, write_page
from sojourn.papers.report.html import Html, el, table
from sojourn.papers.reproduction import Cost, Reproduction, reproduce
from sojourn.papers.vary import Variation

PAPER, FIGURE = "schwarzkopf2016", "fig2"
EVIL = "<script>alert('1')</script> & \"quoted\""
VOID = {"meta", "img"}


class Page(HTMLParser):
    """Elements and text of a page; rejects tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


@pytest.fixture(autouse=True, scope="module")
def without_the_lab() -> Iterator[None]:
    """Pages without a built lab."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(static, "is_built", lambda: False)
        yield


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return reproduce(PAPER, FIGURE, seeds=2, root=tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def text(done: Reproduction, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("page")
    write_figure(done, folder)
    path = write_page([done], folder, command=["sojourn", "reproduce", EVIL])
    assert path.name == PAGE
    return path.read_text(encoding="utf-8")


def test_every_claim_is_shown_with_its_numbers(done: Reproduction, text: str) -> None:
    page = Page(text)
    claims = claims_of(PAPER, FIGURE)
    assert {claim["id"] for claim in claims} <= set(page.ids)
    assert len(claims) == 8
    for verdict in done.verdicts:
        assert verdict["id"] in page.words
        row = re.search(f'<tr role="row" id="{verdict["id"]}">.*?</tr>', text)
        assert row
        assert f">{verdict['verdict']}</span>" in row[0]
        assert f">{verdict['n']}<" in row[0]
        if verdict["kind"] != "relation":
            assert f"{verdict['expected']:g}" in row[0]
            shown = re.search(r'data-label="measured[^"]*">([-\d.e]+)', row[0])
            assert shown
            assert float(shown[1]) == pytest.approx(verdict["measured"], rel=0.05)


def test_it_needs_nothing_else(text: str) -> None:
    page = Page(text)
    for tag, attributes in page.elements:
        assert tag not in {"script", "link", "iframe", "object", "base"}
        assert not [key for key in attributes if key.startswith("on")]
        for key in ("src", "href", "srcset", "action"):
            assert attributes.get(key, "#").startswith(("#", "data:image/")), attributes[key]
    assert "url(" not in text
    assert "@import" not in text
    assert "http" not in re.sub(r'src="data:[^"]*"', "", text)


def test_it_can_be_found_one_s_way_in(text: str) -> None:
    page = Page(text)
    assert [name for name, count in Counter(page.ids).items() if count > 1] == []
    assert {link["href"][1:] for link in page.of("a")} <= set(page.ids)
    assert all(picture["alt"] for picture in page.of("img"))
    assert page.of("html") == [{"lang": "en"}]
    headings = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(headings))
    assert len(page.of("table")) == len(page.of("caption"))


def test_the_report_lists_the_runs(done: Reproduction, text: str) -> None:
    words = Page(text).words
    assert all(run.fingerprint in words for run in done.study.results)
    assert 'overhead = "7 B"' in words  # from setup.toml, which the figure's study extends
    assert '"flows.0.count" = [16]' in words
    for setting in done.paper.about.SETUP:
        assert setting.item in words
    for place, reference in enumerate(done.paper.about.REFERENCES, 1):
        assert f"[{place}] {reference}" in words
    packets = sum(int(run.summary["packets"][0]) for run in done.study.results)
    assert done.spent.packets == packets > 0
    assert f"{packets:,} through the bottleneck" in words
    assert "packets per CPU second" in words


def test_input_is_text(text: str) -> None:
    assert "<script>" not in text
    assert "alert('" in Page(text).words.replace("'\"'\"'", "'")


def test_claims_and_assumptions_are_shown_as_text(done: Reproduction, tmp_path: Path) -> None:
    verdicts = [{**verdict, "id": f"{EVIL}-{verdict['id']}", "metric": EVIL, "unit": EVIL} for verdict in done.verdicts]
    changed = [{**verdict, "verdict": EVIL} for verdict in verdicts]
    made = Reproduction(done.paper, FIGURE, done.study, done.measured, verdicts, {"sack": EVIL})
    write_figure(done, tmp_path)
    text = write_page([made], tmp_path, varied=[Variation("sack", EVIL, changed, Cost())]).read_text(encoding="utf-8")
    assert "<script>" not in text
    assert EVIL in Page(text).words
    assert f"sack={EVIL}" in Page(text).words


def test_an_element_escapes_text() -> None:
    assert el("p", "a < b & c", el("b", "x")) == "<p>a &lt; b &amp; c<b>x</b></p>"
    assert el("a", "x", href='"><p>') == '<a href="&quot;&gt;&lt;p&gt;">x</a>'
    assert el("p", Html("<i>")) == "<p><i></p>"
    assert "<td>" not in table(["<td>", "b"], [["<td>", "<td>"]], caption="<td>")


def test_claims_of_figures_to_come_are_shown(
    done: Reproduction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(done.paper.about, "FIGURES", {FIGURE: done.paper.figures[FIGURE]})
    write_figure(done, tmp_path)
    page = Page(write_page([done], tmp_path).read_text(encoding="utf-8"))
    assert {claim["id"] for claim in all_claims() if claim["paper"] == PAPER} <= set(page.ids)


def test_other_assumptions_have_a_folder_of_their_own(tmp_path: Path) -> None:
    assert folder_of(tmp_path, PAPER, {}) == tmp_path / PAPER
    one = folder_of(tmp_path, PAPER, {"sack": False, "run_length": "../../50 s"})
    assert one.parent == tmp_path / PAPER
    assert one.name == "run_length-..-..-50-s+sack-false"


def test_without_a_paper_all_are_made(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first: Paper = papers.paper(PAPER)
    monkeypatch.setattr(first.about, "FIGURES", {FIGURE: first.figures[FIGURE]})
    monkeypatch.setattr(papers, "PAPERS", {PAPER: papers.PAPERS[PAPER]})
    result = cli("reproduce", "--quick", "-o", tmp_path)
    assert result.exit_code in (0, 1)
    assert "3 seeds" in result.output
    assert re.search(r"Packets: [1-9][\d,]+ through the bottleneck, [1-9][\d,]+ packets per CPU second", result.output)
    assert f"Report: {tmp_path / PAPER / PAGE}" in result.output
    again = cli("reproduce", "--quick", "-o", tmp_path)
    assert re.search(r"Packets: 0 through the bottleneck; [1-9][\d,]+ in runs found", again.output)


def test_with_the_lab_one_run_is_in_the_page_itself(
    done: Reproduction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static, "is_built", lambda: True)
    monkeypatch.setattr(static, "read", lambda name: f"</script>{name}".encode())
    write_figure(done, tmp_path)
    text = write_page([done], tmp_path).read_text(encoding="utf-8")
    page = Page(text)
    assert [attributes for tag, attributes in page.elements if tag == "script"] == [{"type": "module"}]
    assert text.count("</script") == 1, "nothing in it ends it"
    assert "lab" in page.ids and "Run it here" in page.words
    script = text.partition('<script type="module">')[2].partition("</script>")[0]
    assert "http" not in re.sub(r"[A-Za-z0-9+/=]{40,}", "", script), "it loads nothing"
    start = re.search(r"Object\.entries\((.*)\)\) \{", script)
    assert start
    reported = json.loads(start[1])["lab"]
    first = done.study.results[0]
    assert Scenario.parse(reported["text"]).run(reported["seed"]).fingerprint == first.fingerprint
