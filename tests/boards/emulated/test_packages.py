"""apt that is absent, offline or knows nothing; the real one is used in the boards' own tests."""

import pytest

from foreread.boards.emulated.board import Board
from foreread.boards.emulated.error import BoardError, call
from foreread.boards.emulated.guest_protocol import RunPlan
from foreread.boards.emulated.packages import AptRoot, find_kernel, kernel_packages, unpack

PLAN = RunPlan(["true"])


@pytest.fixture
def tools(monkeypatch, tmp_path):
    """Return a function that puts a program into an otherwise empty path."""
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", str(place))

    def add(name, script):
        (place / name).write_text(f"#!/bin/sh\n{script}\n")
        (place / name).chmod(0o755)

    return add


def test_no_apt(tools, tmp_path):
    with pytest.raises(BoardError, match="apt-") as caught:
        Board("arm64", cache=tmp_path / "c").run(PLAN)
    assert "apt" in caught.value.remedy


def test_no_network_and_an_empty_cache(tools, tmp_path):
    tools("apt-get", "echo 'E: Could not resolve host' >&2; exit 100")
    tools("apt-cache", "echo 'E: No packages found' >&2; exit 100")
    with pytest.raises(BoardError, match="Could not resolve host") as caught:
        Board("arm64", cache=tmp_path / "c").run(PLAN)
    assert "network" in caught.value.remedy
    assert not list((tmp_path / "c").glob("arm64/*"))


def test_sources_without_that_kernel(tools, tmp_path):
    tools("apt-get", "")
    tools("apt-cache", "echo linux-image-armmp; echo '  Depends: linux-image-5.10.0-9-armmp'")
    with pytest.raises(BoardError, match=r"no kernel 6\.1 \(armmp\) for armhf") as caught:
        find_kernel(AptRoot(tmp_path / "apt", "armhf"), "6.1", "armmp")
    assert "source" in caught.value.remedy


def test_the_release_is_read_off_the_meta_package(tools, tmp_path):
    tools("apt-get", "")
    tools("apt-cache", "echo linux-image-armmp; echo '  Depends: linux-image-6.1.0-50-armmp'")
    apt = AptRoot(tmp_path / "apt", "armhf")
    assert find_kernel(apt, "6.1", "armmp") == "6.1.0-50-armmp"


TARGETS = """
if [ "$1" = indextargets ]; then
    echo 'Ubuntu jammy http://mirror.test/ubuntu'
    echo 'Debian bookworm-updates http://mirror.test/debian'
    echo 'Debian bookworm http://mirror.test/debian'
fi
"""


def test_a_suite_is_read_alone_from_this_machines_mirror(tools, tmp_path):
    tools("apt-get", TARGETS)
    tools("apt-cache", "")
    AptRoot(tmp_path / "apt", "armhf", "trixie").depends("any")
    place = tmp_path / "apt/armhf-trixie"
    line = (place / "sources.list").read_text()
    assert line.startswith("deb ")
    assert line.endswith("http://mirror.test/debian trixie main\n")
    configuration = (place / "apt.conf").read_text()
    assert f'Dir::Etc::sourcelist "{place}/sources.list";' in configuration
    assert 'Dir::Etc::sourceparts "-";' in configuration


def test_a_suite_on_a_machine_without_sources_of_debian(tools, tmp_path):
    tools("apt-get", "echo 'Ubuntu jammy http://mirror.test/ubuntu'")
    with pytest.raises(BoardError, match="no release of Debian") as caught:
        AptRoot(tmp_path / "apt", "armhf", "trixie").depends("any")
    assert "sources.list" in caught.value.remedy


def test_a_kernel_in_several_packages(tools, tmp_path):
    tools("apt-get", "")
    needs = ("linux-base", "linux-binary-7.2-a", "linux-modules-7.2-a", "linux-modules-7.2-b")
    tools("apt-cache", "; ".join(f"echo '  Depends: {name}'" for name in needs))
    found = kernel_packages(AptRoot(tmp_path / "apt", "armhf"), "7.2-a")
    assert found == ["linux-image-7.2-a", "linux-binary-7.2-a", "linux-modules-7.2-a"]


def test_a_file_that_is_not_a_package(tmp_path):
    (tmp_path / "x.deb").write_bytes(b"nothing")
    with pytest.raises(BoardError, match="dpkg-deb failed"):
        unpack([tmp_path / "x.deb"], tmp_path / "into")


def test_the_first_error_is_reported_not_the_summary():
    script = "echo warning >&2; echo 'sh: pahole: not found' >&2; echo 'make: *** 2' >&2; exit 2"
    with pytest.raises(BoardError, match=r"sh failed \(2\): sh: pahole: not found"):
        call(["sh", "-c", script], "")
