"""``foreread report --open`` where no desktop is."""

from pathlib import Path

CAPTURE = str(Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz")


def test_over_ssh_it_says_how_to_reach_the_report(run_json, monkeypatch, tmp_path, text_only):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 5 10.0.0.2 22")
    found = run_json("report", CAPTURE, "--open")
    page = Path(found["html"])
    assert page.is_relative_to(tmp_path)
    assert "<html" in page.read_text()[:200]
    assert found["opened"] is False
    assert [command.split()[0] for command in found["commands"]] == ["scp", "ssh"]


def test_a_folder_of_your_own_is_opened_too(run, monkeypatch, tmp_path, text_only):
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 5 10.0.0.2 22")
    first, *more = run("report", CAPTURE, "-o", tmp_path / "mine", "--open").out.splitlines()
    assert first == f"report: {tmp_path}/mine/index.html"
    assert "type on your computer" in more[0] and "scp " in more[1]


def test_without_a_folder_and_open_nothing_is_read(run):
    assert "add --open to read the report, or -o DIR" in run("report", "none", code=2).err
