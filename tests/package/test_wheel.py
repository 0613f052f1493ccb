"""What is in the wheel and in the source archive."""

import email
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from bare_roots import ROOT, run_ci

from foreread.version import VERSION

LIBRARIES = {"libtraceevent1": "LGPL-2.1-only", "libzstd1": "BSD-3-Clause"}

pytestmark = pytest.mark.package


def run(*command: str | Path, **options) -> str:
    """Return what the command prints; fail with what it complained of."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def unpacked(built, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(built.wheel) as wheel:
        wheel.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def info(unpacked):
    return unpacked / f"foreread-{VERSION}.dist-info"


def test_one_wheel_for_every_python_from_3_11_and_glibc_of_debian_12(built):
    name = re.fullmatch(
        rf"foreread-{VERSION}-cp311-abi3-manylinux_2_(\d+)_\w+\.whl", built.wheel.name
    )
    assert name
    assert int(name[1]) <= 36


def test_tag_covers_every_symbol_of_glibc_that_the_wheel_needs(built, unpacked):
    tagged = int(re.search(r"manylinux_2_(\d+)", built.wheel.name)[1])
    files = [path for path in unpacked.rglob("*.so*") if path.is_file()]
    needed = [
        int(n) for path in files for n in re.findall(r"GLIBC_2\.(\d+)", run("readelf", "-V", path))
    ]
    assert len(files) == 4 + len(LIBRARIES)
    assert max(needed) <= tagged


def test_extensions_find_their_libraries_in_the_wheel_only(unpacked):
    for path in unpacked.rglob("*.so"):
        libraries = os.path.relpath(unpacked / "foreread.libs", path.parent)
        for run_path in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", run("readelf", "-d", path)):
            assert run_path == f"$ORIGIN/{libraries}"


def test_wheel_names_no_path_of_the_building_machine(unpacked):
    words = (ROOT, Path.home(), Path(sys.prefix), Path("/tmp/"), Path("/srv/shared"))
    paths = [str(path).encode() for path in words]
    extensions = list(unpacked.rglob("*.abi3.so"))
    assert len(extensions) == 4
    for path in extensions:
        content = path.read_bytes()
        assert not [text for text in paths if text in content]


def test_each_bundled_library_has_its_licence_texts(info):
    metadata = email.message_from_string((info / "METADATA").read_text())
    named = metadata.get_all("License-File")
    assert all((info / "licenses" / name).stat().st_size for name in named)
    for package, licence in LIBRARIES.items():
        assert f"{package}/copyright" in named
        assert licence in metadata["License-Expression"].split(" AND ")
    assert (
        "GNU LESSER GENERAL PUBLIC LICENSE"
        in (info / "licenses/libtraceevent1/LGPL-2.1").read_text()
    )


def test_bill_of_materials_lists_the_libraries_as_they_are_in_the_wheel(info, unpacked):
    bill = json.loads((info / "sboms/foreread.cdx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    assert [path.name for path in (info / "sboms").iterdir()] == ["foreread.cdx.json"]
    parts = {part["name"]: part for part in bill["components"]}
    assert set(parts) == {"foreread", *LIBRARIES}
    for package, licence in LIBRARIES.items():
        part = parts[package]
        facts = {fact["name"]: fact["value"] for fact in part["properties"]}
        content = (unpacked / facts["foreread:file"]).read_bytes()
        assert part["hashes"] == [
            {"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}
        ]
        assert part["licenses"] == [{"license": {"id": licence}}]
        assert part["purl"].startswith(f"pkg:deb/debian/{package}@")
        assert facts["foreread:source-package"]


def test_wheel_holds_the_packages_and_nothing_else(unpacked):
    top = {path.name for path in unpacked.iterdir()}
    shared = {f"foreread-{VERSION}.data"} & top  # man pages and schemas
    assert top - shared == {"foreread", "foreread.libs", f"foreread-{VERSION}.dist-info"}
    # A board's own kernel builds the slow disk, from its sources.
    headers = {path.parent.name for path in unpacked.rglob("*.h")}
    assert headers == {"slowdisk"}
    assert not [path for path in unpacked.rglob("*") if path.suffix in {".md", ".pyc"}]


def test_the_same_sources_give_the_same_wheel(built, architectures, tmp_path):
    run_ci("wheel", tmp_path, architectures[0])
    assert (tmp_path / built.wheel.name).read_bytes() == built.wheel.read_bytes()


def test_sdist_holds_every_file_of_the_repository(built):
    if not (ROOT / ".git").exists():
        pytest.skip("this machine has a source archive, not a git checkout, to compare with")
    tracked = set(run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT).splitlines())
    with tarfile.open(built.sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    # setup.py makes the links to the rooms.
    links = {f"foreread/{room}" for room in ("analyzer", "boards", "emulator", "tracer")}
    assert tracked - packed <= {".gitignore", *links}
