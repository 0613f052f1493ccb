"""AdbTarget through the real adb client, to a device of ours; test_shell.py has what works."""

import shutil
import threading
from pathlib import Path

import pytest
from adbd import Adbd, client_of
from waiting import wait_until

from foreread.boards.adb import AdbAddress, AdbTarget
from foreread.boards.target import TargetError

needs_adb = pytest.mark.skipif(
    not (shutil.which("adb") and shutil.which("busybox")),
    reason="no adb client, or no busybox: adb targets are not checked",
)


@pytest.fixture
def device():
    running = Adbd()
    yield running
    running.stop()


@needs_adb
def test_the_shell_gets_one_line_and_no_terminal(device, tmp_path):
    with client_of(device, tmp_path) as target:
        assert target.run(["echo", "a  b", "$HOME"]).stdout == b"a  b $HOME\n"
    (service,) = device.services
    options, _, line = service.partition(":")
    assert options.startswith("shell,v2,")
    assert options.endswith(",raw")
    assert line == "(\necho 'a  b' '$HOME'\n); echo \"foreread: ended with $?\" >&2"


@needs_adb
def test_a_status_of_adb_itself_is_not_taken_for_the_commands(device, tmp_path):
    begun = tmp_path / "begun"
    with client_of(device, tmp_path) as target:
        cutter = threading.Thread(target=lambda: (wait_until(begun.exists), device.cut()))
        cutter.start()
        with pytest.raises(TargetError, match="running sh -c") as lost:
            target.run(["sh", "-c", f"touch {begun}; sleep 100"])
        cutter.join()
        assert lost.value.remedy


@needs_adb
def test_a_file_cut_off_on_its_way_never_gets_its_name(device, tmp_path):
    sent, there = tmp_path / "sent", tmp_path / "there"
    with sent.open("wb") as file:
        file.truncate(1 << 40)  # more than is copied until the device is lost
    part = Path(f"{there}.part")
    with client_of(device, tmp_path) as target:
        cutter = threading.Thread(target=lambda: (wait_until(part.exists), device.cut()))
        cutter.start()
        with pytest.raises((TargetError, OSError)):
            target.push(sent, str(there))
        cutter.join()
    assert not there.exists()


@needs_adb
def test_a_device_without_statuses_is_refused(tmp_path):
    device = Adbd(features="cmd")
    try:
        with (
            client_of(device, tmp_path) as target,
            pytest.raises(TargetError, match="exit status of a command") as refused,
        ):
            target.run(["true"])
        assert refused.value.remedy
        assert device.services == []
    finally:
        device.stop()


@needs_adb
def test_an_absent_device_is_said(device, tmp_path):
    with client_of(device, tmp_path), AdbTarget(AdbAddress("absent")) as target:
        with pytest.raises(TargetError, match="'absent' not found") as refused:
            target.run(["true"])
        assert "adb devices" in refused.value.remedy


def test_no_client(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(TargetError, match="adb is not installed") as refused:
        AdbTarget(AdbAddress()).run(["true"])
    assert refused.value.remedy


@pytest.mark.parametrize("serial", [None, "emulator-5554", "192.168.1.5:5555", "0123ABC.x"])
def test_addresses(serial):
    address = AdbAddress(serial)
    assert AdbAddress.parse(str(address)) == address


@pytest.mark.parametrize(
    "url", ["adb:", "adb://-s", "adb://a b", "adb://a\nb", "adb://a%20b", "adb://a/b", "adb://a\0"]
)
def test_invalid_addresses(url):
    with pytest.raises(TargetError) as refused:
        AdbAddress.parse(url)
    assert refused.value.remedy
