"""``foreread doctor --judge`` on emulated boards, which have busybox and nothing else."""

from __future__ import annotations

import json

import pytest

from foreread.boards.judged import judged_kernels
from foreread.cli.main import main

pytestmark = pytest.mark.boards

BOARDS = [("x86_64", "6.1"), ("x86_64", "6.12"), ("arm64", "6.1"), ("arm64", "6.12")]
BOARDS += [(name, "6.1") for name in ("armhf", "mipsel", "s390x")]


@pytest.mark.parametrize(("name", "kernel"), BOARDS, ids=lambda one: one)
def test_a_boards_kernel_is_confirmed(name, kernel, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["boards", "start", name, "--kernel", kernel]) == 0
    try:
        capsys.readouterr()
        status = main(["doctor", "--judge", "--target", name, "--json"])
        text = capsys.readouterr().out
    finally:
        main(["boards", "stop", "--all"])
    found = json.loads(text)
    assert status == 0, found["kernel"]["difference"]
    assert found["kernel"]["release"].startswith(kernel)
    assert found["kernel"]["requests_compared"]
    assert found["requests"] > 4_000
    assert [one.release for one in judged_kernels()] == [found["kernel"]["release"]]
