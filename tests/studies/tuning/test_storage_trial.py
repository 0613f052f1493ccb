"""Parsing of a storage trial's answers, valid and invalid. Real ones: tests/kernel."""

import json

import pytest

from foreread.boards.target import Result
from studies.tuning.storage_trial import FileSystem, StorageBench, StorageError


class Answers:
    """A target that gives one answer, and keeps the words it was asked with."""

    def __init__(self, stdout=b"", stderr=b"", status=0):
        self.result = Result(status, stdout, stderr)
        self.words = []

    def run(self, command, stdin=b"", timeout_s=None, stdout=None):
        self.words = list(command)
        return self.result


def bench(answers, **more):
    return StorageBench(answers, "/dev/x", "[job]\n", **more)


def direction(count=0, size=0, mean=0.0):
    return {"total_ios": count, "io_bytes": size, "lat_ns": {"mean": mean}}


def report(*jobs, error=0):
    made = [
        {"error": error, "job_runtime": ms, "read": direction(*read), "write": direction(*write)}
        for ms, read, write in jobs
    ]
    return json.dumps({"jobs": made}).encode()


def test_operations_are_counted_until_the_sync_ends():
    jobs = report((2000, (30, 3000, 10.0), (10, 500, 50.0)), (1900, (0, 0, 0.0), (60, 600, 20.0)))
    measured = bench(Answers(b"measured 50\nfio: a warning\n" + jobs)).run(FileSystem("ext4"))
    assert (measured.operations, measured.transferred_bytes) == (100, 4100)
    assert measured.seconds == 2.5
    assert measured.operations_per_s == 40
    assert measured.latency_ns == pytest.approx((30 * 10 + 10 * 50 + 60 * 20) / 100)


@pytest.mark.parametrize(
    "answer, status, note",
    [
        (b"invalid mkfs.ext4 -b 7: no", "invalid", "mkfs.ext4 -b 7: no"),
        (b"failed fio is not installed\n", "failed", "fio is not installed"),
        (b"", "failed", "it was ended"),
        (b"measured 5\nno report", "failed", "cannot parse"),
        (b"measured x\n" + report((1, (1, 1, 1.0), (0, 0, 0.0))), "failed", "cannot parse"),
        (b'measured 5\n{"jobs": [{"error": "x"}]}', "failed", "cannot parse"),
        (b"measured 5\n" + report((1, (0, 0, 0.0), (0, 0, 0.0))), "failed", "no operation"),
        (b"measured 5\n" + report((1, (9, 9, 9.0), (0, 0, 0.0)), error=5), "failed", "job failed"),
    ],
)
def test_what_could_not_be_measured(answer, status, note):
    measured = bench(Answers(answer)).run(FileSystem("ext4"))
    assert measured.status == status
    assert note in measured.note
    assert measured.operations_per_s == 0


@pytest.mark.parametrize(
    "answers, said",
    [
        (Answers(b"refused is in use\n"), "/dev/x is in use"),
        (Answers(stderr=b"sh: unshare: not found", status=127), "no mount namespace"),
        (Answers(stderr=b"unshare: unshare failed: Operation not permitted", status=1), "no mount"),
    ],
)
def test_without_possible_trials_the_error_has_a_remedy(answers, said):
    with pytest.raises(StorageError, match=said) as refused:
        bench(answers).run(FileSystem("ext4"))
    assert refused.value.remedy


def test_an_unknown_file_system_is_not_tried():
    answers = Answers()
    with pytest.raises(StorageError, match="'vfat; reboot'"):
        bench(answers).run(FileSystem("vfat; reboot"))
    assert answers.words == []


def test_every_word_is_one_argument_and_consent_is_not_the_default():
    answers = Answers()
    bench(answers).run(FileSystem("xfs", ("-b", "size=1 k"), ("noatime", "a b")))
    given = answers.words[6:]
    assert given[:6] == ["try", "/dev/x", "xfs", "noatime,a b", "2000", "no"]
    assert given[-2:] == ["-b", "size=1 k"]
    bench(answers, overwrite=True).run(FileSystem("xfs"))
    assert answers.words[11] == "yes"


class Board:
    """A board whose disk is free, or not; what its scheduler was set to."""

    def __init__(self, check):
        self.check, self.schedulers = check, ["none"]

    def run(self, command, stdin=b"", timeout_s=None, stdout=None):
        return Result(0, self.check if command[6] == "check" else b"invalid mkfs", b"")

    def read_knob(self, knob):
        assert knob == "/sys/block/x/queue/scheduler"
        return f"[{self.schedulers[-1]}] kyber"

    def write_knob(self, knob, value):
        self.schedulers.append(value)
        return self.read_knob(knob)


def test_a_board_s_scheduler_is_put_back_after_the_trial():
    board = Board(b"free x\n")
    bench(board).run(FileSystem("ext4", scheduler="kyber"))
    assert board.schedulers == ["none", "kyber", "none"]


def test_the_scheduler_of_a_device_in_use_is_not_touched():
    board = Board(b"refused is in use\n")
    with pytest.raises(StorageError, match="in use"):
        bench(board).run(FileSystem("ext4", scheduler="kyber"))
    assert board.schedulers == ["none"]
