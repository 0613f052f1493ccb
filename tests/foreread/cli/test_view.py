"""``foreread view`` where no desktop is."""

from __future__ import annotations

import json
from pathlib import Path

from foreread.cli.main import main

CAPTURE = str(Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz")


def test_over_ssh_it_says_how_to_reach_the_report(capsys, monkeypatch, tmp_path, text_only):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 5 10.0.0.2 22")
    assert main(["view", CAPTURE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    page = Path(found["html"])
    assert page.is_relative_to(tmp_path)
    assert "<html" in page.read_text()[:200]
    assert found["opened"] is False
    assert [command.split()[0] for command in found["commands"]] == ["scp", "ssh"]
