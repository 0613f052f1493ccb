"""A Dask cluster of this machine: what is lost with a process is done again, and once."""

import shutil
import threading
from pathlib import Path

import duckdb
import fleet_readers
import pytest
from dask_clusters import ROOT, cluster, kill
from fleet_captures import copies
from waiting import left_s, wait_until

import foreread
from foreread.analyzer.fleet.error import FleetError
from foreread.analyzer.fleet.store import rows_sql

PATHS = (ROOT, ROOT / "tests/support")


def stored(store):
    """Return the keys of all summaries, and the files of the rows."""
    if not list(Path(store).rglob("*.parquet")):
        return [], []
    found = duckdb.execute(f"SELECT key FROM {rows_sql(str(store))} WHERE row = 'capture'")
    return [key for (key,) in found.fetchall()], list(Path(store).rglob("*.parquet"))


class Analysis(threading.Thread):
    """fleet_analyse in a thread, so that the test can kill what it needs."""

    def __init__(self, *words, **options):
        super().__init__()
        self.words, self.options = words, options
        self.found, self.error = None, None

    def run(self):
        try:
            self.found = foreread.fleet_analyse(*self.words, **self.options)
        except FleetError as error:
            self.error = error


@pytest.fixture
def gate(tmp_path, monkeypatch):
    """Captures wait until this file is there; ``begun`` shows that one is read."""
    monkeypatch.setenv("FLEET_BEGUN", str(tmp_path / "begun"))
    monkeypatch.setenv("FLEET_GO", str(tmp_path / "go"))
    return tmp_path / "go"


@pytest.mark.thorough
def test_killed_workers_and_schedulers_lose_nothing_and_repeat_nothing(tmp_path, gate):
    captures, store = tmp_path / "captures", tmp_path / "store"
    first = copies(captures, 1)[0].parent
    options = {"batch": 1, "reader": fleet_readers.waiting}

    with cluster(tmp_path, 2, PATHS) as made:
        gate.touch()
        done = foreread.fleet_analyse([first], store, dask=made.address, **options)
        assert (done.analysed, done.workers) == (1, 2)
        before = stored(store)
        copies(captures, 5)

        # A worker is killed while it reads: the other one reads that capture, too.
        gate.unlink()
        (tmp_path / "begun").unlink()
        killed = Analysis([captures], store, dask=made.address, **options)
        killed.start()
        wait_until((tmp_path / "begun").exists)
        kill(made.workers[0])
        gate.touch()
        killed.join(left_s())
        assert (killed.found.stored_before, killed.found.analysed) == (1, 4)
        keys, files = stored(store)
        assert len(keys) == len(set(keys)) == 5
        assert set(before[1]) < set(files)

        # The scheduler is killed while its worker reads: what is stored stays.
        copies(captures, 8)
        gate.unlink()
        (tmp_path / "begun").unlink()
        lost = Analysis([captures], store, dask=made.address, **options)
        lost.start()
        wait_until((tmp_path / "begun").exists)
        kill(made.scheduler)
        lost.join(left_s())
        assert "was lost; what was analysed is stored" in str(lost.error)
        assert "repeat the command" in lost.error.remedy
        assert stored(store) == (keys, files)

    # A new cluster: only what is missing is analysed, and then nothing.
    gate.touch()
    with cluster(tmp_path, 1, PATHS) as made:
        rest = foreread.fleet_analyse([captures], store, dask=made.address, **options)
        again = foreread.fleet_analyse([captures], store, dask=made.address, **options)
    assert (rest.listed, rest.stored_before, rest.analysed) == (8, 5, 3)
    assert (again.listed, again.stored_before, again.analysed) == (8, 8, 0)
    keys, _ = stored(store)
    assert len(keys) == len(set(keys)) == 8


@pytest.mark.thorough
def test_workers_of_another_version_or_without_foreread_are_refused(tmp_path):
    other = tmp_path / "other"
    shutil.copytree(ROOT / "foreread", other / "foreread", ignore=shutil.ignore_patterns("cli"))
    (other / "foreread/version.py").write_text('VERSION = "0.0.1"\n')
    paths = (other, *PATHS)
    capture = copies(tmp_path / "captures", 1)
    with cluster(tmp_path, 1, paths) as made, pytest.raises(FleetError) as error:
        foreread.fleet_analyse(capture, tmp_path / "store", dask=made.address)
    assert "has foreread 0.0.1" in str(error.value)
    assert "pip install foreread==" in error.value.remedy
    assert not (tmp_path / "store").exists()


@pytest.mark.thorough
def test_a_cluster_without_workers_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("distributed.Client.wait_for_workers", lambda *_, **__: None)
    capture = copies(tmp_path / "captures", 1)
    with cluster(tmp_path, 0) as made, pytest.raises(FleetError, match="has no worker") as error:
        foreread.fleet_analyse(capture, tmp_path / "store", dask=made.address)
    assert f"dask worker {made.address} --nthreads 1" in error.value.remedy


@pytest.mark.thorough
def test_a_scheduler_that_does_not_answer_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("foreread.analyzer.fleet.engines._CONNECT_S", 1)
    capture = copies(tmp_path / "captures", 1)
    with pytest.raises(FleetError, match=r"tcp://127\.0\.0\.1:1 does not answer"):
        foreread.fleet_analyse(capture, tmp_path / "store", dask="tcp://127.0.0.1:1")


def test_an_address_that_is_none_is_refused(tmp_path):
    capture = copies(tmp_path / "captures", 1)
    with pytest.raises(FleetError, match="does not answer"):
        foreread.fleet_analyse(capture, tmp_path / "store", dask="nowhere://x")
    assert [path.name for path in tmp_path.iterdir()] == ["captures"]
