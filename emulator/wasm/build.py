"""Compiles the core to WebAssembly: ``python -m foreread.emulator.wasm.build``.

The compiler is pinned, since another one makes other bytes. ``core.wasm`` beside this file is what
it makes; a test compiles it again and compares the bytes.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from foreread.emulator.error import EmulatorError

HERE = Path(__file__).parent
EMULATOR = HERE.parent
CORE = HERE / "core.wasm"
COMPILER, VERSION = "clang-14", "14.0.6"
PACKAGES = "clang-14 lld-14 wasi-libc libclang-rt-14-dev-wasm32"
FLAGS = (
    "--target=wasm32-wasi",
    "-mexec-model=reactor",
    "-std=c11",
    "-O2",
    "-ffp-contract=off",
    "-mbulk-memory",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-g0",
    "-Wl,--gc-sections",
    "-Wl,--strip-all",
    "-Wl,-z,stack-size=262144",
)


class BuildError(EmulatorError, OSError):
    """The compiler is missing, is another one, or fails; ``remedy`` says what to do."""


def missing() -> str | None:
    """Return what this machine lacks of the pinned compiler; None if nothing."""
    try:
        version = _run(COMPILER, "-dumpversion").strip()
        installed = _run(COMPILER, FLAGS[0], "-print-file-name=libc.a").strip()
    except FileNotFoundError:
        return f"{COMPILER} is not installed"
    if version != VERSION:
        return f"{COMPILER} is version {version}, and {VERSION} is needed"
    return None if Path(installed).is_absolute() else "wasi-libc is not installed"


def build(output: Path) -> None:
    """Write the module to ``output``. Raises BuildError."""
    lacking = missing()
    if lacking:
        raise BuildError(lacking, f"on Debian 12: apt-get install {PACKAGES}")
    sources = [Path("wasm/shim.c")]
    sources += sorted(path.relative_to(EMULATOR) for path in EMULATOR.glob("core/linux/*.c"))
    try:
        _run(COMPILER, *FLAGS, "-I.", *map(str, sources), "-o", str(output.absolute()))
    except subprocess.CalledProcessError as error:
        raise BuildError(error.stderr.strip(), "mend the source") from error


def _run(*command: str) -> str:
    """Run a command in ``emulator``, so that no folder of this machine enters the module."""
    done = subprocess.run(command, cwd=EMULATOR, check=True, capture_output=True, text=True)
    return done.stdout


def is_current() -> bool:
    """Return whether the shipped module is what the sources make. Raises BuildError."""
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder, CORE.name)
        build(again)
        return again.read_bytes() == CORE.read_bytes()


if __name__ == "__main__":
    build(CORE)
    CORE.chmod(0o644)
