"""Build foreread: pure Python packages and four small C extensions.

``foreread.analyzer.ingest._readers`` needs libtraceevent, zlib and zstd (found by pkg-config);
``foreread.analyzer.program._follow``, ``foreread.emulator._fixed`` and ``foreread.emulator._linux``
need a C compiler only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from glob import glob
from pathlib import Path

from setuptools import Command, Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

C_FLAGS = ["-std=c11", "-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-fvisibility=hidden"]
# A Python compiled with -g passes that on, and debug information names local folders, unless the
# builder of a distribution maps them.
if "-ffile-prefix-map" not in os.environ.get("CFLAGS", ""):
    C_FLAGS.append("-g0")
if os.environ.get("FOREREAD_WERROR"):
    C_FLAGS.append("-Werror")
LIMITED_API = [("Py_LIMITED_API", "0x030b0000")]


def pkg_config(option: str, *libraries: str) -> list[str]:
    """Return the words pkg-config prints, or stop with the packages to install."""
    command = ["pkg-config", option, *libraries]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    except FileNotFoundError:
        sys.exit("setup.py: pkg-config is missing; on Debian: apt-get install pkg-config")
    except subprocess.CalledProcessError as error:
        sys.exit(
            f"setup.py: {error.stderr.strip()}\n"
            "on Debian: apt-get install libtraceevent-dev zlib1g-dev libzstd-dev"
        )


class BuildWithoutRpath(build_ext):
    """Leaves out the rpath that a Python built in somebody's home (pyenv) passes on.

    The extensions are built at the same time.
    """

    def finalize_options(self) -> None:
        """Build as many at once as there are processors, if no number is given."""
        super().finalize_options()
        self.parallel = self.parallel or True

    def build_extensions(self) -> None:
        """Build them."""
        linker = self.compiler.linker_so
        self.compiler.linker_so = [word for word in linker if not word.startswith("-Wl,-rpath")]
        super().build_extensions()


class BuildManual(Command):
    """Writes the man pages and the JSON Schemas with the built program, for share/ of a wheel.

    Where the program does not run, as in a build for another machine, there are none.
    """

    WRITERS = (
        ("share/man/man1", "docs.tools.man"),
        ("share/foreread/schemas", "docs.tools.json_schemas"),
    )
    user_options = ()
    editable_mode = False

    def initialize_options(self) -> None:
        """Begin without a folder."""
        self.build_base: str = None  # type: ignore[assignment]  # what setuptools fills in
        self.build_lib: str = None  # type: ignore[assignment]

    def finalize_options(self) -> None:
        """Take the folders of the build."""
        names = ("build_base", "build_lib")
        self.set_undefined_options("build", *((name, name) for name in names))

    def run(self) -> None:
        """Write them."""
        if self.editable_mode:
            return
        root = os.path.dirname(os.path.abspath(__file__))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([self.build_lib, root])}
        files = []
        for place, writer in self.WRITERS:
            folder = Path(self.build_base, place)
            shutil.rmtree(folder, ignore_errors=True)
            # -B: compiled modules in the build folder would get into the wheel, with their times.
            command = [sys.executable, "-P", "-B", "-m", writer, str(folder)]
            if subprocess.run(command, env=environment, check=False).returncode:
                self.warn(f"{place} stays empty: python -m {writer} failed, see above")
                continue
            files.append((place, sorted(map(str, folder.iterdir()))))
        self.distribution.data_files = files

    def get_outputs(self) -> list[str]:
        """Return no files of packages: these are installed as data."""
        return []

    def get_output_mapping(self) -> dict[str, str]:
        """Return none, too."""
        return {}

    def get_source_files(self) -> list[str]:
        """Return none: MANIFEST.in lists the writers."""
        return []


class Build(build):
    """Builds the program, then what it writes itself."""

    sub_commands = (*build.sub_commands, ("build_manual", None))


READER_LIBRARIES = ("libtraceevent", "zlib", "libzstd")

# All rooms are packages of foreread, through links to the folders beside it. An archive has none.
for room in ("analyzer", "boards", "emulator", "tracer"):
    link = Path("foreread", room)
    if not link.exists():
        link.symlink_to(Path("..", room))

setup(
    ext_modules=[
        Extension(
            "foreread.analyzer.ingest._readers",
            sources=[
                *sorted(glob("analyzer/ingest/*.c")),
                *sorted(glob("analyzer/ingest/core/*.c")),
            ],
            depends=sorted(glob("analyzer/ingest/**/*.h", recursive=True)),
            include_dirs=["analyzer/ingest/core"],
            define_macros=LIMITED_API,
            extra_compile_args=[*C_FLAGS, *pkg_config("--cflags", *READER_LIBRARIES)],
            extra_link_args=pkg_config("--libs", *READER_LIBRARIES),
            py_limited_api=True,
        ),
        Extension(
            "foreread.analyzer.program._follow",
            sources=["analyzer/program/_follow.c", *sorted(glob("analyzer/program/core/*.c"))],
            depends=["emulator/arrays.h", *sorted(glob("analyzer/program/core/*.h"))],
            include_dirs=["emulator", "analyzer/program/core"],
            define_macros=LIMITED_API,
            extra_compile_args=C_FLAGS,
            py_limited_api=True,
        ),
        Extension(
            "foreread.emulator._fixed",
            sources=["emulator/_fixed.c", *sorted(glob("emulator/core/fixed/*.c"))],
            depends=["emulator/arrays.h", *sorted(glob("emulator/core/fixed/*.h"))],
            include_dirs=["emulator"],
            define_macros=LIMITED_API,
            extra_compile_args=C_FLAGS,
            py_limited_api=True,
        ),
        Extension(
            "foreread.emulator._linux",
            sources=["emulator/_linux.c", *sorted(glob("emulator/core/linux/*.c"))],
            depends=["emulator/arrays.h", *sorted(glob("emulator/core/linux/*.h"))],
            include_dirs=["emulator"],
            define_macros=LIMITED_API,
            extra_compile_args=C_FLAGS,
            py_limited_api=True,
        ),
    ],
    cmdclass={"build": Build, "build_ext": BuildWithoutRpath, "build_manual": BuildManual},
    options={
        "bdist_wheel": {"py_limited_api": "cp311"},
        "build_ext": {"parallel": os.cpu_count()},
    },
)
