"""Every exception of a package derives from the package's base, which carries a remedy."""

import importlib
import pkgutil

import pytest

from foreread.analyzer.ingest._readers import ReaderError
from foreread.analyzer.ingest.cursor import ShortData
from foreread.analyzer.reference.ring_walk import Damaged
from foreread.analyzer.tuner.evaluation import TargetGone
from foreread.boards.base.document import DocumentError
from foreread.boards.base.interrupts import Interrupted
from foreread.cli import main
from foreread.cli.arguments import UsageError
from foreread.error import ERRORS
from foreread.tracer.formats.tar_members import TarDamage
from foreread.tracer.local.disk.probe import ProbeFailed

ROOMS = ("analyzer", "boards", "emulator", "tracer")
PACKAGES = ("foreread", *(f"foreread.{room}" for room in ROOMS))
# Exit code 2 with the usage, and an orderly end by a signal: neither is an error of a package.
APART = (UsageError, Interrupted)
# Caught where they are expected; they do not reach a user. Nor do names that begin with "_".
CAUGHT = (DocumentError, ReaderError, ShortData, Damaged, TarDamage, TargetGone, ProbeFailed)


def _exceptions(package):
    for found in pkgutil.walk_packages([package.replace(".", "/")], f"{package}."):
        if found.name.endswith("__main__") or ".templates" in found.name:
            continue
        module = importlib.import_module(found.name)
        types = [one for one in vars(module).values() if isinstance(one, type)]
        for one in types:
            if issubclass(one, BaseException) and one.__module__ == found.name:
                yield one


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exception_derives_from_the_base_of_its_package(package):
    (base,) = [one for one in ERRORS if one.__module__ == f"{package}.error"]
    found = set(_exceptions(package))
    assert base in found
    public = {one for one in found if not one.__name__.startswith("_")}
    assert {one for one in public if not issubclass(one, (*ERRORS, *APART, *CAUGHT))} == set()


def test_an_error_without_a_base_keeps_its_traceback(monkeypatch, capsys):
    class Stranger(ValueError):
        remedy = "none: this is a bug"

    def fail(_args):
        raise Stranger("a bug")

    monkeypatch.setattr(main.command_module("doctor"), "run", fail)
    with pytest.raises(Stranger):
        main.main(["doctor"])


@pytest.mark.parametrize("base", ERRORS)
def test_an_error_of_each_package_ends_in_one_line_with_its_remedy(base, monkeypatch, capsys):
    def fail(_args):
        raise base("it failed", "do that")

    monkeypatch.setattr(main.command_module("doctor"), "run", fail)
    assert main.main(["doctor"]) == main.EXIT_FAILED
    assert capsys.readouterr().err == "foreread: it failed -- do that\n"
