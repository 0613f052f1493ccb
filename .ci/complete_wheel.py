#!/usr/bin/env python3
"""Add licence texts and a software bill of materials for the libraries in a wheel.

usage: complete_wheel.py WHEEL FOLDER     writes the completed wheel to FOLDER

auditwheel repaired WHEEL on the Debian that its libraries come from. The licence texts are those of
Debian's packages, with the common licences that they refer to. The bill is CycloneDX, in
``.dist-info/sboms/`` (PEP 770): auditwheel's, with licences, checksums and source packages added.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# Package of Debian to the licence (SPDX) of its library; its copyright file covers more files.
LICENSES = {"libtraceevent1": "LGPL-2.1-only", "libzstd1": "BSD-3-Clause"}
DOCUMENTS = Path("/usr/share/doc")
COMMON = Path("/usr/share/common-licenses")


def main(wheel: str, folder: str) -> None:
    """Write the completed wheel to ``folder``."""
    with tempfile.TemporaryDirectory() as temporary:
        _wheel_tool("unpack", "--dest", temporary, wheel)
        (tree,) = Path(temporary).iterdir()
        complete(tree)
        _wheel_tool("pack", "--dest-dir", folder, str(tree))


def _wheel_tool(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "wheel", *words], check=True)


def complete(tree: Path) -> None:
    """Add licence texts and the bill to an unpacked wheel."""
    (info,) = tree.glob("*.dist-info")
    written = info / "sboms/auditwheel.cdx.json"
    bill = json.loads(written.read_text())
    written.unlink()
    bundled = [part for part in bill["components"] if part["purl"].startswith("pkg:deb/")]
    libraries = sorted(tree.glob("*.libs/*"))
    if len(libraries) != len(bundled):
        sys.exit(f"{len(libraries)} libraries, but the bill lists {len(bundled)}")
    texts: list[str] = []
    for part in bundled:
        texts += _copy_licenses(part["name"], info / "licenses")
        _describe(part, libraries)
    _add_own_license(bill, info / "METADATA")
    (info / "sboms/foreread.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")
    _add_to_metadata(info / "METADATA", texts, {_license(part["name"]) for part in bundled})


def _license(package: str) -> str:
    if package not in LICENSES:
        sys.exit(f"the wheel bundles {package}: add its licence to LICENSES in {__file__}")
    return LICENSES[package]


def _copy_licenses(package: str, licenses: Path) -> list[str]:
    """Copy a package's licence texts; return their names below ``licenses``."""
    copyright_file = DOCUMENTS / package / "copyright"
    named = set(re.findall(rf"{COMMON}/([\w.-]*\w)", copyright_file.read_text(encoding="utf-8")))
    (licenses / package).mkdir(parents=True)
    shutil.copyfile(copyright_file, licenses / package / "copyright")
    for name in named:
        shutil.copyfile(COMMON / name, licenses / package / name)
    return [f"{package}/{name}" for name in ("copyright", *sorted(named))]


def _describe(part: dict[str, Any], libraries: list[Path]) -> None:
    """Add the licence, the checksum of the library in the wheel and its source package."""
    package = part["name"]
    stem = re.sub(r"\d+$", "", package)
    (library,) = (path for path in libraries if path.name.startswith(stem))
    part["licenses"] = [{"license": {"id": _license(package)}}]
    part["hashes"] = [
        {"alg": "SHA-256", "content": hashlib.sha256(library.read_bytes()).hexdigest()}
    ]
    part["properties"] = [
        {"name": "foreread:file", "value": f"{library.parent.name}/{library.name}"},
        {"name": "foreread:source-package", "value": _source_package(package)},
    ]


def _source_package(package: str) -> str:
    query = ["dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package]
    return subprocess.run(query, check=True, capture_output=True, text=True).stdout


def _add_own_license(bill: dict[str, Any], metadata: Path) -> None:
    """Give foreread's own component the licence that its metadata states."""
    stated = re.search(r"^License-Expression: (.*)$", metadata.read_text(encoding="utf-8"), re.M)
    if not stated:
        sys.exit(f"{metadata.name} states no licence")
    for part in (bill["metadata"]["component"], *bill["components"]):
        if part["name"] == "foreread":
            part["licenses"] = [{"expression": stated[1]}]


def _add_to_metadata(path: Path, texts: list[str], licenses: set[str]) -> None:
    """State the licences of the libraries, and name their texts, in the wheel's METADATA."""
    head, blank, body = path.read_text(encoding="utf-8").partition("\n\n")
    lines = []
    for line in head.split("\n"):
        if line.startswith("License-Expression: "):
            lines.append(" AND ".join([line, *sorted(licenses)]))
        else:
            lines.append(line)
    lines += [f"License-File: {name}" for name in texts]
    path.write_text("\n".join(lines) + blank + body, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
