"""Kernels whose drop_caches keeps what a processor used last: shell and Python agree on them."""

from __future__ import annotations

import subprocess
from importlib import resources
from pathlib import Path

import pytest
from shells import BUSYBOX, DASH, each_shell

from foreread.tracer.local.cold import keeps_last_used

RELEASES = {
    "3.18.140": True,
    "4.9.337-perf": True,
    "5.10.0-33-amd64": True,
    "5.15": True,
    "6.0.1": True,
    "6.6.63-v8+": True,
    "6.6-rc1": True,
    "6.7.0": False,
    "6.12.117+deb13-cloud-arm64": False,
    "6.60.1": False,
    "7.2.12": False,
    "10.2": False,
    "unknown": False,
}
ASK = 'while read -r release; do keeps_last_used "$release" && echo "$release" || :; done'


def test_python_knows_them():
    assert {release: keeps_last_used(release) for release in RELEASES} == RELEASES


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_a_boards_shell_knows_them(shell):
    text = (resources.files("foreread.tracer.remote") / "lib.sh").read_text()
    done = subprocess.run(
        [*shell, "-c", f"{text}\n{ASK}"],
        input="".join(f"{release}\n" for release in RELEASES),
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout.split() == [release for release, keeps in RELEASES.items() if keeps]


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
@pytest.mark.parametrize("keeps", [True, False])
def test_a_board_flushes_every_mounted_disk_of_such_a_kernel(shell, keeps):
    """Nothing else is looked up: that would cache the root directory for the run."""
    text = (resources.files("foreread.tracer.remote") / "lib.sh").read_text()
    stubs = f'keeps_last_used() {{ {"true" if keeps else "false"}; }}\nblockdev() {{ echo "$*"; }}'
    done = subprocess.run(
        [*shell, "-c", f"{text}\n{stubs}\nrelease_last_used"],
        check=True,
        capture_output=True,
        text=True,
    )
    mounted = [line.split()[0] for line in Path("/proc/mounts").read_text().splitlines()]
    disks = [
        f"--flushbufs {one}" for one in mounted if one[0] == "/" and Path(one).is_block_device()
    ]
    assert done.stderr == ""
    assert done.stdout.splitlines() == (disks if keeps else [])
