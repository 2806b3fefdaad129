"""Tables: they fit the width, have no useless columns, and can be exported."""

from __future__ import annotations

import csv
import io
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import SHORT, Cli, printed_json
from sojourn.apps.cli.tables import WIDTH, Cell, Column, Table, as_csv, as_latex, as_markdown, as_text
from sojourn.base.errors import InputError
from sojourn.model.analysis.metrics import METRICS, Metric

pytestmark = pytest.mark.usefixtures("undrawn")

COMPARE = [
    "compare",
    "--aqm",
    "droptail,codel target 7ms interval 90ms,pie@draft00",
    "--duration",
    "3 s",
    "--seeds",
    "3",
]
STUDY = (
    SHORT
    + """
[sweep]
"link.aqm" = ["droptail", "codel", "pie@draft00"]
"flows.0.count" = [1, 13]
"link.rate" = ["1700 kbit/s", "31 Mbit/s"]
seeds = 3
"""
)


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def widest(text: str) -> int:
    return max(map(len, text.splitlines()))


def test_printed_tables_fit_their_width(cli: Cli, study_file: Path, scenario_file: Path, tmp_path: Path) -> None:
    cli("trace", "synth", "lte", "--duration", "20 s", "-o", "a-trace-with-a-long-name.down")
    commands = (
        [*COMPARE, "--paired", "droptail"],
        [*COMPARE[:3], "--duration", "3 s"],
        ["sweep", study_file],
        ["run", scenario_file],
        ["trace", "stats", *["a-trace-with-a-long-name.down"] * 4],
        ["aqm", "show", "pie@draft00"],
        ["aqm", "show", "fq(codel) flows 16"],
    )
    for command in commands:
        ran = cli(*command)
        assert ran.exit_code == 0, ran.output
        tables = [line for line in ran.stdout.splitlines() if not line.startswith(("Figure:", "Results:", "  "))]
        long = [line for line in tables if len(line) > WIDTH and ": " not in line]
        assert not long, long
        assert any(line.startswith("──") for line in tables)


def test_repeated_words_share_a_heading_and_constant_columns_are_omitted(cli: Cli) -> None:
    text = cli(*COMPARE[:3], "--duration", "3 s").stdout
    assert text.count("sojourn [ms]") == 1 and "  ms  " not in text
    assert "marks" not in text and "drops" in text
    assert "marks" in cli(*COMPARE[:3], "--duration", "3 s", "--columns", "marks").stdout


def test_columns_are_marked_where_they_are_used(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "ecn.toml"
    path.write_text(SHORT.replace('aqm = "codel"', 'aqm = "codel ecn"').replace("count = 2", "count = 2\necn = true"))
    text = cli("run", path).stdout
    assert "marks" in text


def test_columns_and_sort(cli: Cli, study_file: Path) -> None:
    ran = cli("sweep", study_file, "--columns", "p95, drop_rate,p95,", "--sort", "-p95", "--csv")
    rows = list(csv.DictReader(io.StringIO(ran.stdout)))
    keys = ["link.aqm", "flows.0.count", "link.rate"]
    assert list(rows[0]) == [*keys, "sojourn_p95_ms", "sojourn_p95_ms_ci95", "drop_rate", "drop_rate_ci95"]
    delays = [float(row["sojourn_p95_ms"]) for row in rows]
    assert delays == sorted(delays, reverse=True) and len(rows) == 12
    counts = [
        row["flows.0.count"]
        for row in csv.DictReader(io.StringIO(cli("sweep", study_file, "--sort", "flows.0.count", "--csv").stdout))
    ]
    assert counts == ["1"] * 6 + ["13"] * 6
    found = printed_json(cli("sweep", study_file, "--json"))["table"]
    assert max(delays) == max(row["sojourn_p95_ms"] for row in found)


BAD = {
    "no column": (["--columns", "p59"], '--columns: column "p59" is unknown; did you mean'),
    "no order": (["--sort", "delay"], '--sort: column "delay" is unknown; expected one of aqm, utilisation'),
    "two forms": (["--latex", "--csv"], "--json, --markdown, --latex and --csv exclude each other; choose one"),
    "form and json": (["--latex", "--json"], "exclude each other"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_refused_before_there_is_work(case: str, cli: Cli, tmp_path: Path) -> None:
    options, expected = BAD[case]
    refused = cli("compare", "--aqm", "codel", *options)
    assert refused.exit_code == 2 and expected in refused.stderr
    assert not (tmp_path / "results").exists()


def test_markdown_is_a_table_and_nothing_else(cli: Cli) -> None:
    ran = cli(*COMPARE, "--markdown", "--columns", "mean,utilisation")
    blocks = [block.splitlines() for block in ran.stdout.strip().split("\n\n")]
    assert blocks[0] == ["means over 3 seeds ± half width of the 95 % confidence interval"]
    assert blocks[1][:2] == ["| aqm | sojourn mean [ms] | utilisation [%] |", "| :-- | --: | --: |"]
    assert [line.split(" | ")[0] for line in blocks[1][2:]] == [
        "| droptail",
        "| codel target 7ms interval 90ms",
        "| pie@draft00",
    ]
    assert "Figure:" in ran.stderr and "flows:" in ran.stderr


def test_csv_has_the_numbers_and_one_table(cli: Cli) -> None:
    ran = cli(*COMPARE, "--csv")
    rows = list(csv.DictReader(io.StringIO(ran.stdout)))
    found = printed_json(cli(*COMPARE, "--json"))
    assert [row["aqm"] for row in rows] == [row["aqm"] for row in found["table"]]
    for row, expected in zip(rows, found["table"], strict=True):
        for name in ("sojourn_mean_ms", "sojourn_mean_ms_ci95", "utilisation", "jain"):
            assert float(row[name]) == expected[name]
    paired = list(csv.DictReader(io.StringIO(cli(*COMPARE, "--csv", "--paired", "droptail").stdout)))
    assert len(paired) == 2
    assert float(paired[1]["sojourn_mean_ms"]) == next(
        row["difference"]
        for row in found["paired"]
        if row["aqm"] == "pie@draft00" and row["metric"] == "sojourn_mean_ms"
    )


def test_reproduce_gives_its_verdicts_as_one_table(cli: Cli) -> None:
    ran = cli("reproduce", "schwarzkopf2016", "--figure", "fig2", "--seeds", "1", "--csv")
    rows = list(csv.DictReader(io.StringIO(ran.stdout)))
    assert {"claim", "published", "verdict"} <= set(rows[0]) and {row["claim"][:5] for row in rows} == {"S0-F2"}


LATEX = r"""\documentclass{article}\usepackage{booktabs}\begin{document}
%s
\end{document}
"""


def odd_table() -> Table:
    columns = [
        Column("aqm", "link.aqm_name", left=True, key=True),
        Column("u", "utilisation", "%"),
        Column("a", "mean", "ms", "sojourn"),
        Column("b", "p95", "ms", "sojourn"),
    ]
    rows = [
        [Cell("fq_codel & co 50% #1"), Cell("99.4 ± 0.2", 0.994, 0.002), Cell("-1.5 *", -1.5), Cell("–")],
        [Cell("x|y"), Cell("97.0 ± 0.1", 0.97, 0.001), Cell("10", 10.0), Cell("2.0", 2.0)],
    ]
    return Table(columns, rows, "a title with 5 %")


def test_latex_has_rules_groups_and_escaped_names() -> None:
    assert as_latex(odd_table()).splitlines() == [
        "% a title with 5 %",
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r" &  & \multicolumn{2}{c}{sojourn [ms]} \\",
        r"\cmidrule(lr){3-4}",
        r"link.aqm\_name & utilisation [\%] & mean & p95 \\",
        r"\midrule",
        r"fq\_codel \& co 50\% \#1 & 99.4 $\pm$ 0.2 & $-$1.5$^{*}$ & -- \\",
        r"x\ensuremath{|}y & 97.0 $\pm$ 0.1 & 10 & 2.0 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "x.tex").write_text(
        LATEX % (as_latex(odd_table()) + cli(*COMPARE, "--latex", "--columns", "p95,mean").stdout)
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "x.tex"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0 and "Missing character" not in ran.stdout, ran.stdout[-2000:]


def test_markdown_escapes_markup() -> None:
    assert as_markdown(odd_table()).splitlines()[-1] == r"| x\|y | 97.0 ± 0.1 | 10 | 2.0 |"


def test_csv_leaves_nothing_out() -> None:
    assert as_csv(odd_table()).splitlines()[1] == "fq_codel & co 50% #1,0.994,0.002,-1.5,"


def test_any_table_fits_any_width() -> None:
    """Random tables: no line exceeds the width, all words and numbers are present, and every part has the row names."""
    random_ = random.Random(7)
    for _ in range(300):
        words = random_.random() < 0.3
        columns = [Column("key", "name", left=True, key=True)]
        for place in range(random_.randint(1, 14)):
            unit, group = random_.choice(["", "ms", "%"]), random_.choice(["", "sojourn", "sojourn", "flow"])
            columns.append(Column(f"c{place}", "x" * random_.randint(1, 11), unit, "" if words else group, left=words))
        rows = []
        for row in range(random_.randint(1, 5)):
            texts = [
                " ".join("w" * random_.randint(1, 7) for _ in range(random_.randint(1, 20)))
                if words
                else f"{random_.uniform(-1e4, 1e4):.{random_.randint(0, 3)}f}"
                for _ in columns[1:]
            ]
            rows.append([Cell(f"row{row}"), *map(Cell, texts)])
        width = 200 if words else random_.choice([40, 72, 100, 160])
        text = as_text(Table(columns, rows, "A title of some words, which wraps where it has to"), width)
        assert widest(text) <= width, text
        for row in rows:
            for cell in row:
                assert all(word in text for word in cell.text.split())
        parts = text.count("───" if not any(one.group for one in columns) else "\nname")
        assert text.count("row0") >= min(parts, 1)


def test_names_are_found_by_heading_and_refused_where_they_are_not_clear() -> None:
    table = odd_table()
    assert [column.name for column in table.chosen(["mean", "u"]).columns] == ["aqm", "a", "u"]
    assert [column.name for column in table.chosen(["sojourn p95", "aqm"]).columns] == ["b", "aqm"]
    table = replace(table, columns=[replace(column, shown=column.name != "a") for column in table.columns])
    assert "a" not in [column.name for column in table.chosen([]).columns]
    assert [column.name for column in table.chosen(["a"]).columns] == ["aqm", "a"], "where it is asked for"
    both = Table([Column("a", "x", "ms", "one"), Column("b", "x", "ms", "two")], [])
    with pytest.raises(InputError, match='"x" matches several columns; write a or b'):
        both.chosen(["x"])


def test_rows_without_a_value_come_last() -> None:
    for order in ("b", "-b"):
        assert odd_table().sorted(order).rows[-1][3].text == "–"
    names = [Cell(text) for text in ("16 flows", "4 flows", "1 flow")]
    table = Table([Column("load", "load", left=True, key=True)], [[name] for name in names])
    assert [row[0].text for row in table.sorted("load").rows] == ["1 flow", "4 flows", "16 flows"]


@pytest.mark.parametrize(
    ("value", "half", "shown"),
    [
        (942.397, 15.377, "942 ± 15"),
        (7.1136, 0.2799, "7.11 ± 0.28"),
        (7.1136, 1.72, "7.1 ± 1.7"),
        (1777.65, 213.98, "1778 ± 214"),
        (942.397, None, "942.4"),
        (1198.52, None, "1199"),
        (7.1136, None, "7.11"),
        (0.0, None, "0.00"),
        (12.75, 0.0, "12.75"),
        (-0.004, 0.001, "-0.00 ± <0.01"),
        (None, None, "–"),
    ],
)
def test_numbers_have_significant_digits(value: float | None, half: float | None, shown: str) -> None:
    assert Metric("x", "x", "ms").show(value, half) == shown


def test_labels_of_axes_are_as_they_were() -> None:
    labels = {metric.column: metric.axis_label for metric in METRICS}
    assert labels["sojourn_p95_ms"] == "sojourn p95 [ms]" and labels["jain"] == "Jain index"


def test_tables_have_the_usual_columns_and_all_by_name(cli: Cli, study_file: Path) -> None:
    def titles(*options: str) -> list[str]:
        text = cli("sweep", study_file, "--markdown", *options).stdout
        return next(line for line in text.splitlines() if line.startswith("| link.aqm")).strip("| ").split(" | ")[3:]

    usual = ["utilisation [%]", "goodput [Mbit/s]", "sojourn mean [ms]", "sojourn p95 [ms]", "sojourn p99 [ms]"]
    assert titles() == [*usual, "drops [%]", "Jain index"]
    more = ["delivered [Mbit/s]", "sojourn p50 [ms]", "sojourn max [ms]", "packets", "warm-up [s]", "fingerprint"]
    assert set(titles("--columns", "all")) == {*titles(), *more}
    assert titles("--columns", "all,mean") == titles("--columns", "all")
    assert "all prints every one" in cli("sweep", "--help").stdout.replace("\n", " ").replace("  ", "")


def test_columns_of_one_table_do_not_break_the_other(cli: Cli) -> None:
    """The table of differences has no warm-up, and no fingerprint."""
    ran = cli(*COMPARE, "--columns", "mean,warm-up", "--sort", "warm-up")
    assert ran.exit_code == 0, ran.output
    values, differences = ran.stdout.split("difference to droptail")
    assert "warm-up" in values and "warm-up" not in differences and differences.count("pie@draft00") == 1
    ran = cli(*COMPARE, "--columns", "fingerprint")
    assert ran.exit_code == 0 and "difference to" not in ran.stdout
    assert cli(*COMPARE, "--columns", "fingreprint").exit_code == 2


def test_counts_have_no_interval(cli: Cli) -> None:
    ran = cli(*COMPARE, "--columns", "packets,mean", "--warmup", "1s")
    means = ran.stdout.split("difference to")[0].splitlines()
    rows = [line for line in means if line.startswith(("droptail", "codel", "pie"))]
    assert len(rows) == 3 and all(line.count("±") <= 1 for line in rows)
    heading = cli(*COMPARE, "--csv", "--columns", "packets,mean", "--warmup", "1s").stdout.splitlines()[0]
    assert heading == "aqm,packets,sojourn_mean_ms,sojourn_mean_ms_ci95"


@pytest.mark.parametrize("seeds", [1, 5])
def test_twelve_loads_of_three_queue_managers_are_forty_lines(seeds: int, cli: Cli) -> None:
    loads = ["--flows", "4,64", "--rate", "10Mbit/s,100Mbit/s", "--rtt", "20ms,40ms,80ms"]
    args = ["--duration", "2100ms", "--seeds", str(seeds)]
    ran = cli("compare", "--aqm", "droptail,codel,pie", *loads, *args)
    lines = ran.stdout.splitlines()
    assert lines.index("") <= 40 and any("not settled" in line for line in lines[4:40])
    assert all(line.startswith("10") and "Mbit/s" in line for line in lines[4:40])
    assert "utilisation" in lines[1] and "index" in lines[2]


def test_intervals_are_compact_if_that_saves_a_part() -> None:
    columns = [Column("name", "name", left=True, key=True), *(Column(f"x{n}", "value") for n in range(3))]
    table = Table(columns, [[Cell("codel"), *(Cell("123.4 ± 5.6", 123.4, 5.6) for _ in range(3))]])
    assert "123.4 ± 5.6" in as_text(table, 60)
    assert "123.4±5.6" in as_text(table, 40) and widest(as_text(table, 40)) <= 40
    # Two parts in either case.
    assert "123.4 ± 5.6" in as_text(table, 31)
