"""What goes to the guest survives its shell; what comes back is believed only when whole."""

import io
import subprocess
import tarfile

import pytest
from hypothesis import given
from hypothesis import settings as settled
from hypothesis import strategies as st

from foreread.boards.emulated.error import BoardError
from foreread.boards.emulated.guest_protocol import (
    RESULT_BYTES,
    RunPlan,
    TimedRun,
    command_script,
    read_result,
    settings,
)

WHOLE = {"runs": b"128 0 100 350 7 16\n", "stdout": b"\x00\xff", "stderr": b"", "end": b""}


def disk(path, members, cut=None):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members.items():
            header = tarfile.TarInfo(f"./{name}")
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))
    with path.open("wb") as file:
        file.write(buffer.getvalue()[:cut])
        file.truncate(RESULT_BYTES)
    return path


def test_a_whole_result(tmp_path):
    result = read_result(disk(tmp_path / "r", WHOLE), "x")
    assert result.runs == [TimedRun(128, 0, 250, 7, 8)]
    assert (result.stdout, result.stderr) == (b"\x00\xff", b"")


@pytest.mark.parametrize("cut", [0, 100, 700, 1500])
def test_a_truncated_result_is_refused(tmp_path, cut):
    assert read_result(disk(tmp_path / "r", WHOLE, cut), "x") is None


def test_noise_is_not_a_result(tmp_path):
    (tmp_path / "r").write_bytes(b"\xa5" * 4096)
    assert read_result(tmp_path / "r", "x") is None


def test_the_guest_reports_the_failed_step(tmp_path):
    members = {"failed": b"mount -t ext4\n", "end": b""}
    with pytest.raises(BoardError, match="mount -t ext4"):
        read_result(disk(tmp_path / "r", members), "x")


def test_a_command_that_is_not_there(tmp_path):
    said = b"chroot: can't execute 'x': No such file or directory\n"
    members = {**WHOLE, "runs": b"128 127 1 2 0 0\n", "stderr": said}
    with pytest.raises(BoardError, match="no command 'x'") as caught:
        read_result(disk(tmp_path / "r", members), "x")
    assert "--package" in caught.value.remedy


def test_a_command_s_own_127_is_its_status(tmp_path):
    members = {**WHOLE, "runs": b"128 127 1 2 0 0\n"}
    assert read_result(disk(tmp_path / "r", members), "x").runs[0].status == 127


@settled(max_examples=25)
@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=1))
def test_arguments_survive_the_shell(words):
    script = command_script(words).replace(b"exec /bin/chroot /app", b"printf '%s\\0'")
    script = script.replace(b"PATH=", b"true; X=").replace(b" HOME=/tmp ", b" HOME=/tmp; ")
    printed = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout
    assert printed == b"".join(word.encode() + b"\0" for word in words)


def test_settings_read_back_in_the_shell_unchanged():
    plan = RunPlan(["x"], windows_kb=(0, 128), repeat=3, latency_ns=5, ns_per_kib=7, fs="squashfs")
    script = settings(plan) + b'echo "$WINDOWS,$REPEAT,$LATENCY_NS,$NS_PER_KIB,$FS"'
    printed = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout
    assert printed == b"0 128,3,5,7,squashfs\n"


def test_a_kind_of_disk_is_given_as_parameters_of_its_driver():
    """As lib.sh sets them: NAME=VALUE words, and the depth of the queue at the start."""
    script = settings(RunPlan(["x"], disk="nvme"))
    script += b'echo $QUEUE_DEPTH; for one in $COSTS; do echo "${one%%=*} ${one#*=}"; done'
    printed = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout
    assert printed == b"32\nlatency_ns 90000\nns_per_kib 1000\nparallel 16\n"


@pytest.mark.parametrize(
    ("fs", "told"), [("squashfs", b"squashfs,\n"), ("overlay-squashfs", b"squashfs,yes\n")]
)
def test_the_guest_gets_the_lower_layer_of_an_overlay(fs, told):
    script = settings(RunPlan(["x"], fs=fs)) + b'echo "$FS,$OVERLAY"'
    assert subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout == told
