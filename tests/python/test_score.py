"""Scorecards: rows, profiles, grades, output files, and the check of a lock file."""

from __future__ import annotations

import json
import runpy
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from conftest import REPO, Cli, printed_json
from sojourn.apps.lab import static
from sojourn.base.errors import InputError
from sojourn.io.flent.files import load_flent
from sojourn.studies.score import ROWS, chosen, studies
from sojourn.studies.score.grades import BANDS, overall, worst
from sojourn.studies.score.numbers import NUMBERS
from sojourn.studies.score.plan import ScoreSettings, plan
from sojourn.studies.score.profiles import PROFILES, size_in_packets
from sojourn.studies.score.versions import LackingError, absolute, marking, queued
from sojourn.studies.study import Study, read_document
from test_report import Page

WITH_STUDY = [name for name, row in ROWS.items() if not row.facts]


def wanted(*aqms: str, profile: str = "home-20M", quick: bool = True) -> ScoreSettings:
    return ScoreSettings((*aqms, "droptail"), "droptail", PROFILES[profile], quick)


def test_each_row_is_a_file_and_a_line() -> None:
    with studies() as folder:
        assert {path.stem for path in folder.glob("*.toml")} == {*WITH_STUDY, "setup"}
    assert (REPO / "scenarios" / "score" / "setup.toml").is_file()


@pytest.mark.parametrize("name", WITH_STUDY)
def test_a_row_is_a_study_as_it_stands(name: str, validator: Any) -> None:
    study = Study.load(REPO / "scenarios" / "score" / f"{name}.toml")
    assert "link.aqm" in study.swept
    document = read_document(REPO / "scenarios" / "score" / f"{name}.toml")
    document.pop("sweep")
    validator.validate(document)


@pytest.mark.parametrize("name", WITH_STUDY)
@pytest.mark.parametrize("profile", PROFILES)
def test_a_row_can_be_planned_on_every_profile(name: str, profile: str) -> None:
    for quick in (False, True):
        found = plan(name, wanted("codel", "pie", profile=profile, quick=quick))
        assert (found.study is None) == bool(found.why_not), found.why_not
        assert all(number in NUMBERS for number in found.row.numbers)
        assert set(found.row.must) <= set(found.row.numbers)


def test_loads_follow_the_size_of_the_link() -> None:
    """RFC 7928, 8.2: number of flows from BDP and buffer; on ns-3's link 62 packets, hence 2, 5 and 7 flows."""
    counts: dict[str, list[int]] = {}
    for profile in PROFILES:
        for row in ("load-mild", "load-medium", "load-heavy"):
            found = plan(row, wanted("codel", profile=profile))
            size = size_in_packets(dict(found.document))
            counts.setdefault(profile, []).append(found.document["flows"][0]["count"])
            share = {"load-mild": 0.036, "load-medium": 0.081, "load-heavy": 0.114}[row]
            assert abs(counts[profile][-1] - share * size) < max(0.7, 0.002 * share * size)
    assert counts["rfc7928-1M"] == [2, 5, 7]


def test_a_profile_is_the_link_that_it_says() -> None:
    document = plan("flood", wanted("codel", profile="rfc7928-1M")).document
    assert (document["link"]["rate"], document["link"]["limit"], document["link"]["mtu"]) == (
        "1000000 bit/s",
        "45 packets",
        "750 B",
    )
    assert document["flows"][0]["rate"] == "1200000 bit/s" and document["flows"][0]["size"] == "750 B"
    fast = plan("rtt", wanted("codel", profile="home-100M")).document
    assert fast["link"]["limit"] == "4165 packets"


def test_quick_reports_what_it_shortens() -> None:
    found = plan("rtt", wanted("codel"))
    assert found.shortened == ["200 s instead of 600 s", "5 of 15 values of flows.1.rtt"]
    assert plan("rtt", wanted("codel", quick=False)).shortened == []


@pytest.mark.parametrize(
    ("band", "value", "slowness", "letter"),
    [
        ("delay", 15.0, 1.0, "A"),
        ("delay", 15.1, 1.0, "B"),
        ("delay", 121.0, 1.0, "F"),
        ("delay", 29.0, 2.0, "A"),
        ("utilisation", 0.98, 1.0, "A"),
        ("utilisation", 0.979, 2.0, "B"),
        ("utilisation", 0.1, 1.0, "F"),
        ("rtt", 1.0, 1.0, "A"),
        ("page", 5.1, 1.0, "F"),
    ],
)
def test_bands(band: str, value: float, slowness: float, letter: str) -> None:
    assert BANDS[band].grade(value, slowness) == letter


def test_grades_of_several_rows() -> None:
    assert worst(["A", "C", "B"]) == "C" and worst([]) is None
    assert [overall(list(text)) for text in ("AAAB", "AB", "AAF", "FFF")] == ["A", "B", "B", "F"]
    assert overall([]) is None


def test_slow_links_have_wider_bands() -> None:
    assert PROFILES["rfc7928-1M"].slowness() == pytest.approx(2.0)
    assert PROFILES["home-20M"].slowness() == 1.0


def test_versions_of_queue_managers() -> None:
    assert marking("codel") == ["codel ecn"] and marking("fq_codel") == ["fq_codel"] and marking("cake") == ["cake"]
    assert marking("fq(codel)") == ["fq(codel ecn)"]
    assert queued("codel target 7ms") == ["fq(codel target 7ms)"]
    for aqm, make in (("droptail", marking), ("fq_codel", queued)):
        with pytest.raises(LackingError):
            make(aqm)


def test_rows_by_section() -> None:
    assert chosen("5.2") == ["aggressive"] and chosen("load-mild, 6") == ["rtt", "load-mild"]
    assert set(chosen("8")) >= {"load-mild", "load-medium", "load-heavy"}
    with pytest.raises(InputError, match="row or section"):
        chosen("9.9")


def test_matrices_are_run_on_request(cli: Cli, tmp_path: Path) -> None:
    assert "fairness" not in chosen(None) and chosen(None, matrices=True) == list(ROWS)
    assert chosen("5.2", matrices=True) == ["aggressive", "fairness"] and chosen("matrices") == ["fairness"]
    found = plan("fairness", wanted("codel", profile="rfc7928-1M", quick=False))
    assert found.study is not None and len(found.study.points) == 2 * 648 and len(found.study.seeds) == 1
    quick = plan("fairness", wanted("codel")).document
    assert (quick["duration"], quick["warmup"]) == ("59 s", "39.3333 s") and quick["link"]["rate"] == "50 Mbit/s"
    document = score(cli, "droptail", "--only", "fairness", "--quick", "-o", "out")
    [row] = document["rows"]
    points = row["columns"]["droptail"]["points"]
    assert len(points) == len({point["point"] for point in points}) == 2 * 2 * 3 * 2
    for point in points:
        share = point["ratio"] / (1 + point["ratio"])
        assert point["jain"] == pytest.approx(1 / (2 * (share**2 + (1 - share) ** 2)))
    drawn = (tmp_path / "out" / "figures" / "fairness-droptail.svg").read_text()
    assert drawn.count('<g id="axes_') == 3 * 2 + 1  # the last one is the colour bar
    assert "droptail: goodput ratio of the first sender" in (tmp_path / "out" / "scorecard.html").read_text()


def score(cli: Cli, *arguments: str) -> dict[str, Any]:
    done = cli("score", *arguments, "--json", "--jobs", "1")
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return {"code": done.exit_code} | json.loads(done.stdout)


def test_a_scorecard(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document matches its schema, files exist, repeating the command computes nothing, and the lock matches."""
    jsonschema = pytest.importorskip("jsonschema")
    monkeypatch.setattr(static, "is_built", lambda: False)
    found = score(cli, "codel,pie", "--only", "flood", "--quick", "-o", "out")
    assert found["code"] == 0 and found["aqms"] == ["codel", "pie", "droptail"]
    [row] = found["rows"]
    assert row["columns"]["pie"]["grade"] == "B" and row["columns"]["droptail"]["grade"] == "D"
    difference = row["columns"]["pie"]["numbers"]["delay_p99"]["difference"]
    assert difference["value"] < -50 and difference["significant"] and not difference["same"]
    schema = json.loads(cli("score", "--schema").stdout)
    written = json.loads((tmp_path / "out" / "scorecard.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(written, schema)
    assert {path.name for path in (tmp_path / "out").glob("badge-*.svg")} == {
        "badge-codel.svg",
        "badge-pie.svg",
        "badge-droptail.svg",
    }
    html = (tmp_path / "out" / "scorecard.html").read_text()
    assert "<script" not in html and "http://" not in html.replace("http://www.w3.org/2000/svg", "")
    runs = {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()}
    before = (tmp_path / "out" / "score.lock").read_bytes()
    assert score(cli, "codel,pie", "--only", "flood", "--quick", "-o", "out")["rows"] == found["rows"]
    assert {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()} == runs
    assert (tmp_path / "out" / "score.lock").read_bytes() == before


def test_the_page_holds_every_row_and_needs_nothing_else(cli: Cli, tmp_path: Path) -> None:
    rows = ("load-mild", "rate-slow", "ecn", "cost")
    found = score(cli, "codel", "--only", ",".join(rows), "--quick", "-o", "out")
    jsonschema = pytest.importorskip("jsonschema")
    written = json.loads((tmp_path / "out" / "scorecard.json").read_text())
    jsonschema.validate(written, json.loads(cli("score", "--schema").stdout))
    text = (tmp_path / "out" / "scorecard.html").read_text(encoding="utf-8")
    page = Page(text)
    assert set(rows) <= set(page.ids) and len(page.ids) == len(set(page.ids))
    pictures = page.of("img")
    assert len(pictures) == 2 and all(one["alt"] and one["src"].startswith("data:image/svg") for one in pictures)
    recorded = load_flent(tmp_path / "out" / "flent" / "load-mild-codel.flent.gz")
    assert (recorded.name, recorded.metadata["BATCH_NAME"]) == ("tcp_ndown", "load-mild")
    rate = recorded.samples("TCP download sum")[1].mean()
    assert rate == pytest.approx(20 * 0.96, rel=0.05) and recorded.metadata["TITLE"] == "codel"
    for link in page.of("a"):
        href = link["href"]
        assert href[1:] in page.ids if href.startswith("#") else (tmp_path / "out" / href).is_file()
    assert "does not mark" in page.words and "33 s instead of 100 s" not in page.words
    assert "100 s instead of 300 s" in page.words and "Unchecked" in page.words
    for row in found["rows"]:
        for column in row["columns"].values():
            for name, number in column["numbers"].items():
                assert number["value"] is None or NUMBERS[name].metric.show(
                    number["value"], number["ci95"]
                ) in unescape(text)


def test_the_written_study_gives_the_runs_of_the_scorecard(cli: Cli, tmp_path: Path) -> None:
    score(cli, "codel", "--only", "flood", "--quick", "-o", "out")
    swept = printed_json(cli("sweep", "out/studies/flood.toml", "-o", "out", "--json"))
    assert swept["computed"] == 0


def test_a_lock_is_verified(cli: Cli, tmp_path: Path) -> None:
    score(cli, "codel", "--only", "flood", "--quick", "-o", "out")
    lock = tmp_path / "out" / "score.lock"
    done = cli("score", "--verify", lock, "--json")
    assert done.exit_code == 0 and len(json.loads(done.stdout)["runs"]) == 1
    text = lock.read_text()
    for key, other in (("fingerprint", "0000000000000000"), ("hash", "0" * 16)):
        document = json.loads(text)
        for run in document["rows"]["flood"]["runs"]:
            run[key] = other
        lock.write_text(json.dumps(document))
        done = cli("score", "--verify", lock)
        assert done.exit_code == 1 and "Different: flood" in done.stdout


def test_a_lock_that_lacks_something_is_refused_by_its_place(cli: Cli, tmp_path: Path) -> None:
    run = {"point": 0, "seed": 1, "hash": "0" * 16, "fingerprint": "0" * 16}
    whole = {
        "format": 1,
        "sojourn": "0",
        "engine": "simulate",
        "identity": "simulate",
        "profile": "home-20M",
        "quick": True,
        "aqms": ["codel"],
        "baseline": "codel",
        "rows": {"flood": {"study_sha256": "0" * 64, "runs": [run]}},
    }
    odd: dict[str, dict[str, Any]] = {
        "rows.flood.runs[0].seed": {"rows": {"flood": {"study_sha256": "0", "runs": [{**run, "seed": None}]}}},
        "rows.flood.runs[0].point": {"rows": {"flood": {"study_sha256": "0", "runs": [{**run, "point": -1}]}}},
        "rows.flood.runs": {"rows": {"flood": {"study_sha256": "0"}}},
        "rows.flood": {"rows": {"flood": []}},
        "quick": {"quick": "yes"},
        "aqms[0]": {"aqms": [7]},
        "profile": {"profile": None},
    }
    for place, change in odd.items():
        (tmp_path / "odd.lock").write_text(json.dumps({**whole, **change}))
        done = cli("score", "--verify", tmp_path / "odd.lock")
        assert done.exit_code == 2
        assert f"odd.lock: {place} is missing or invalid" in done.output
        assert done.output.count("\n") == 1


def test_a_lock_names_another_tenth_for_another_seed() -> None:
    from sojourn.studies.score.lock import chosen_runs

    lock = {"rows": {"flood": {"runs": [{"point": point, "seed": 1} for point in range(95)]}}}
    first, second = (chosen_runs(lock, seed) for seed in (1, 2))
    assert len(first) == len(second) == 10 and first != second and first == chosen_runs(lock, 1)


def test_a_class_of_a_user_is_a_column(cli: Cli) -> None:
    """The same algorithm in Python gives the same runs, hence no difference."""
    mine = f"{REPO}/examples/python-aqm/my_codel.py:MyCodel"
    found = score(cli, mine, "--baseline", "codel", "--only", "flood", "--seeds", "1", "-o", "out")
    column = next(column for name, column in found["rows"][0]["columns"].items() if name != "codel")
    assert column["numbers"]["delay_p99"]["difference"]["same"]
    refused = cli("score", mine, "--only", "flood", "--no-code", "-o", "out")
    assert refused.exit_code == 2 and "--no-code" in refused.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give queue managers"),
        (("codle",), "codel"),
        (("codel", "--profile", "home"), "home-20M"),
        (("codel", "--only", "flod"), "flood"),
        (("codel", "--quick", "--seeds", "2"), "--quick"),
        (("codel", "--verify", "x"), "--verify"),
        (("--verify", "nothing.lock"), "nothing.lock"),
    ],
)
def test_errors_are_one_line(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    done = cli("score", *arguments)
    assert done.exit_code == 2 and message in done.output


def test_names_of_files_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO / "examples" / "python-aqm")
    assert absolute("my_codel.py:MyCodel") == f"{REPO}/examples/python-aqm/my_codel.py:MyCodel"


def test_the_tables_of_the_page_match_the_registry() -> None:
    page = (REPO / "docs" / "score.md").read_text(encoding="utf-8")
    assert runpy.run_path(str(REPO / "docs" / "score.py"))["text"](page) == page, "run: python docs/score.py"


@pytest.mark.parametrize(("row", "promised"), [("load-mild", 0.001), ("load-medium", 0.005), ("load-heavy", 0.01)])
def test_tail_drop_loses_as_the_formula_predicts(row: str, promised: float) -> None:
    """0.76 N²/S² (Morris), within a factor of two, for senders that grow per ACK, as the formula assumes."""
    study = plan(row, wanted("codel")).study
    assert study is not None
    tail = [point for point in study.points if point.values["link.aqm"] == "droptail"]
    found = replace(study, points=tail, seeds=[1]).replace({"flows.0.stack": "linux-3.13"}).run(jobs=1)
    assert promised / 2 < found.runs["drop_rate"][0] < 2 * promised


def test_delays_have_the_order_of_the_ns3_suite() -> None:
    """With an aggressive sender: CoDel < PIE < ARED < RED < tail drop; RED with 5 and 15 packets, as in ns-3."""
    order = ["codel", "pie", "ared", "red min 3750B max 11250B avpkt 750B", "droptail"]
    study = plan("aggressive", wanted(*order[:-1], profile="rfc7928-1M", quick=False)).study
    assert study is not None
    runs = replace(study, seeds=[1, 2, 3]).run(jobs=1).table
    delays = dict(zip(runs["link.aqm"], runs["sojourn_mean_ms"], strict=True))
    assert sorted(delays, key=delays.__getitem__) == order


def test_the_same_queue_manager_twice_shows_no_difference() -> None:
    """With other seeds one in twenty of the graded numbers differs significantly, as expected by chance."""
    from sojourn.model.analysis.stats import paired_difference

    p_values = []
    for row in ("load-mild", "load-medium", "load-heavy"):
        study = plan(row, wanted("codel", "pie", "fq_codel")).study
        assert study is not None
        runs = replace(study, seeds=list(range(1, 13))).replace({"duration": "30 s"}).run(jobs=2).runs
        for (_,), of_aqm in runs.group_by(["link.aqm"], maintain_order=True):
            for number in ("sojourn_mean_ms", "utilisation", "drop_rate"):
                values = of_aqm.sort("seed")[number].to_list()
                p_values.append(paired_difference(values[:6], values[6:]).significant)
    assert sum(p_values) <= binom.ppf(0.99, len(p_values), 0.05)


@pytest.mark.parametrize(
    ("before", "after", "graded"),
    [
        ("+= self.step()", "= int((self.drop_next + self.interval) / math.sqrt(self.count))", True),
        ("math.sqrt(self.count)", "self.count", True),
        ("delta if delta > 1 and recent else 1", "1", False),
    ],
    ids=["time inside the root", "no root", "forgets its count"],
)
def test_an_error_in_codel_is_seen(cli: Cli, tmp_path: Path, before: str, after: str, graded: bool) -> None:
    """Bugs of the museum: another grade under heavy congestion, or at least a significant difference."""
    source = (REPO / "examples" / "python-aqm" / "my_codel.py").read_text(encoding="utf-8")
    assert source.count(before) == 1
    (tmp_path / "wrong.py").write_text(source.replace(before, after))
    found = score(cli, "wrong.py:MyCodel", "--baseline", "codel", "--only", "load-heavy", "--quick", "-o", "out")
    wrong, right = (found["rows"][0]["columns"][name] for name in found["aqms"])
    assert (wrong["numbers"]["delay_p99"]["grade"] != right["numbers"]["delay_p99"]["grade"]) == graded
    assert wrong["numbers"]["delay_mean"]["difference"]["significant"]
