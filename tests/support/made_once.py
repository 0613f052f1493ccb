"""Results about shipped captures that take seconds to compute: made once in a run of tests.

The workers of pytest-xdist have temporary folders below one folder. The first worker that needs a
result makes it there, and the others wait for it. Tests only look at the results.
"""

from __future__ import annotations

import fcntl
import pickle
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import foreread.analyzer.report.make
from foreread.analyzer.advise.advise import Advice, advise
from foreread.analyzer.suite.predicted import predict_suite
from foreread.analyzer.suite.read import read_suite
from foreread.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples/python-start"
CAPTURE = EXAMPLES / "python-start.capture.tar.xz"
SWEEP = EXAMPLES / "python-start.sweep.json"
SUITE = Path(__file__).parents[1] / "foreread/data/suite/suite.toml"


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return ``folder``, which ``make`` fills if no other worker has."""
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder.with_suffix(".done")
        if not done.exists():
            folder.mkdir()  # after a make that failed this fails, too
            make(folder)
            done.touch()
    return folder


def make_advice(folder: Path) -> None:
    """Write the advice by the command; beside it what it prints, and the object of Python."""
    made = []

    def advised(*args: Any, **more: Any) -> Advice:
        made.append(advise(*args, **more))
        return made[0]

    words = ["advise", str(CAPTURE), "--json", "-o", folder.name]
    command = patch("foreread.cli.commands.advise.advise", advised)
    with chdir(folder.parent), command, redirect_stdout(StringIO()) as printed:
        assert main(words) == 0
    folder.with_suffix(".json").write_text(printed.getvalue())
    folder.with_suffix(".pickle").write_bytes(pickle.dumps(made[0]))


def make_report(folder: Path, advice: Advice) -> None:
    """Write the report of the capture and its sweep by the command, with all figures."""
    with patch.object(foreread.analyzer.report.make, "advise", lambda *_, **__: advice):
        assert main(["report", str(CAPTURE), str(SWEEP), "-o", str(folder)]) == 0


def make_suite(folder: Path) -> None:
    """Predict the suite of captures from two boards."""
    (folder / "prediction").write_bytes(pickle.dumps(predict_suite(read_suite(SUITE))))
