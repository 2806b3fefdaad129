"""Papers on the real kernel: substitutes of their queue managers, excluded parts, and judged claims.

If no kernel is built, the studies for it are simulated.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from conftest import REPO, Cli
from sojourn import InputError, Result, Scenario, Study, _core
from sojourn.engines.kernel.cache import Kernel
from sojourn.papers import khademi2013, paper, schwarzkopf2016
from sojourn.papers.engine import EngineMapping, LackingError, figures_on, on_engine
from sojourn.papers.judge import Measurements, Verdict, claims_of, judge, regardless_of
from sojourn.papers.khademi2013 import fig13 as khademi2013_fig13
from sojourn.papers.schwarzkopf2016 import table1

PAPER = "schwarzkopf2016"
WIRELESS = ["fig9", "fig10"]
STATE = ["fig4", "fig5", "fig6"]
"""Figures of schwarzkopf2016 that need the queue manager's state."""
NO_ACT = "Linux has no CoDel-ACT"
NOT_RUN = {
    "fig1": {"a", "f"},
    "fig2": {"c", "d", "e", "g"},
    "table1": {"rel1", "rel3", "rel5", "rel6"},
    "fig3": {"F3a-1", "F3a-3", "F3a-6", "F3b-4", "F3b-5", "F3b-7"},
    "timescales": {"TS-1", "TS-2", "TS-9", "TS-10"},
    "utilisation": {"ACT", "count-600", "count-6000", "count-60000", "nonmono"},
}
"""Suffixes of claim ids that need features no kernel has; in table1 also all cells of CoDel-ACT."""


def there(paper_id: str, figure: str) -> tuple[Study, EngineMapping]:
    """A figure's study for the kernel."""
    found = paper(paper_id)
    with found.study_file(figure) as path:
        return on_engine(found, Study.load(path, seeds=1), "kernel")


def canonical(link: str, flow: str = 'cc = "reno"') -> dict[str, object]:
    """A scenario with these lines in its tables link and flows."""
    flow = f'kind = "tcp"\nstack = "linux-2.6.29"\n{flow}'
    text = f'duration = "1 s"\n[link]\nrate = "10 Mbit/s"\n{link}\n[[flows]]\n{flow}'
    return Scenario.parse(text).document


def test_khademi2013_on_the_kernel() -> None:
    on_kernel = khademi2013.on_kernel
    given = "pie@cisco2013 target 5ms ecn mark_ecnth 1"
    assert on_kernel(given, {}) == {"link.aqm": "pie@linux target 5ms ecn tupdate 30ms"}
    with pytest.raises(LackingError, match="excludes CE-marked packets"):
        on_kernel("codel@linux-3.10 target 5ms ecn exclude_ce", {})
    _, left = there("khademi2013", "table5")
    assert {name.split()[-1] for name in left.left_out} == {"exclude_ce"}
    assert left.stands_for["ared@linux target 5ms"] == "ared@linux target 5ms"
    with_wireless = (*WIRELESS, "overall")
    refused = dict.fromkeys(with_wireless, "wlan: the engine kernel has no wireless LAN; simulate it")
    assert figures_on(paper("khademi2013"), "kernel") == (
        [name for name in khademi2013.FIGURES if name not in with_wireless],
        refused,
    )


def test_schwarzkopf2016_on_the_kernel() -> None:
    study, left = there("schwarzkopf2016", "table1")
    assert left.left_out == {"codel@act": NO_ACT}
    assert left.stands_for == {
        "codel@draft00": "codel@linux, link.limit = 165 packets, flows.0.cc = reno",
        "pie@draft00": "pie@linux target 16ms tupdate 15000us dq_rate_estimator, link.limit = 165 packets, "
        "flows.0.cc = reno",
    }
    assert len(study.points) == 16 and study.engine == "kernel"
    # Otherwise the scenario is the paper's, and points have the paper's names.
    with paper("schwarzkopf2016").study_file("table1") as path:
        given = {json.dumps(point.values): point.scenario for point in Study.load(path, seeds=1).points}
    for point in study.points:
        before = given[json.dumps(point.values)]
        same = {"link.aqm": before.aqm, "link.limit": before.document["link"]["limit"], "flows.0.cc": "newreno"}
        assert point.scenario.replace(same) == before
    possible, refused = figures_on(paper("schwarzkopf2016"), "kernel")
    assert possible == [name for name in schwarzkopf2016.FIGURES if name not in STATE]
    assert list(refused) == STATE
    assert all(why.startswith("probes.state: the engine kernel does not record the state") for why in refused.values())


@pytest.mark.parametrize(
    ("link", "limit"),
    [
        ('overhead = "7 B"\nlimit = "250 kB"', "165 packets"),
        ('overhead = "7 B"\nlimit = "250 KiB"', "169 packets"),
        ('overhead = "7 B"\nlimit = "250 kB"\naccount = "ip"', "166 packets"),
        ('limit = "90 packets"', None),
    ],
)
def test_a_limit_in_bytes_is_as_many_full_packets_as_fit(link: str, limit: str | None) -> None:
    sets = schwarzkopf2016.on_kernel("codel@draft00", canonical(link, 'cc = "cubic"'))
    assert sets == {"link.aqm": "codel@linux"} | ({"link.limit": limit} if limit else {})


def test_swept_parameters_exist_in_the_kernel() -> None:
    document = canonical('limit = "250 kB"')
    names = {
        "codel@draft00 interval 12.5ms": "codel@linux interval 12.5ms",
        "pie@draft00 target 2.5ms": "pie@linux target 2.5ms tupdate 15000us dq_rate_estimator",
        "pie@draft00 tupdate 2ms": "pie@linux target 16ms tupdate 1000us dq_rate_estimator",
    }
    for name, other in names.items():
        assert schwarzkopf2016.on_kernel(name, document)["link.aqm"] == other
    for name in ("codel@act interval 25ms", "codel@count-n n 600"):
        with pytest.raises(LackingError):
            schwarzkopf2016.on_kernel(name, document)


def test_unsupported_scenarios_are_refused() -> None:
    with pytest.raises(InputError, match="gao2015 cannot be made on it; schwarzkopf2016, khademi2013 can"):
        figures_on(paper("gao2015"), "kernel")
    with pytest.raises(InputError, match=r"probes.state: the engine kernel does not record the state"):
        there("schwarzkopf2016", "fig4")
    with pytest.raises(InputError, match="wlan: the engine kernel has no wireless LAN"):
        there("khademi2013", "fig9")
    found = paper("schwarzkopf2016")
    with found.study_file("table1") as path:
        study = Study.load(path, seeds=1)
        late = Study.load(path, seeds=1, sets={"flows.0.delayed_ack": False})
    with pytest.raises(InputError, match="the engine kernel always delays acknowledgments"):
        on_engine(found, late, "kernel")
    act = replace(study, points=[point for point in study.points if point.values["link.aqm"] == "codel@act"])
    with pytest.raises(InputError, match=f"no queue manager of table1 is left: {NO_ACT}"):
        on_engine(found, act, "kernel")


def judged(figure: str) -> tuple[list[Verdict], EngineMapping]:
    """Verdicts of a figure of schwarzkopf2016, drawn from short simulated runs."""
    study, left = there("schwarzkopf2016", figure)
    sets = {"duration": "12 s"} if figure != "utilisation" else {"duration": "492 s"}
    result = replace(study.replace(sets), engine="simulate").run()
    module = paper("schwarzkopf2016").figure(figure)
    verdicts = judge(claims_of("schwarzkopf2016", figure), module.measure(result), "kernel", left_out=left.left_out)
    assert module.draw(result, verdicts).axes
    return verdicts, left


@pytest.mark.parametrize("figure", NOT_RUN)
def test_a_claim_is_judged_if_its_runs_exist(figure: str) -> None:
    verdicts, left = judged(figure)
    not_run = {one["id"] for one in verdicts if one["verdict"] == "not-run"}
    cells = {name for name in not_run if figure == "table1" and "-CoDel-ACT-" in name}
    assert len(cells) == (16 if figure == "table1" else 0)
    others = not_run - cells
    ends = {end for end in NOT_RUN[figure] for name in others if name.endswith(f"-{end}")}
    assert ends == NOT_RUN[figure] and len(others) == len(ends)
    for one in verdicts:
        assert one.get("why") == ("; ".join(dict.fromkeys(left.left_out.values())) if one["id"] in not_run else None)
        assert (one["measured"] is None) == (one["id"] in not_run)


def test_a_relation_that_is_judged_without_codel_act_does_not_look_at_it(tmp_path: Path) -> None:
    """The relation has the same value with and without its rows, for measured and for shuffled cells."""
    seen = set()
    for figure in NOT_RUN:
        found = paper("schwarzkopf2016")
        with found.study_file(figure) as path:
            study = Study.load(path, seeds=1).replace({"duration": "12 s"})
        if figure == "utilisation":  # its only relation needs all rows
            continue
        measured = found.figure(figure).measure(study.run())
        for claim, relation in measured.relations.items():
            if "codel@act" not in getattr(relation, "regardless_of", ()):
                continue
            seen.add(claim)
            values = [name for name in measured.cells.columns if name not in ("aqm", "flows", "rtt_ms", "value_ms")]
            for seed in range(20):
                cells = measured.cells.with_columns(pl.col(values).shuffle(seed=seed) if seed else pl.col(values))
                assert relation(cells) == relation(cells.filter(pl.col("aqm") != "CoDel-ACT")), (claim, seed)
    assert len(seen) == 12


def test_relations_about_ecn_do_not_need_the_variants_without_ce() -> None:
    _, left = there("khademi2013", "fig13")
    [claim] = claims_of("khademi2013", "fig13")
    relation = khademi2013_fig13.RELATIONS[claim["id"]]
    cells = pl.DataFrame({"seed": [1]})

    def verdict(left_out: dict[str, str]) -> str:
        looking = regardless_of(*relation.regardless_of)(lambda _: True)  # type: ignore[attr-defined]
        return judge([claim], Measurements({}, cells, (), {claim["id"]: looking}), "kernel", left_out=left_out)[0][
            "verdict"
        ]

    assert len(left.left_out) == 3 and verdict(dict(left.left_out)) == "holds"
    assert verdict({**left.left_out, "pie@cisco2013 target 5ms": "none such"}) == "not-run"


def test_the_report_lists_excluded_parts(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command, with simulated runs instead of the kernel's."""

    def simulate(scenario: Scenario, seed: int, _progress: object = None) -> Result:
        return Result.of(scenario, seed, _core.simulate(scenario.canonical, seed, None))

    monkeypatch.setattr("sojourn.engines.kernel.engine.identity", lambda _scenario=None: "kernel-6.1.test")
    monkeypatch.setattr("sojourn.engines.kernel.engine.run", simulate)
    monkeypatch.setattr(schwarzkopf2016, "FIGURES", {k: schwarzkopf2016.FIGURES[k] for k in ("fig2", "fig4")})
    words = ["reproduce", "schwarzkopf2016", "--engine", "kernel", "--seeds", 1, "-o", tmp_path]
    done = cli(*words, "--claims")
    assert f"Left out: {NO_ACT}" in done.stdout
    assert (
        "fig4 is left out: probes.state: the engine kernel does not record the state of its queue disciplines"
    ) in done.stdout
    [folder] = (tmp_path / "schwarzkopf2016").glob("kernel*")
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "pie@linux target 16ms tupdate 15000us dq_rate_estimator" in page
    assert f"left out: {NO_ACT}" in page and "probes.state: the engine kernel" in page
    assert all(f'id="{claim["id"]}"' in page for figure in ("fig2", "fig4") for claim in claims_of(PAPER, figure))
    found = json.loads(cli(*words, "--json").stdout)
    assert list(found["left_out"][PAPER]) == ["fig4"]
    [figure] = found["figures"]
    assert figure["left_out"] == {"codel@act": NO_ACT}
    claims = {one["id"]: one for one in json.loads(cli(*words, "--claims", "--json").stdout)}
    assert claims["S0-F2-c"]["why"] == NO_ACT and claims["S0-F4-lin"]["why"].startswith("probes.state")
    assert claims["S0-F2-f"]["verdict"] != "not-run"


@pytest.mark.parametrize(("paper_id", "figure"), [("khademi2013", "table5"), ("schwarzkopf2016", "table1")])
def test_a_study_runs_on_the_kernel(kernel: Kernel, paper_id: str, figure: str) -> None:
    study, _ = there(paper_id, figure)
    short = replace(study, points=study.points[:1])
    short = short.replace({"duration": "3 s", "warmup": "0 s", "probes.utilisation": "1 s"})
    result = short.run().results[0]
    assert result.engine == kernel.identity and result.summary["packets"][0] > 1000


def test_the_table_in_the_documents_matches_table1() -> None:
    """The published column has the claims' values, and the simulated ones are reproduced with 20 seeds."""
    table = pl.read_csv(REPO / "docs" / "data" / "schwarzkopf2016-kernel.csv")
    shown = {(row["aqm"], row["rtt_ms"], row["flows"]): row for row in table.iter_rows(named=True)}
    expected = {claim["id"]: claim["expected"] for claim in claims_of(PAPER, "table1")}
    study, _ = there(PAPER, "table1")
    stacks = {"simulator_linux_6_1": "linux-6.1", "simulator_linux_2_6_29": "linux-2.6.29"}
    for column, stack in stacks.items():
        simulated = replace(study, engine="simulate", seeds=list(range(1, 21))).replace({"flows.0.stack": stack})
        runs = simulated.run(jobs=2).runs
        cells = runs.group_by(["link.aqm", "link.delay", "flows.0.count"], maintain_order=True)
        for row in cells.agg(pl.col("sojourn_mean_ms", "sojourn_p99_ms").mean()).iter_rows(named=True):
            aqm, rtt_ms = table1.AQMS[row["link.aqm"]], table1.RTTS_MS[row["link.delay"]]
            values = shown[aqm, rtt_ms, row["flows.0.count"]]
            ids = [table1.claim_id(aqm, rtt_ms, row["flows.0.count"], name) for name in ("mean", "q99")]
            published, simulated_ms = (
                tuple(values[f"{name}_{number}_ms"] for number in ("mean", "p99")) for name in ("published", column)
            )
            assert published == tuple(expected[one] for one in ids)
            means = (row["sojourn_mean_ms"], row["sojourn_p99_ms"])
            assert simulated_ms == pytest.approx(means, rel=0.1), (ids, stack)
    assert len(shown) == len(table) == 16
