"""The shipped WebAssembly module is what the pinned compiler makes of the C core."""

from __future__ import annotations

import pytest

from foreread.emulator.wasm.build import (
    COMPILER,
    CORE,
    PACKAGES,
    BuildError,
    build,
    is_current,
    missing,
)


@pytest.mark.thorough
def test_the_shipped_module_is_built_from_these_sources():
    lacking = missing()
    if lacking:
        pytest.skip(f"this machine lacks the pinned compiler of the WebAssembly module: {lacking}")
    assert is_current(), "type: python -m foreread.emulator.wasm.build"


def test_another_compiler_is_refused_with_the_packages_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError) as caught:
        build(tmp_path / "core.wasm")
    assert COMPILER in str(caught.value)
    assert PACKAGES in caught.value.remedy
    other = tmp_path / COMPILER
    other.write_text("#!/bin/sh\necho 99.0\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(BuildError, match=r"version 99\.0"):
        build(tmp_path / "core.wasm")


def test_the_module_imports_nothing():
    """An import section (2) would name what the page had to supply."""
    data = CORE.read_bytes()
    assert data[:8] == b"\0asm\1\0\0\0"
    assert 2 not in set(_sections(data))


def _sections(data):
    """Yield the ids of a module's sections."""
    at = 8
    while at < len(data):
        yield data[at]
        at, size = at + 1, 0
        for shift in range(0, 35, 7):
            byte = data[at]
            at += 1
            size |= (byte & 127) << shift
            if byte < 128:
                break
        at += size
