"""Faults around a shell, and foreign programs."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
from shells import needs_shells, python, shell

pytestmark = needs_shells

ME = [sys.executable, "-m", "sojourn"]


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is absent")


@pytest.fixture
def page() -> Iterator[int]:
    """A web server with one page; its port."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "800000")
            self.end_headers()
            text = b"<html><title>here</title><body><p id=it>it is here</p>"
            self.wfile.write(text + b" " * (800_000 - len(text)))

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def test_frames_of_random_bytes_do_not_stop_a_shell() -> None:
    code = """
import os, random, socket
random.seed(4)
raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0x0003)
raw.bind(("sojourn", 0x0800))
mine = socket.inet_aton(os.environ["SOJOURN_INSIDE"])
host = socket.inet_aton(os.environ["SOJOURN_HOST"])
for i in range(20000):
    frame = bytearray(random.randbytes(random.choice([1, 19, 20, 21, 39, 40, 60, 200, 1500])))
    if i % 2:
        frame[0] = random.choice([0x45, 0x4F, 0x41, 0x60, 0x6F])
        frame[12:20] = mine + host
    if i % 4 == 3 and len(frame) > 9:
        frame[9] = random.choice([6, 17, 1])
    try: raw.sendto(frame, ("sojourn", random.choice([0x0800, 0x86DD])))
    except OSError: pass
echo = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
try: echo.connect((os.environ["SOJOURN_HOST"], 9))
except ConnectionRefusedError: print("alive")
"""
    for words in (["link", "--rate", "1gbit", "--aqm", "fq_codel ecn"], ["delay", "1ms"], ["loss", "1%"]):
        done = shell(*words, "--", *python(code))
        assert done.stdout == "alive\n", (words, done.stderr)


def test_a_full_disk_ends_the_log_and_not_the_command(page: int, tmp_path: Path) -> None:
    """A limit on file sizes replaces the full disk: both fail in the middle of a write."""
    limited = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
os.execv(sys.argv[1], sys.argv[1:])
"""
    code = f"""
import os, urllib.request
print(len(urllib.request.urlopen("http://" + os.environ["SOJOURN_HOST"] + ":{page}/").read()))
"""
    trace = tmp_path / "trace"
    trace.write_text("1\n")
    link = ["mm-link", trace, trace, "--downlink-log", tmp_path / "down.log"]
    done = subprocess.run(
        [*python(limited), *ME, *link, "--", *python(code)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "800000\n"), done.stderr
    assert f"the log is not complete: {tmp_path}/down.log: File too large" in done.stderr


def test_a_full_disk_at_the_end_loses_no_records(page: int, tmp_path: Path) -> None:
    """A small file system, filled by the command, replaces the full disk."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        fill = f"import os\ntry: open({str(disk / 'other')!r}, 'wb').write(bytes(8 << 20))\nexcept OSError: pass"
        code = f"""
import os, time, urllib.request
urllib.request.urlopen("http://" + os.environ["SOJOURN_HOST"] + ":{page}/").read()
time.sleep(2.5)
{fill}
"""
        log = disk / "log"
        done = shell("link", "--rate", "50mbit", "--log", log, "--", *python(code))
        assert done.returncode == 3, done.stderr
        reported = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
        assert reported and all("free some space" in line and f"sojourn log repair {log}" in line for line in reported)
        assert not {path.name for path in log.iterdir()} - {"up.records", "down.records", "shell.json"}
        refused = subprocess.run([*ME, "log", "repair", log], capture_output=True, text=True, check=False)
        assert refused.returncode == 3
        assert f"sojourn log repair {log}" in refused.stderr
        (disk / "other").unlink()
        again = subprocess.run([*ME, "log", "repair", log], capture_output=True, text=True, check=False)
        assert again.returncode == 0, again.stderr
        assert sj.load(log).table("packets").filter(pl.col("link") == 0).height > 500
    finally:
        subprocess.run(["umount", disk], check=True)


def test_truncated_logs_are_repaired_and_kept(page: int, tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = f"""
import os, urllib.request
urllib.request.urlopen("http://" + os.environ["SOJOURN_HOST"] + ":{page}/").read()
"""
    assert shell("link", "--rate", "50mbit", "--log", log, "--", *python(code)).returncode == 0
    whole = sj.load(log).table("packets")
    text = (log / "shell.json").read_text()
    (log / "manifest.json").unlink()
    for left in (text[: len(text) // 2], "", "[1]", '{"seed": null}', "[" * 5000):
        (log / "shell.json").write_text(left)
        done = subprocess.run([*ME, "plot", "cdf", log], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (
            2,
            f"Error: {log}: log of a shell, not yet a result; run: sojourn log repair {log}\n",
        )
        done = subprocess.run([*ME, "log", "repair", log], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert (log / "shell.json.damaged").read_text() == left
        assert sj.load(log).table("packets").equals(whole)
        (log / "manifest.json").unlink()


def test_a_disk_that_is_full_from_the_start(tmp_path: Path) -> None:
    (tmp_path / "up.records").symlink_to("/dev/full")
    done = shell("link", "--rate", "1mbit", "--log", tmp_path, "--", "true")
    assert done.returncode == 3
    assert "No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_trace_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = shell("link", "--rate", tmp_path / "gone.down", "--", "true")
    assert done.returncode == 2
    assert done.stderr.startswith(f"Error: --rate: {tmp_path}/gone.down: No such file or directory")
    assert done.stderr.endswith("; write a rate such as 12mbit, or the name of a trace\n")


def test_a_trace_that_vanishes_meanwhile_is_not_missed(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text("1\n")
    code = f"""
import os, socket
os.unlink({str(trace)!r})
try: socket.create_connection((os.environ["SOJOURN_HOST"], 9))
except ConnectionRefusedError: print("refused")
"""
    assert shell("link", "--rate", trace, "--", *python(code)).stdout == "refused\n"


@pytest.mark.parametrize(
    "words",
    [
        ["link", "--up", "12mbit", "--down", "three.tr", "--once"],
        ["link", "--rate", "9.7mbit@0s,0bit@700ms"],
        ["delay", "31s"],
    ],
)
def test_undeliverable_packets_do_not_delay_the_end(tmp_path: Path, words: list[str]) -> None:
    """With a stalled link, or a delay of half a minute, the shell ends a second after its command."""
    (tmp_path / "three.tr").write_text("1\n2\n3\n")
    ping = python(
        "import os, socket, time\n"
        "out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for _ in range(9): out.sendto(bytes(1100), (os.environ['SOJOURN_HOST'], 9)); time.sleep(0.1)"
    )
    ended = shell(*words, "--log", "log", "--", *ping, cwd=tmp_path, timeout=25)
    assert ended.returncode == 0, ended.stderr
    assert "undelivered at the end" in ended.stderr


def test_the_report_comes_without_a_terminal_too() -> None:
    reported, silent = (shell("delay", "3ms", *more, "--", "true") for more in ((), ("--quiet",)))
    assert [line.split()[1] for line in reported.stderr.splitlines()][:3] == ["up", "down", "shell"]
    assert silent.stderr == ""


def test_a_stopped_shell_is_reported(tmp_path: Path) -> None:
    """Stopped for 1.3 s: packets were read late; report, --strict and manifest have the time."""
    sends = python(
        "import os, socket, time\n"
        "out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for _ in range(170): out.sendto(bytes(90), (os.environ['SOJOURN_HOST'], 9)); time.sleep(0.017)"
    )
    words = [*ME, "link", "--rate", "11.3mbit", "--strict", "--log", "log", "--", *sends]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as started:
        up = tmp_path / "log" / "up.records"
        while not (up.exists() and up.stat().st_size > 2000):
            time.sleep(0.02)
        started.send_signal(signal.SIGSTOP)
        time.sleep(1.3)
        started.send_signal(signal.SIGCONT)
        error_text = started.communicate(timeout=60)[1]
    assert started.returncode == 1
    assert "not faithful" in error_text and "were read late: the shell was stalled from " in error_text
    emulation = sj.load(tmp_path / "log").totals["emulation"]
    assert any("was stalled" in fault for fault in emulation["faults"])
    assert emulation["stalls"]["late_packets"] > 40
    longest = max(to - start for start, to in emulation["stalls"]["longest_ns"])
    assert longest > 1_250_000_000


def test_a_log_is_not_overwritten(tmp_path: Path) -> None:
    link = ("link", "--rate", "20mbit", "--log", "log", "--", "true")
    assert shell(*link, cwd=tmp_path).returncode == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "log").iterdir() if path.is_file()}
    again = shell(*link, cwd=tmp_path)
    assert (again.returncode, again.stderr) == (
        2,
        "Error: --log log: already contains a log; choose another folder\n",
    )
    assert {path.name: path.read_bytes() for path in (tmp_path / "log").iterdir() if path.is_file()} == before


def test_a_command_that_fails_leaves_a_result(tmp_path: Path) -> None:
    assert shell("link", "--rate", "20mbit", "--log", "log", "--", "sh", "-c", "exit 7", cwd=tmp_path).returncode == 7
    assert sj.load(tmp_path / "log").totals["duration_s"] > 0


def test_a_log_is_repaired_after_kill_9(tmp_path: Path) -> None:
    """After a kill everything except the last second is recovered, even if a record is truncated."""
    sends = python(
        "import os, socket, time\n"
        "out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "while True: out.sendto(bytes(700), (os.environ['SOJOURN_HOST'], 9)); time.sleep(0.013)"
    )
    started = subprocess.Popen([*ME, "link", "--rate", "11.3mbit", "--log", "log", "--", *sends], cwd=tmp_path)
    up = tmp_path / "log" / "up.records"
    for _ in range(600):
        time.sleep(0.1)
        if up.exists() and up.stat().st_size > 3000:
            break
    started.kill()
    started.wait(30)
    with up.open("ab") as file:
        file.write(bytes(17))
    shown = shell("plot", "timeseries", "log", "-o", "x.svg", cwd=tmp_path)
    assert shown.returncode == 2
    repaired = shell("log", "repair", "log", "--json", cwd=tmp_path)
    assert repaired.returncode == 0, repaired.stderr
    assert json.loads(repaired.stdout)["folder"] == "log"
    result = sj.load(tmp_path / "log")
    assert "was killed before it wrote its report" in result.totals["emulation"]["faults"][0]
    assert result.table("packets").filter(pl.col("link") == 1).height > 20
    assert shell("plot", "timeseries", "log", "-o", "x.svg", cwd=tmp_path).returncode == 0
    assert "nothing to repair" in shell("log", "repair", "log", cwd=tmp_path).stderr


@pytest.mark.parametrize("reader", ["tcpdump", "tshark", "capinfos"])
def test_captures_are_read_by_other_programs(page: int, tmp_path: Path, reader: str) -> None:
    if shutil.which(reader) is None:
        pytest.skip(f"{reader} is absent")
    get = python(
        f"import os, urllib.request as u; print(len(u.urlopen(f'http://{{os.environ[\"SOJOURN_HOST\"]}}:{page}').read()))"
    )
    ran = shell("link", "--rate", "83mbit", "--pcap", "taken", "--", *get, cwd=tmp_path)
    assert ran.stdout == "800000\n"
    words = {"tcpdump": ["-n", "-r"], "tshark": ["-r"], "capinfos": ["-Mc"]}[reader]
    for side in ("up", "down"):
        read = [
            subprocess.run([reader, *words, f"taken.{side}.{way}.pcapng"], capture_output=True, text=True, cwd=tmp_path)
            for way in ("in", "out")
        ]
        assert [one.returncode for one in read] == [0, 0], read[0].stderr
        counts = [len(one.stdout.splitlines()) for one in read]
        if reader == "capinfos":
            counts = [int(one.stdout.split()[-1]) for one in read]
        assert counts[0] == counts[1] > 20, "nothing is dropped"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["link"], "--up: missing; write --up and --down (or --rate for both), e.g. --rate 12mbit"),
        (["link", "--rate", "12"], '--rate: "12" has no unit; write e.g. "10 Mbit/s"'),
        (["link", "--rate", "0mbit"], '--rate: "0mbit" is not above zero; write e.g. "10 Mbit/s"'),
        (["link", "--rate", "1mbit", "--aqm", "coddle"], '--aqm: unknown AQM "coddle"; did you mean "codel"?'),
        (["link", "--rate", "1mbit", "--limit", "10"], '--limit: "10" is not a limit; write e.g. "1000 packets"'),
        (["link", "--rat", "1mbit"], 'unknown option "--rat"; did you mean "--rate"?'),
        (
            ["link", "--rate", "1mbit", "--aqm", "fq(own.py:Own)"],
            "--aqm: own.py:Own: a queue manager in Python is too slow for an emulated link; write it as a library "
            "(sojourn aqm new NAME), or simulate it (sojourn run)",
        ),
        (
            ["link", "--delay", "20ms"],
            "--delay: belongs to `sojourn delay`; write sojourn delay 20ms -- sojourn link …",
        ),
        (["link", "--rate", "1mbit", "--once"], "--once: no direction follows a trace; leave it out"),
        (["delay"], "delay: missing; write e.g. sojourn delay 20ms"),
        (["delay", "20"], 'delay: "20" has no unit; write e.g. "5 ms"'),
        (["loss", "2"], "loss: 2 is out of range; a probability lies between 0 and 1"),
        (["loss", "p 0.1"], "loss: r is missing; write e.g. { p = 0.002, r = 0.2 }"),
        (["mm-delay", "x"], 'mm-delay: milliseconds: "x" is not a number; write e.g. 20'),
        (["mm-link", "a"], "mm-link: missing arguments; usage: mm-link UP-TRACE DOWN-TRACE"),
        (["mm-loss", "up", "0.1"], 'mm-loss: "up" is not a direction; write uplink or downlink'),
        (["delay", "1ms", "--seed", "x"], '--seed: "x" is not a whole number; write e.g. --seed 1'),
    ],
)
def test_bad_input_is_refused_in_one_line(words: list[str], text: str) -> None:
    done = shell(*words, *(["--", "true"] if words[0] != "mm-link" else []))
    assert done.returncode == 2
    assert done.stderr.startswith(f"Error: {text}")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "name",
    ["link", "delay", "loss", "mm-link", "mm-delay", "mm-loss", "mm-onoff", "mm-intermittent", "mm-meter", "ctl"],
)
def test_help_is_given(name: str) -> None:
    done = shell(name, "--help")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Usage: ") and name in lines[0]
    # Laid out like the other commands, in 80 columns.
    assert max(len(line) for line in lines) <= 80
    assert "Options:" in lines and lines[-1].split() == ["-h,", "--help", "Show", "this", "message", "and", "exit."]
    assert all(line == "" or line.startswith("  ") or line.endswith(":") for line in lines[1:])


def test_the_meter_shows_and_gives_the_terminal_back() -> None:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 100)) if hasattr(termios, "tcsetwinsize") else None
    before = termios.tcgetattr(slave)
    # The command ends after reading a line, and is killed with its own terminal mode.
    command = [*ME, "delay", "1ms", "--meter", "--", "sh", "-c", "stty raw -echo; read line; kill -9 $$"]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    seen = b""
    while b"Mbit/s" not in seen:
        assert select.select([master], [], [], 60)[0]
        seen += os.read(master, 1 << 16)
    os.write(master, b"go\n")
    while process.poll() is None:
        if select.select([master], [], [], 0.05)[0]:
            seen += os.read(master, 1 << 16)
    assert process.returncode == -9
    assert termios.tcgetattr(slave) == before
    while select.select([master], [], [], 0)[0]:
        seen += os.read(master, 1 << 16)
    os.close(slave)
    os.close(master)
    if hasattr(termios, "tcsetwinsize"):
        assert seen.rfind(b"\x1b[r") > seen.rfind(b"\x1b[1;23r") > 0, "the scrolling region is the whole screen again"


@needs("bash")
@pytest.mark.parametrize("words", [["delay", "1ms"], ["mm-meter"]])
def test_the_prompt_of_a_shell_without_a_command_names_the_shell(words: list[str], tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("PS1='own> '\n")
    master, slave = pty.openpty()
    surroundings = {**os.environ, "SHELL": shutil.which("bash") or "", "HOME": str(tmp_path), "TERM": "dumb"}
    process = subprocess.Popen(
        [*ME, *words], stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=surroundings
    )
    os.close(slave)
    expected = f"[{words[0]}] own> ".encode()
    seen = b""
    while expected not in seen:
        assert select.select([master], [], [], 60)[0], seen
        seen += os.read(master, 1 << 16)
    os.write(master, b"exit\n")
    while process.poll() is None:
        if select.select([master], [], [], 0.05)[0]:
            with contextlib.suppress(OSError):  # the other end is closed
                os.read(master, 1 << 16)
    assert process.returncode == 0
    os.close(master)


@needs("ping")
def test_ping_passes_in_both_families() -> None:
    for host in ("$SOJOURN_HOST", "-6 $SOJOURN_HOST6"):
        done = shell("delay", "5ms", "--", "sh", "-c", f"ping -c 2 -i 0.1 {host}")
        assert "2 received" in done.stdout, done.stdout + done.stderr


@needs("curl")
def test_curl_gets_a_page(page: int) -> None:
    script = f'curl -s -o /dev/null -w "%{{http_code}} %{{size_download}}" http://$SOJOURN_HOST:{page}/'
    done = shell("link", "--rate", "20mbit", "--aqm", "codel", "--", "sh", "-c", script)
    assert done.stdout == "200 800000", done.stderr


@needs("chromium")
def test_a_browser_loads_a_page(page: int, tmp_path: Path) -> None:
    options = f"--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir={tmp_path}"
    script = f"chromium {options} --dump-dom http://$SOJOURN_HOST:{page}/"
    done = shell("delay", "10ms", "--", *ME, "link", "--rate", "20mbit", "--", "sh", "-c", script)
    assert "it is here" in done.stdout, done.stderr[-2000:]
