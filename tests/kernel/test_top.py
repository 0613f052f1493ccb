"""`foreread top` on this machine: what it counts, and that nothing of it stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from loop_image import loop_image
from machine_lock import nobody_records
from owned import instances_of, jobs_of
from prefetch_replayers import forget
from waiting import left_s, wait_until

PAGES = 2048

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no read was watched"),
]


@pytest.fixture
def cold_file(tmp_path):
    """A file whose pages are not cached, with a name that no terminal may see."""
    with loop_image(tmp_path) as loop, nobody_records():
        path = loop.mountpoint / "cold\x1b[2J\nfile"
        path.write_bytes(os.urandom(PAGES * 4096))
        forget(path)
        yield path


def read_in_pieces(path):
    subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=4k"], check=True, capture_output=True)


@pytest.fixture
def top():
    """Start `foreread top --json`; the first line says that it records."""
    started = []

    def start(*words):
        command = [sys.executable, "-m", "foreread", "top", "--interval", "0.5", *words]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process, process.stdout.readline()

    yield start
    for process in started:
        process.terminate()  # killed, it would leave its job waiting for the end of the lease
        process.communicate(timeout=left_s())


def test_a_file_read_in_order_is_hit_but_for_its_first_page(top, cold_file):
    process, _ = top("--json", "--buffer-kib", "4096")
    read_in_pieces(cold_file)
    found = None
    for line in process.stdout:
        document = json.loads(line)
        found = next((one for one in document["files"] if one["name"] == str(cold_file)), None)
        if found and found["missed"] + found["hits"] >= PAGES:
            break
    assert found
    assert (found["name"], found["read"]) == (str(cold_file), PAGES)
    assert (found["missed"], found["hits"], found["unused"]) == (1, PAGES - 1, 0)
    assert "dd" in [one["name"] for one in document["processes"]]


@pytest.mark.thorough
def test_lines_have_no_control_character_of_a_file_name(top, cold_file):
    process, _ = top("--buffer-kib", "4096")
    read_in_pieces(cold_file)
    assert r"cold\x1b[2J\nfile" in next(line for line in process.stdout if "cold" in line)


def of_top(process):
    """Return the folder of the job and the trace instances that a running one has."""
    (job,) = jobs_of(process.pid)
    instances = instances_of(job)
    assert instances and all(one.is_dir() for one in instances)
    return job, instances


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ended_by_a_signal_it_leaves_nothing(top, number):
    process, _ = top()
    job, instances = of_top(process)
    process.send_signal(number)
    assert process.wait(left_s()) == (0 if number == signal.SIGINT else 1)
    assert not any(one.exists() for one in (job, *instances))


@pytest.mark.thorough
def test_killed_it_leaves_nothing_once_its_guard_has_acted(top):
    process, _ = top()
    job, instances = of_top(process)
    process.kill()
    process.wait()
    wait_until(lambda: not any(one.exists() for one in (job, *instances)))


@pytest.mark.thorough
def test_a_killed_owner_is_said_and_leaves_nothing(top):
    process, _ = top()
    job, instances = of_top(process)
    os.kill(int((job / "owner").read_text().split()[0]), signal.SIGKILL)
    assert process.wait(left_s()) == 1
    wait_until(lambda: not any(one.exists() for one in (job, *instances)))
