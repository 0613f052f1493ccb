"""The scripts that time unpacking, with mounts that wait: only the processor's time counts."""

from __future__ import annotations

import os
import resource
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from erofs_builder import build
from image_trees import contents
from shells import each_shell
from waiting import left_s

from foreread.boards.target import LocalTarget
from foreread.tracer.calibrate.erofs_unpacking import PLAIN, measure_erofs_unpacking
from foreread.tracer.calibrate.unpacking import passes_of

CALIBRATE = Path(__file__).parents[3] / "tracer/calibrate"
SAMPLE = 2 << 20  # bytes
WAITED_S = 0.1  # by each mount
STAND_INS = f"""
mount() {{
    [ "${{5##*/}}" != other ] || return 1
    sleep {WAITED_S}
    for name in d000.head d000.rest l001.head l001.rest empty-d000 empty-l001; do
        echo "$name" >"$6/$name"
    done
}}
umount() {{ rm -f "$1"/*; }}
"""
WAYS = {"unpacking.sh": ("nothing", "dense", "light", "blocks"), "erofs_unpacking.sh": ("files",)}


def printed(shell, script, folder, *images, before="", after=""):
    """Return what a script prints that reads each image once in each way."""
    parts = [(CALIBRATE / name).read_text() for name in ("passes.sh", script)]
    text = "".join([before, *parts, after])
    command = [*shell, "-c", text, "sh", str(folder), "0", *images]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=left_s()
    ).stdout


def of_children():
    """Return the seconds that all children have computed that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def of_kernel_threads():
    """Return the hundredths of a second that each of the kernel's threads has computed."""
    found = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            fields = place.read_text().rpartition(") ")[2].split()
            if fields[1] == "2":
                found[place] = int(fields[12])
    return found


@pytest.mark.parametrize("script", WAYS)
@pytest.mark.parametrize("shell", each_shell())
def test_a_pass_has_no_time_that_its_mount_waits(shell, script, tmp_path):
    threads, own = of_kernel_threads(), of_children()
    answer = printed(shell, script, tmp_path, "packed", "other", before=STAND_INS)
    computed = of_children() - own
    if script == "erofs_unpacking.sh":
        computed += sum(now - threads.get(one, 0) for one, now in of_kernel_threads().items()) / 100
    kernel, passes = passes_of(answer)
    assert kernel == os.uname().release
    assert list(passes) == [(way, "packed") for way in WAYS[script]]
    assert answer.endswith("refused other\n")
    assert [count for count, _ in passes.values()] == [1] * len(passes)
    # The mounts alone wait longer than this machine computes; a pass is stated in hundredths.
    assert sum(seconds for _, seconds in passes.values()) <= computed + 0.01 * len(passes)


@pytest.mark.parametrize("shell", each_shell())
def test_the_kernel_s_threads_count_which_unpack_erofs(shell, tmp_path):
    after = "computed; first=$now; spent; both=$now; computed; echo $first $both $now\n"
    before = of_kernel_threads()
    answer = printed(shell, "erofs_unpacking.sh", tmp_path, after=after)
    then = of_kernel_threads()
    own, both, own_later = map(int, answer.split()[-3:])
    assert both - own >= sum(time for thread, time in before.items() if thread in then)
    assert both - own_later <= sum((before | then).values())


@pytest.mark.kernel
@pytest.mark.thorough
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no image was mounted")
def test_this_kernel_reads_compressed_erofs_as_often_as_is_said(tmp_path):
    if "erofs" not in Path("/proc/filesystems").read_text():
        pytest.skip("this kernel has no EROFS")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/file").write_bytes(contents(SAMPLE, 1))
    images = {
        PLAIN: build("uncompressed", tmp_path / "tree", tmp_path / "plain"),
        "lz4": build("lz4 in large clusters", tmp_path / "tree", tmp_path / "lz4"),
    }
    name = f"foreread-unpacking-test-{os.getpid()}"
    pages = dict.fromkeys(images, SAMPLE // 4096)
    found = measure_erofs_unpacking(LocalTarget(), images, pages, 0.1, name)
    (lz4,) = found.compressors
    assert (lz4.compressor, found.missing) == ("lz4", ())
    assert lz4.pages >= SAMPLE // 4096
    assert lz4.seconds >= 0.1
    assert not Path(f"/tmp/{name}").exists()
