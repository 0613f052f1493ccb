"""Pages touched, as probes see them, are the pages loaded at read_ahead_kb=0: on real kernels.

With fault-around off (fault_around_bytes=4096) each first touch of a mapped page is a fault, so
that faults and reads name exactly the pages that the kernel had to load.
"""

from __future__ import annotations

from contextlib import closing

import pytest
from named_recordings import record_named_on
from waiting import left_s

from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.tables import Kind
from foreread.boards.emulated.image import SAMPLE
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.boards.emulated.machines import MACHINES
from foreread.tracer.error import RecordError
from foreread.tracer.probes import definitions
from foreread.tracer.probes.offsets import Offsets, find_offsets
from foreread.tracer.remote.record import record_on
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

pytestmark = pytest.mark.boards

# A copy, since what runs on the board has its own C library mapped, and therefore in memory.
ROOT = "/root/app"
COPY = f"""mkdir -p {ROOT}/usr/bin && cd {ROOT} && cp -a /lib /{SAMPLE} . && cp -a /usr/lib usr &&
    cp -a /usr/bin/madplay usr/bin && {{ [ ! -d /lib64 ] || cp -a /lib64 .; }} && sync"""
PLAY = ["chroot", ROOT, "/usr/bin/madplay", "-Q", "-o", "null:", "-t", "1", f"/{SAMPLE}"]
FAULT_AROUND = "/sys/kernel/debug/fault_around_bytes"
BTF = {"x86_64", "arm64", "arm64-16k", "riscv64"}  # the boards whose kernels have it


def tell(capsys, text):
    with capsys.disabled():
        print(f"\n  {text}", end="")


def shell(target, line):
    done = target.run(["sh", "-c", line], timeout_s=left_s())
    assert done.status == 0, done.stderr
    return done.stdout.decode()


def board(name):
    target = EmulatedTarget(LiveOptions(name))
    try:
        shell(target, COPY)
        shell(target, "mount -t debugfs debug /sys/kernel/debug")
        target.write_knob(FAULT_AROUND, "4096")
    except BaseException:
        target.close()
        raise
    return closing(target)


def record(target, output, read_ahead_kb=0):
    options = RecordOptions(RunOptions(PLAY), probes=True, read_ahead_kb=read_ahead_kb)
    return record_named_on(target, options, output)


def pages_of_application(target):
    """Return how many pages each file of the copy has, by inode."""
    listed = shell(target, f"find {ROOT} -xdev -type f -exec stat -c '%i %s' {{}} +")
    return {int(ino): -(-int(size) // 4096) for ino, size in map(str.split, listed.splitlines())}


def pages_touched(recording, sizes):
    """Return the (inode, page) that fault and read events name, within their files."""
    events, touched = recording.trace.events, set()
    columns = (events[name].tolist() for name in ("kind", "ino", "index", "value"))
    for kind, ino, index, value in zip(*columns, strict=True):
        end = {Kind.FAULT: index, Kind.GET_PAGES: value}.get(kind, -1) + 1
        touched |= {(ino, page) for page in range(index, min(end, sizes.get(ino, 0)))}
    return touched


def pages_loaded(recording, sizes):
    files, accesses = recording.files, recording.accesses
    inodes = files["ino"][accesses["file"]].tolist()
    found = set(zip(inodes, accesses["page"].tolist(), strict=True))
    return {(ino, page) for ino, page in found if ino in sizes}


def leftovers(target):
    look = "mount -t tracefs t /sys/kernel/tracing; cd /sys/kernel/tracing; cat kprobe_events; "
    return shell(target, look + "ls instances; cd /; umount /sys/kernel/tracing")


@pytest.mark.parametrize("name", [name for name in MACHINES if name != "mipsel"])
def test_pages_touched_are_the_pages_loaded(name, tmp_path, capsys):
    with board(name) as target:
        capture = record(target, tmp_path / "capture")
        sizes = pages_of_application(target)
        assert leftovers(target) == ""
    recording = load(tmp_path / "capture")
    touched, loaded = pages_touched(recording, sizes), pages_loaded(recording, sizes)
    tell(capsys, f"{name}: {len(touched)} pages touched, {len(loaded)} loaded")
    assert len(loaded) > 100
    assert touched == loaded
    assert sum(capture.lost.values()) == 0
    origin = "BTF" if name in BTF else "table"
    assert any(note.startswith(f"probes: struct offsets from {origin}") for note in capture.notes)
    assert_mappings_and_opens(recording, sizes)


def test_mips_is_not_probed(tmp_path):
    """tests/analyzer/ingest/test_machines.py has the pages of a short run that was, and equal."""
    with closing(EmulatedTarget(LiveOptions("mipsel"))) as target:
        options = RecordOptions(RunOptions(["madplay", "--version"]), probes=True)
        with pytest.raises(RecordError, match="brought down a MIPS kernel"):
            record_on(target, options, tmp_path / "capture")
        assert leftovers(target) == ""


def assert_mappings_and_opens(recording, sizes):
    read_fields = recording.trace.read_fields
    opened = set(read_fields("foreread:openat", ("path",))["path"].tolist())
    assert {b"/usr/bin/madplay", f"/{SAMPLE}".encode(), b"/etc/ld.so.cache"} <= opened
    maps = read_fields("foreread:file_map", ("file", "ino", "index", "len"))
    mapped = {
        (ino, page)
        for file, ino, index, length in zip(
            *(maps[n].tolist() for n in ("file", "ino", "index", "len")), strict=True
        )
        if file
        for page in range(index, index + -(-length // 4096))
    }
    faults = recording.trace.events.take(recording.trace.events["kind"] == Kind.FAULT)
    for ino, page in zip(faults["ino"].tolist(), faults["index"].tolist(), strict=True):
        assert ino not in sizes or (ino, page) in mapped


def test_probes_show_accesses_where_the_kernel_read_ahead(tmp_path, capsys):
    """Without them a contaminated capture takes all that was read ahead for accessed."""
    with board("armhf") as target:
        record(target, tmp_path / "0")
        record(target, tmp_path / "128", read_ahead_kb=128)
        sizes = pages_of_application(target)
    clean, ahead = load(tmp_path / "0"), load(tmp_path / "128")
    assert ahead.contaminated and not clean.contaminated
    expected, found = pages_loaded(clean, sizes), pages_loaded(ahead, sizes)
    tell(capsys, f"armhf: {len(expected)} accessed, {len(found)} seen at 128 KiB")
    assert ahead.counts["readahead"] > 0
    assert found == expected


@pytest.mark.parametrize("member", ["vm_area_struct.vm_file", "inode.i_ino", "kiocb.ki_filp"])
def test_wrong_offsets_are_refused(member, tmp_path, monkeypatch, capsys):
    def wrong(*kernel):
        found = find_offsets(*kernel)
        return Offsets({**found.of, member: found.of[member] + 4}, found.origin)

    monkeypatch.setattr(definitions, "find_offsets", wrong)
    with board("armhf") as target:
        record(target, tmp_path / "capture")
    recording = load(tmp_path / "capture")
    refused = [note for note in recording.notes if "refused" in note]
    tell(capsys, f"{member}: {'; '.join(refused)}")
    kinds = set(recording.trace.events["kind"].tolist())
    wanted = {"kiocb.ki_filp": {Kind.FAULT}, "vm_area_struct.vm_file": {Kind.GET_PAGES}}
    assert refused
    assert kinds & {Kind.FAULT, Kind.GET_PAGES} == wanted.get(member, set())
