"""Options that write a result in the form of another tool, too: one for each form."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from foreread.boards.base.outputs import check_file
from foreread.boards.base.written import write_whole
from foreread.cli.arguments.output import add_output


@dataclass(frozen=True)
class Form:
    """A form of a result: its name in words, and the function that returns its bytes.

    The function is imported when it is called, so that the help does not pay for it.
    """

    words: str
    writer: str

    def write(self, path: Path, result: object) -> None:
        """Write a result to a file."""
        module, _, name = self.writer.rpartition(".")
        write_whole(path, getattr(import_module(module), name)(result))


_METRICS = "foreread.analyzer.metrics"
# Forms of a list of metrics, by the name of the option.
FORMS = {
    "openmetrics": Form("OpenMetrics text", f"{_METRICS}.openmetrics.openmetrics"),
    "bencher": Form("Bencher Metric Format", f"{_METRICS}.bencher.bencher"),
    "github-benchmark": Form(
        "JSON of github-action-benchmark", f"{_METRICS}.github_benchmark.github_benchmark"
    ),
    "lava": Form("lava-test-case lines of a LAVA test", f"{_METRICS}.lava.lava"),
}


def add_forms(parser: argparse.ArgumentParser, forms: Mapping[str, Form]) -> None:
    """Add ``--FORM FILE`` for each form."""
    for name, form in forms.items():
        words = f"write the result as {form.words}, too"
        add_output(parser, f"--{name}", metavar="FILE", check=check_file, help=words)


def write_forms(args: argparse.Namespace, forms: Mapping[str, Form], result: object) -> None:
    """Write the files that the arguments name."""
    for name, path in given_forms(args, forms).items():
        forms[name].write(path, result)


def given_forms(args: argparse.Namespace, forms: Mapping[str, Form]) -> dict[str, Path]:
    """Return the files that the arguments name, by form."""
    files = {name: getattr(args, name.replace("-", "_")) for name in forms}
    return {name: path for name, path in files.items() if path is not None}
