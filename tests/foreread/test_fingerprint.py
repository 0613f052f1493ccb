"""``foreread fingerprint``: its arguments. tests/kernel/test_fingerprint.py watches workloads."""

from __future__ import annotations

import pytest

from foreread.cli import main


@pytest.mark.parametrize("seconds", ["0", "-1", "1.5", "x", "99999999"])
def test_a_period_is_whole_seconds(seconds, capsys):
    with pytest.raises(SystemExit) as error:
        main(["fingerprint", "--interval", seconds])
    assert error.value.code == 2
    assert "whole seconds" in capsys.readouterr().err


def test_a_disk_is_named_by_its_name(capsys):
    assert main(["fingerprint", "--device", "sda;reboot"]) == 1
    assert "no name of a disk" in capsys.readouterr().err
