"""What `foreread top` prints and shows, of figures made by hand."""

import asyncio
import io
import json
import math
import re

import pytest
from clocks import FakeClock
from waiting import wait_in_loop

from foreread.cli.commands import top as command
from foreread.cli.main import main
from foreread.cli.text.top import text_of
from foreread.cli.top_app import TopApp
from foreread.documents.top import TopDocument, TopFile, TopProcess

HOSTILE = "/a\x1b[31m\x9b\u202eb\n[red]c[/red]"
SHOWN = r"/a\x1b[31m\x9b\u202eb\n[red]c[/red]"


def document(number=1, **more):
    figures = {"hits": 6, "missed": 1, "unused": 3}
    files = [
        TopFile(name=HOSTILE, dev="8:1", ino=5, now=4, read=10, **figures),
        TopFile(name=None, dev="8:1", ino=6, now=0, read=20, **figures | {"unused": 30}),
    ]
    processes = [TopProcess(name="ca\x07t", pid=7, now=4, read=30, **figures)]
    given = {"seconds": 2.0 * number, "interval_seconds": 2.0, "page_size": 4096, "read": 30}
    given |= {"explained": 29, "lost": 12, "notes": [HOSTILE]}
    return TopDocument(**{"files": files, "processes": processes} | given | more)


class View:
    """Gives figures, and then fails."""

    def __init__(self, last=math.inf):
        self.asked, self.last = 0, last

    def next(self, last=False):
        self.asked += 1
        if self.asked > self.last:
            raise OSError("the board is gone")
        return document(self.asked)


def test_the_text_has_all_figures_and_no_control_character():
    text = text_of(document(), 20)
    assert text.splitlines() == [
        "2.0 s: 8 KiB/s, 120 KiB read; 12 events lost; "
        "the emulation reads 97 % of these pages, too",
        "KiB/s  KiB read  hits  missed  unused  file",
        f"    8        40     6       1       3  {SHOWN}",
        "    0        80     6       1      30  inode 6 on 8:1",
        "KiB/s  KiB read  hits  missed  unused  process",
        r"    8       120     6       1       3  7 ca\x07t",
        f"note: {SHOWN}",
    ]


def test_unknown_figures_are_dashes_and_rows_are_limited():
    bare = TopFile(name="/x", dev="8:1", ino=5, now=0, read=1, hits=None, missed=None, unused=None)
    text = text_of(document(files=[bare, bare, bare], explained=None), 2)
    assert text.count("     4     -       -       -  /x") == 2
    assert "the emulation" not in text


def shown(view, *keys, duration_s=math.inf):
    """The screen after these keys, as text."""

    async def drive():
        app = TopApp(view, 0.01, duration_s, "board\x1b")
        async with app.run_test(size=(90, 24)) as pilot:
            await wait_in_loop(lambda: app.query_one("#files").row_count == 2, pilot.pause)
            for key in keys:
                await pilot.press(key)
            await pilot.pause()
            table = app.query_one("#files")
            rows = [str(table.get_row_at(row)[-1]) for row in range(table.row_count)]
            drawn = app.export_screenshot()
        app.wait()
        return app, rows, drawn

    return asyncio.run(drive())


@pytest.mark.thorough
def test_the_screen_shows_files_processes_and_notes_without_raw_characters():
    app, rows, drawn = shown(View())
    assert rows == [SHOWN, "inode 6 on 8:1"]
    text = re.sub(r"<[^>]*>", "", drawn).replace("&#160;", " ")
    for words in (SHOWN, r"7 ca\x07t", "12 events lost", r"board\x1b"):
        assert words in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", drawn)
    assert app.failure is None


def test_keys_sort_pause_and_quit():
    assert shown(View(), "s", "s")[1] == ["inode 6 on 8:1", SHOWN]  # by unused pages
    view = View()
    app, _, drawn = shown(view, "space")
    assert "paused" in re.sub(r"<[^>]*>", "", drawn)
    assert app.return_code in (0, None)


def test_a_failure_ends_the_screen_and_is_kept():
    view = View(last=3)

    async def drive():
        app = TopApp(view, 0.01, math.inf, "board")
        async with app.run_test():
            await wait_in_loop(lambda: app.failure is not None)
        app.wait()
        return app.failure

    assert str(asyncio.run(drive())) == "the board is gone"


@pytest.fixture
def watched(monkeypatch):
    """No machine is watched: the command gets figures made by hand, and no time passes."""
    views = []
    monkeypatch.setattr(command, "time", FakeClock())

    class Opened(View):
        def __init__(self, target, *options):
            super().__init__()
            self.options = options
            views.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.closed = True

    monkeypatch.setattr(command, "reading_now", Opened)
    return views


def test_once_prints_one_interval(watched, capsys):
    assert main(["top", "--once", "--interval", "0.2"]) == 0
    assert watched[0].asked == 1
    assert watched[0].closed
    assert SHOWN in capsys.readouterr().out


def test_json_is_a_line_for_each_interval(watched, run):
    lines = [
        json.loads(line)
        for line in run("top", "--json", "--interval", "0.2", "--duration", "0.5").out.splitlines()
    ]
    assert [line["seconds"] for line in lines] == [2.0, 4.0, 6.0]
    assert lines[0]["files"][0]["name"] == HOSTILE


@pytest.mark.parametrize(
    "words",
    [
        ["--interval", "0"],
        ["--interval", "x"],
        ["--rows", "0"],
        ["--buffer-kib", "1"],
        ["--once", "--duration", "5"],
    ],
)
def test_wrong_usage(watched, words, capsys):
    try:
        assert main(["top", *words]) == 2
    except SystemExit as error:
        assert error.code == 2
    assert "foreread top" in capsys.readouterr().err
    assert watched == []


def test_without_textual_lines_are_printed(watched, monkeypatch, capsys):
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr("foreread.cli.top_screen.find_spec", lambda name: None)
    import sys

    stdout, stderr = sys.stdout, sys.stderr
    assert main(["top", "--interval", "0.2", "--duration", "0.2"]) == 0
    assert "pip install 'foreread[top]'" in stderr.getvalue()
    assert SHOWN in stdout.getvalue()
