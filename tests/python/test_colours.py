"""The same queue manager has the same colour in every figure of the same results, in the order of the study."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_hex

import sojourn as sj
from conftest import Cli
from sojourn import Scenario
from sojourn.figures.api import draw
from sojourn.model.analysis.labels import names_of
from sojourn.studies.runs.store import load_all

AQMS = "pie,droptail,codel"


def _colours(figure: Any) -> dict[str, str]:
    """Colours of curves and of panel titles, by name."""
    found = {}
    for axes in figure.axes:
        for line in axes.lines:
            if not str(line.get_label()).startswith("_"):
                found[str(line.get_label())] = to_hex(line.get_color())
        if title := axes.get_title(loc="left"):
            found.setdefault(title, to_hex(axes._left_title.get_color()))
    return {name.split(",")[0]: color for name, color in found.items() if name.split(",")[0] in AQMS}


def _legend(figure: Any) -> list[str]:
    return [text.get_text().split(",")[0] for legend in figure.legends for text in legend.get_texts()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("colours")
    base = sj.Study.of(
        {
            "duration": "3 s",
            "warmup": "700 ms",
            "link": {"rate": "7 Mbit/s"},
            "flows": [{"kind": "tcp", "rtt": "31 ms", "count": 2}],
            "probes": {"packets": True, "state": "50 ms"},
            "sweep": {"link.aqm": AQMS.split(","), "flows.0.count": [5, 2], "seeds": 2},
        },
        "colours",
        root,
    )
    base.run(root / "out")
    return root / "out"


def test_every_figure_has_the_colours_and_the_order_of_the_study(folder: Path) -> None:
    results = load_all([folder])
    wanted = dict(zip(AQMS.split(","), ["#0072b2", "#d55e00", "#009e73"], strict=True))
    assert [result.scenario.aqm for result in results[:2:12]] == ["pie"]
    five = [result for result in results if result.scenario.document["flows"][0]["count"] == 5]
    for some in (results, five):
        for kind in ("cdf", "ccdf", "box", "utilisation", "drops", "bytes", "ellipse", "comparison", "timeseries"):
            figure = draw(kind, some, names_of(some))[0].figure
            found = _colours(figure)
            assert found.items() <= wanted.items(), kind
            shown = [name for name in _legend(figure) if name in wanted]
            assert shown == [name for name in wanted if name in shown], kind
    # Tail drop has no state, and the others keep their colours.
    assert _colours(draw("state", five, names_of(five))[0].figure) == {
        name: color for name, color in wanted.items() if name != "droptail"
    }


def test_folders_that_a_shell_lists_are_in_the_order_of_their_study(folder: Path, tmp_path: Path) -> None:
    one_by_one = load_all(sorted(path for path in folder.iterdir() if path.is_dir()))
    assert [one.folder for one in one_by_one] == [one.folder for one in load_all([folder])]
    assert [one.scenario.aqm for one in one_by_one][::4] == AQMS.split(",")
    # Without that file, or with that of another folder, results have their own order.
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / ".order").write_bytes(b"\xff\x00" * 99 + b"\n../../etc\n")
    names = [one.scenario.aqm for one in load_all([tmp_path / "copy"])]
    assert names == sorted(names)


def test_compare_and_plot_agree(cli: Cli, tmp_path: Path) -> None:
    args = ["--duration", "2s", "--warmup", "500ms", "-o", "out", "--rate", "6mbit"]
    assert cli("compare", "--aqm", AQMS, *args, "--plot", "a.svg").exit_code == 0
    assert cli("plot", "comparison", "out", "-o", "b.svg").exit_code == 0
    assert (tmp_path / "a.svg").read_text() == (tmp_path / "b.svg").read_text()
    # The last comparison in a folder decides.
    assert cli("compare", "--aqm", "codel,pie,droptail", *args, "--plot", "c.svg").exit_code == 0
    assert cli("plot", "comparison", "out", "-o", "d.svg").exit_code == 0
    assert (tmp_path / "c.svg").read_text() == (tmp_path / "d.svg").read_text() != (tmp_path / "a.svg").read_text()


def test_a_legend_counts_the_loads_that_have_not_settled() -> None:
    from sojourn.figures.channels import Channels, facets
    from sojourn.model.analysis.labels import Name

    names = [Name("codel", "1"), Name("pie", "1", "not settled"), Name("codel", "2", "not settled")]
    names += [Name("pie", "2", "not settled"), Name("codel", "3"), Name("pie", "3", "not settled")]
    expected = ["codel, not settled (1 of 3)", "pie, not settled"]
    groups = facets(names, 4)
    in_panels = Channels(called for group in groups.values() for called in group.values())
    for channels in (in_panels, Channels(names)):
        assert [str(line.get_label()) for line in channels.legend()][:2] == expected


def test_the_same_run_on_two_engines_has_two_names() -> None:
    document = {"duration": "1 s", "link": {"rate": "1 Mbit/s"}, "flows": [{"kind": "voice"}]}
    runs = [Scenario.build(document).run(seed) for seed in (1, 1, 2)]
    runs[1].engine = "kernel-6.1.192-0123456789ab"
    assert [str(name) for name in names_of(runs)] == ["simulate", "kernel-6.1.192", "simulate"]
    assert [str(name) for name in names_of([runs[0], runs[2]])] == ["seed 1", "seed 2"]
