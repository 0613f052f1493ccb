"""A real kernel's console: its UART, its tty, its messages in between, its reboot."""

import os

import pytest
from waiting import left_s

from foreread.boards.console.line import SerialAddress
from foreread.boards.console.serial import SerialTarget
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.boards.live import target_profile

pytestmark = pytest.mark.boards
BOOT_ID = "/proc/sys/kernel/random/boot_id"
# Each of these makes the kernel write to its console.
NOISE = "echo 3 >/proc/sys/vm/drop_caches; echo noise >/dev/kmsg; head -c 3000 /dev/urandom | tee x"


def test_a_board_at_its_console(tmp_path):
    with (
        EmulatedTarget(LiveOptions("arm64")) as by_ssh,
        SerialTarget(SerialAddress.parse(by_ssh.board.console)) as console,
    ):
        sent, back = tmp_path / "sent", tmp_path / "back"
        sent.write_bytes(os.urandom(2000))
        console.push(sent, "/tmp/there")
        by_ssh.pull("/tmp/there", back)
        assert back.read_bytes() == sent.read_bytes()
        for _ in range(5):
            shown = console.run(["sh", "-c", f"cd /tmp; {NOISE}"]).stdout
            assert shown == by_ssh.run(["cat", "/tmp/x"]).stdout
        assert target_profile(console) == target_profile(by_ssh)
        before = console.read_knob(BOOT_ID)
        console.reboot(timeout_s=left_s())
        assert console.read_knob(BOOT_ID) == by_ssh.read_knob(BOOT_ID) != before
