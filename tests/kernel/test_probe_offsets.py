"""The table of offsets is what kernels' headers, and their BTF, say."""

from __future__ import annotations

from contextlib import closing

import pytest

from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.boards.emulated.packages import unpack
from foreread.boards.emulated.parts import Parts
from foreread.boards.emulated.slowdisk_build import _relocate
from foreread.tracer.probes.make_table import derive
from foreread.tracer.probes.offsets import find_offsets

pytestmark = pytest.mark.boards

# By board; the kernels of the others have BTF, and are not in the table.
UNAME = {
    "x86_64": "x86_64",
    "arm64": "aarch64",
    "armhf": "armv7l",
    "mipsel": "mips",
    "s390x": "s390x",
}


@pytest.mark.parametrize("name", UNAME)
def test_the_table_agrees_with_the_headers(name, tmp_path):
    parts = Parts(name)
    parts.boot_files()  # for which the headers are fetched
    debs = max((parts.cache / name).glob("debs-headers-6.1.*"))
    unpack(sorted(debs.glob("*.deb")), tmp_path)
    tree = tmp_path / "usr/src" / debs.name.replace("debs", "linux", 1)
    _relocate(tree / "Makefile", tmp_path)
    entry = derive(tree, UNAME[name], None, parts.machine.cross)
    assert tree.name.endswith(entry.release)
    assert entry.offsets == find_offsets(entry.release, UNAME[name], None).of


@pytest.mark.parametrize("name", ["x86_64", "arm64"])
def test_the_table_agrees_with_the_kernels_btf(name, tmp_path):
    with closing(EmulatedTarget(LiveOptions(name))) as target:
        release, machine = target.run(["uname", "-rm"]).stdout.decode().split()
        target.pull("/sys/kernel/btf/vmlinux", tmp_path / "btf")
    assert machine == UNAME[name]
    own = find_offsets(release, machine, (tmp_path / "btf").read_bytes())
    assert own.origin == "BTF"
    assert own.of == find_offsets(release, machine, None).of
