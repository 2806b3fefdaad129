"""Compressed files: the original data or a one-line error, and never more than a limit."""

from __future__ import annotations

import bz2
import gzip
import json
import resource
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from conftest import Cli
from sojourn import InputError
from sojourn.base.packed import MAX_BYTES, decompress

PATH = Path("data")
PACK = (gzip.compress, bz2.compress)


@pytest.mark.parametrize("pack", PACK)
def test_files_come_out_whole_also_in_several_streams(pack: object) -> None:
    assert callable(pack)
    text = bytes(range(256)) * 77
    assert decompress(PATH, pack(text)) == text
    assert decompress(PATH, pack(text) + pack(b"more")) == text + b"more"
    assert decompress(PATH, pack(b"")) == b""
    assert decompress(PATH, b"plain") == b"plain"


@pytest.mark.parametrize("pack", PACK)
def test_truncated_or_damaged_files_are_reported(pack: object) -> None:
    assert callable(pack)
    whole = pack(bytes(range(256)) * 77)
    with pytest.raises(InputError, match="data: the file is truncated; fetch it again"):
        decompress(PATH, whole[: len(whole) // 2])
    for place in range(len(whole)):
        damaged = whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]
        try:
            decompress(PATH, damaged)
        except InputError as error:
            assert str(error).startswith("data: ")


def test_no_more_comes_out_than_the_bound() -> None:
    bound = 70_001
    for pack in PACK:
        assert len(decompress(PATH, pack(bytes(bound)), bound)) == bound
        for parts in ((bound + 1,), (bound, 1), (bound // 2, bound // 2, 2)):
            with pytest.raises(InputError, match="more than 0 MB of data; shorten it"):
                decompress(PATH, b"".join(pack(bytes(part)) for part in parts), bound)
    with pytest.raises(InputError, match="more than 0 MB"):
        decompress(PATH, bytes(bound + 1), bound)


def bomb(size: int) -> bytes:
    """A gzip file of at least `size` zeros; its checksum is wrong, but readers stop before it."""
    pack = zlib.compressobj(9, wbits=31)
    blocks = [pack.compress(bytes(1 << 20)) + pack.flush(zlib.Z_FULL_FLUSH) for _ in range(2)]
    return blocks[0] + blocks[1] * (size >> 20) + pack.flush()


@pytest.mark.parametrize("words", ["flent show bomb.flent.gz", "aqm diff codel --vector bomb.jsonl.gz"])
def test_a_small_file_that_holds_much_takes_little_memory(words: str, tmp_path: Path) -> None:
    data = bomb(8 * MAX_BYTES)
    assert len(data) < 2_000_000
    name = words.split()[-1]
    (tmp_path / name).write_bytes(data)
    meta = {"qdisc": "codel", "rate_bps": 1_000_000, "t0_mono_ns": 0, "seed": 1}
    (tmp_path / "bomb.meta.json").write_text(json.dumps(meta))
    limit = 3 << 30
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", *words.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert (done.returncode, done.stderr) == (2, f"Error: {name}: more than {MAX_BYTES >> 20} MB of data; shorten it\n")


def test_a_vector_is_still_read(cli: Cli, tmp_path: Path) -> None:
    row = {"arrival_ns": 5, "size": 1000, "flow": 1, "ecn": 0, "departure_ns": 9, "verdict": "pass"}
    (tmp_path / "v.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
    meta = {"qdisc": "codel", "rate_bps": 1_000_000, "t0_mono_ns": 0, "seed": 1}
    (tmp_path / "v.meta.json").write_text(json.dumps(meta))
    done = cli("aqm", "diff", "codel@linux", "--vector", str(tmp_path / "v"))
    assert done.exit_code in (0, 1), done.output
