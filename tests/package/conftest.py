"""The packages, built as `make wheel` and `make deb` build them."""

import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from bare_roots import run_ci


class Built(NamedTuple):
    sdist: Path
    wheel: Path


def build(folder: Path, architecture: str) -> Built:
    run_ci("wheel", folder, architecture)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return Built(sdist, wheel)


@pytest.fixture(scope="session")
def architectures():
    """This machine's architecture, in Debian's words, and the other one."""
    own = subprocess.run(
        ["dpkg", "--print-architecture"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return own, "amd64" if own == "arm64" else "arm64"


@pytest.fixture(scope="session")
def built(tmp_path_factory, architectures):
    return build(tmp_path_factory.mktemp("dist"), architectures[0])


@pytest.fixture(scope="session")
def emulated(tmp_path_factory, architectures):
    """What the other machine's wheel is, built under QEMU."""
    return build(tmp_path_factory.mktemp("emulated"), architectures[1])


@pytest.fixture(scope="session")
def debian_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deb")
    run_ci("deb", folder)
    (package,) = folder.glob("*.deb")
    return package
