"""A report in the browser, and the commands that reach it from another computer."""

import getpass
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_until

from foreread.browsing import commands_to_reach, folder_of, has_desktop

PAGE = Path("/home/me/a b/report.html")
USER = getpass.getuser()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"DISPLAY": ":0"}, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, True),
        ({"DISPLAY": "localhost:10.0", "SSH_CONNECTION": "10.0.0.1 5 10.0.0.2 22"}, False),
    ],
)
def test_a_desktop_is_a_display_that_is_not_forwarded(environment, expected):
    assert has_desktop(environment) is expected


def test_over_ssh_the_page_is_copied_or_forwarded():
    found = commands_to_reach(PAGE, {"SSH_CONNECTION": "10.0.0.1 5 10.0.0.2 22"})
    copy, forward = (command.partition(" && ")[0] for command in found)
    assert shlex.split(copy) == ["scp", f"{USER}@10.0.0.2:{PAGE}", "."]
    words = shlex.split(forward, comments=True)
    assert words[:4] == ["ssh", "-L", "8000:127.0.0.1:8000", f"{USER}@10.0.0.2"]
    assert shlex.split(words[4])[-3:] == ["-d", "/home/me/a b", "8000"]
    assert forward.endswith("http://localhost:8000/report.html")


def test_another_port_and_ipv6_are_in_the_commands():
    found = commands_to_reach(PAGE, {"SSH_CONNECTION": "fe80::1 5 fe80::2 2222"})
    assert shlex.split(found[0])[:4] == ["scp", "-P", "2222", f"{USER}@[fe80::2]:{PAGE}"]
    assert shlex.split(found[1])[:3] == ["ssh", "-p", "2222"]


@pytest.mark.parametrize("words", ["", "10.0.0.1", "a b c d e"])
def test_without_a_connection_the_desktop_s_command_is_named(words):
    assert commands_to_reach(PAGE, {"SSH_CONNECTION": words}) == [f"xdg-open '{PAGE}'"]


def test_each_capture_has_a_folder_of_its_own_that_others_cannot_read(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one = folder_of([Path("one")])
    assert one == folder_of([Path("one")]) != folder_of([Path("two")])
    assert one.stat().st_mode & 0o777 == 0o700
    assert one.is_relative_to(tmp_path)


def test_the_browser_of_the_desktop_gets_the_page(tmp_path):
    (tmp_path / "report.html").write_text("<p>")
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >{seen}.part && mv {seen}.part {seen}\n')
    browser.chmod(0o755)
    code = (
        "from pathlib import Path; from foreread.browsing import view; "
        f"found = view(Path({str(tmp_path / 'report.html')!r})); "
        "assert found.opened and not found.commands"
    )
    environment = {"PATH": "/usr/bin:/bin", "DISPLAY": ":9", "BROWSER": str(browser)}
    root = str(Path(__file__).parents[2])
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=root, check=True)
    wait_until(seen.exists)
    assert seen.read_text() == f"file://{tmp_path}/report.html\n"
