"""Application metrics of pages and videos: in the summary, in tables, and as text."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import sojourn as sj
from conftest import REPO, Cli, printed_json

APPLICATIONS = """
duration = "30 s"
warmup = "5 s"
[link]
rate = "8 Mbit/s"
delay = "10 ms"
aqm = "fq_codel"
[[flows]]
kind = "tcp"
[[flows]]
kind = "browser"
objects = 10
size = { log_uniform = ["1 kB", "50 kB"] }
document = "20 kB"
pause = "1 s"
[[flows]]
kind = "video"
ladder = ["500 kbit/s", "1 Mbit/s", "3 Mbit/s"]
segment = "2 s"
buffer = "10 s"
count = 2
[probes]
transfers = true
"""


def test_pages_and_videos_have_columns_and_rows_and_sentences(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "applications.toml"
    file.write_text(APPLICATIONS)
    result = sj.Scenario.load(file).run()
    groups = result.groups
    pages, video = groups.row(1, named=True), groups.row(2, named=True)
    assert pages["transfers"] > 5
    assert pages["completion_p50_ms"] > 40
    assert pages["video_rate_bps"] is None
    assert (video["video_stalls"], video["video_stalled_s"]) == (0, 0.0)
    assert 1e6 <= video["video_rate_bps"] <= 3e6
    segments = result.video
    assert segments["client"].unique().sort().to_list() == [0, 1]
    arrived = segments.filter(pl.col("start_s") + pl.col("duration_s") >= 5)
    assert video["video_segments"] == len(arrived)
    assert video["video_rate_bps"] == arrived["rate_bps"].mean()
    assert segments["buffer_s"].max() <= 10
    transfers = result.transfers
    assert len(transfers.filter(pl.col("group") == 2)) == len(segments)
    reported = cli("run", str(file), "-o", str(tmp_path / "out")).stdout
    median = groups["completion_p50_ms"][1]
    assert f"flows[1], pages: {pages['transfers']} pages, median {median:.0f} ms, 95 % within" in reported
    rate = video["video_rate_bps"] / 1e6
    assert f"flows[2], video: {rate:.2f} Mbit/s on average, {video['video_switches']} switches, no stall" in reported


def test_responsiveness_is_reported_with_class_and_probes(cli: Cli) -> None:
    """Poor with a full buffer, and at least five times better with CoDel."""
    found = {}
    for aqm in ("codel", "droptail"):
        sets = ("--set", f"link.aqm={aqm}", "--set", "probes.transfers=true", "-o", "out")
        reported = cli("run", REPO / "scenarios" / "rpm.toml", *sets).stdout
        result = sj.load(printed_json(cli("run", REPO / "scenarios" / "rpm.toml", *sets, "--json"))["folder"])
        row = result.groups.row(0, named=True)
        found[aqm] = row
        assert (
            f"flows[0], responsiveness: {row['rpm']:.0f} RPM, {row['rpm_class']}, confidence high (foreign" in reported
        )
        probes = result.rpm_probes
        assert set(probes["kind"]) == {"tcp_f", "tls_f", "http_f", "http_l"}
        assert (probes.filter(pl.col("kind") != "http_l")["in_socket_ms"] == 0).all()
        # The longest times are trimmed, so the mean of the last seconds is below their maximum.
        last = probes.filter((pl.col("kind") == "http_l") & (pl.col("start_s") > row["rpm_over_s"] - 4))
        assert row["rpm_loaded_ms"] < 1e3 * last["duration_s"].max()
    assert found["droptail"]["rpm_class"] == "poor"
    assert found["codel"]["rpm"] > 5 * found["droptail"]["rpm"]
    assert found["codel"]["rpm_in_network"] > found["codel"]["rpm"]


def test_media_has_columns_rows_and_a_sentence(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "media.toml"
    file.write_text(
        'duration = "30 s"\nwarmup = "11 s"\n[link]\nrate = "1.1 Mbit/s"\ndelay = "30 ms"\nlimit = "300 ms"\n'
        '[[flows]]\nkind = "media"\ncontrol = "nada"\ncount = 2\nmin_rate = "100 kbit/s"\n[probes]\nmedia = true\n'
    )
    result = sj.Scenario.load(file).run()
    row = result.groups.row(0, named=True)
    assert row["media_received_bps"] <= 1.1e6
    assert 0 < row["media_queueing_p50_ms"] <= row["media_queueing_p95_ms"] <= 310
    received = result.media.filter(pl.col("time_s") > 11)
    assert set(received["flow"]) == {0, 1}
    assert abs(len(received) - row["media_reports_arrived"]) <= 2
    assert abs(received["queueing_ms"].mean() / row["media_queueing_mean_ms"] - 1) < 0.1
    reported = cli("run", str(file), "-o", str(tmp_path / "out")).stdout
    frames = (
        f"{row['media_frames']} frames sent, {row['media_frames_whole']} complete, {row['media_frames_late']} of them"
    )
    assert frames in reported
