"""The packages, built as `make wheel` and `make deb` build them."""

from pathlib import Path
from typing import NamedTuple

import pytest
from bare_roots import run_ci


class Built(NamedTuple):
    sdist: Path
    wheel: Path


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run_ci("wheel", folder)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return Built(sdist, wheel)


@pytest.fixture(scope="session")
def debian_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deb")
    run_ci("deb", folder)
    (package,) = folder.glob("*.deb")
    return package
