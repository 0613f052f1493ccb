"""Jobs on this machine whose foreread is dead are ended; those of the living are kept."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from foreread.boards.base.owner import owner_tag
from foreread.boards.target import LocalTarget
from foreread.tracer.local import jobs
from foreread.tracer.remote import job as remote_job
from foreread.tracer.remote import watch

DEAD = f"{os.getpid()}-1"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of a job of a foreread that is dead since, out of sight of other tests."""
    monkeypatch.setattr(jobs, "PLACES", (tmp_path,))
    with remote_job.Job(LocalTarget(), watch.PARTS) as made:
        made.settings({"lock_wait_s": "0"}, [])
        copied = Path(shutil.copytree(made.folder, tmp_path / Path(made.folder).name))
    (copied / "host").write_text(f"{DEAD}\n")
    return copied


def test_a_job_of_a_dead_foreread_is_finished_by_its_own_script(folder):
    script = folder / "job.sh"
    text = script.read_text()
    script.write_text("exit 1")
    assert jobs.jobs_left() == [folder]
    assert jobs.end_jobs() == []
    script.write_text(text)
    assert jobs.end_jobs() == [str(folder)]
    assert not folder.exists()


@pytest.mark.parametrize("death", ["kill -9 $$", "kill -SEGV $$", "exit 2"])
def test_a_job_whose_shell_dies_for_want_of_memory_is_finished_by_another(folder, death):
    script, died = folder / "job.sh", folder.with_name("died")
    script.write_text(f'[ -e "{died}" ] || {{ : >"{died}"; {death}; }}\n{script.read_text()}')
    assert jobs.end_jobs() == [str(folder)]
    assert died.exists()
    assert not folder.exists()


def test_a_job_whose_owner_is_killed_meanwhile_is_finished_all_the_same(folder):
    os.mkfifo(folder / "wake")
    owner = subprocess.Popen(["sh", "-c", 'read -r _ <"$0/wake"; kill -9 $$', folder])
    started = Path(f"/proc/{owner.pid}/stat").read_text().rpartition(") ")[2].split()[19]
    (folder / "owner").write_text(f"{owner.pid} {started}\n")
    assert jobs.end_jobs() == [str(folder)]
    owner.wait()
    assert owner.returncode == -signal.SIGKILL


def test_a_job_that_has_no_settings_yet_is_removed(folder):
    (folder / "settings").unlink()
    (folder / "job.sh").unlink()
    assert jobs.end_jobs() == [str(folder)]
    assert not folder.exists()


def test_jobs_of_the_living_and_of_other_machines_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "PLACES", (tmp_path,))
    begins = ""  # its host is not written yet
    names = {"0": f"{owner_tag()}\n", "1": f"{DEAD}\n", "2": None, "4": begins}
    for name, host in names.items():
        (tmp_path / f"foreread-{name * 16}").mkdir()
        if host is not None:
            (tmp_path / f"foreread-{name * 16}/host").write_text(host)
    (tmp_path / f"foreread-{'3' * 16}").symlink_to(f"foreread-{'1' * 16}")
    (tmp_path / "foreread-1-2").mkdir()
    (tmp_path / "foreread-1-2/host").write_text(f"{DEAD}\n")
    assert jobs.jobs_left() == [tmp_path / f"foreread-{'1' * 16}"]


def test_a_job_on_this_machine_names_its_foreread():
    with remote_job.Job(LocalTarget(), watch.PARTS) as made:
        assert Path(made.folder, "host").read_text().strip() == owner_tag()
        assert Path(made.folder) not in jobs.jobs_left()
