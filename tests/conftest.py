"""Keeps the caller's environment from affecting the tests; results that tests share."""

import gc
import os
import pickle
import re
import signal
import subprocess
from functools import partial
from pathlib import Path

import property_tests  # noqa: F401  (chooses the profile of Hypothesis)
import pytest
from inherited import shed
from made_once import made_once, make_advice, make_report, make_suite
from requirements import fail_for_missing_package
from scheduling import ByModule
from tracing_hangs import skip_where_tracing_hangs
from waiting import Limit, forget_limit, limit_restarts

# The threads of pytest-xdist hold no lock that a reader needs; another interpreter takes longer.
os.environ.setdefault("FOREREAD_READER", "fork")

shed()


def end(_number, _frame):
    pytest.exit("ended by SIGTERM")


# Tests that are ended, by timeout(1) for instance, leave mounts and knobs as they were.
signal.signal(signal.SIGTERM, end)


def pytest_xdist_make_scheduler(config, log):
    return ByModule(config, log) if config.getvalue("dist") == "loadscope" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage in what is collected, then and later: it stays until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return fail_for_missing_package((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return fail_for_missing_package((yield))


def pytest_runtest_setup(item):
    """Skip what needs the tracing of a kernel that has crashed: it would wait for ever."""
    if item.get_closest_marker("kernel") and not item.get_closest_marker("boards"):
        skip_where_tracing_hangs()


def pytest_runtest_logreport(report):
    """Say at once what failed: the run may be ended from outside before its summary."""
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        lines = str(crash.message if crash else report.longrepr).splitlines()
        print(f"\n{report.nodeid}, {report.when}, {report.duration:.0f} s: {lines[:1]}", flush=True)


LIMIT = pytest.StashKey[Limit]()


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item, settings):
    """Learn when pytest-timeout will end the test that begins: its waits end before that."""
    item.stash[LIMIT] = Limit(settings.timeout)

    def restart(limit_s):
        item.ihook.pytest_timeout_cancel_timer(item=item)
        limited = settings if limit_s is None else settings._replace(timeout=limit_s)
        item.ihook.pytest_timeout_set_timer(item=item, settings=limited)

    limit_restarts(restart)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item):
    if LIMIT in item.stash:
        item.stash[LIMIT].tear_down()


def pytest_runtest_logfinish():
    forget_limit()


@pytest.fixture(autouse=True, scope="session")
def own_state(tmp_path_factory):
    """Keep the developer's list of judged kernels out of predictions."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """The folder that all workers of this run of tests have."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def advice_folder(shared_folder, own_state):
    """The advice about the shipped example as a folder: advice.json, and the lists."""
    return made_once(shared_folder / "advice", make_advice)


@pytest.fixture(scope="session")
def example_advice(advice_folder):
    """The advice about the shipped example, as ``foreread.advise`` returns it."""
    return pickle.loads(advice_folder.with_suffix(".pickle").read_bytes())


@pytest.fixture(scope="session")
def suite_prediction(shared_folder, own_state):
    """The prediction for tests/foreread/data/suite, as ``foreread.predict_suite`` returns it."""
    folder = made_once(shared_folder / "suite", make_suite)
    return pickle.loads((folder / "prediction").read_bytes())


@pytest.fixture(scope="session")
def example_report(shared_folder, example_advice):
    """The folder of the report of the shipped example with its sweep."""
    return made_once(shared_folder / "report", partial(make_report, advice=example_advice))


def perf_of_another_kernel():
    """Return the folder of a perf that starts, where Ubuntu's own refuses this kernel, or ""."""
    behind = list(Path("/usr/lib/linux-tools").glob("*/perf"))
    if not behind:
        return ""
    wrapper = subprocess.run(["/usr/bin/perf", "--version"], capture_output=True, check=False)
    if wrapper.returncode == 0:
        return ""
    newest = max(behind, key=lambda path: [int(n) for n in re.findall(r"\d+", path.parent.name)])
    return str(newest.parent)


if folder := perf_of_another_kernel():
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
