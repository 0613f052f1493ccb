"""The text screen itself: a table of files, a table of processes, and the sums."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import ClassVar, Protocol

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Footer, Static

from foreread.boards.base.printable import printable
from foreread.cli.text.top import COLUMNS, cells, named, summary
from foreread.documents.top import TopDocument, TopFile, TopProcess

_MOST_ROWS = 200  # of each table; more would be slow to draw, and nobody reads them
_ORDERS = ("now", "read", "unused")


class Figures(Protocol):
    """What has the next figures."""

    def next(self) -> TopDocument:
        """Return the figures up to now."""


class TopApp(App[None]):
    """Asks for figures in a thread, and draws them; ``failure`` is what ended it."""

    CSS = """
    #sums, #notes { height: auto; padding: 0 1; }
    #notes { color: $text-warning; }
    DataTable { height: 1fr; }
    #processes { border-top: solid $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("ctrl+c", "quit", show=False, priority=True),
        Binding("s", "order", "Sort by"),
        Binding("space", "pause", "Pause"),
        Binding("tab", "focus_next", "Other table"),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, view: Figures, interval_s: float, duration_s: float, target: str) -> None:
        super().__init__()
        self.failure: BaseException | None = None
        self.title = f"foreread top: {printable(target)}"
        self._view, self._interval_s = view, interval_s
        self._end_s = time.monotonic() + duration_s
        self._order, self._paused = _ORDERS[0], False
        self._shown: TopDocument | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="foreread-top", daemon=True)
        self._events: asyncio.AbstractEventLoop | None = None

    def compose(self) -> ComposeResult:
        """Yield the parts of the screen."""
        yield Static(id="sums", markup=False)
        yield DataTable(id="files", cursor_type="row", zebra_stripes=True)
        yield DataTable(id="processes", cursor_type="row", zebra_stripes=True)
        yield Static(id="notes", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Begin to watch."""
        for name in ("file", "process"):
            table = self._table("files" if name == "file" else "processes")
            table.add_columns(*(Text(column, justify="right") for column in COLUMNS), name)
        self._events = asyncio.get_running_loop()
        self._write("#sums", f"{self.title}: the first interval has begun")
        self._thread.start()

    def action_order(self) -> None:
        """Sort by the next column."""
        self._order = _ORDERS[(_ORDERS.index(self._order) + 1) % len(_ORDERS)]
        self._draw()

    def action_pause(self) -> None:
        """Stop drawing, or go on; the figures are counted meanwhile."""
        self._paused = not self._paused
        self._draw()

    def end(self) -> None:
        """End it, from a signal or a thread."""
        if self._events is not None:
            self._events.call_soon_threadsafe(self.exit)

    def wait(self) -> None:
        """Wait for the end of the thread that asks for figures."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _watch(self) -> None:
        try:
            while not self._over.wait(min(self._interval_s, self._left_s())):
                figures = self._view.next()
                if self._events is not None:
                    self._events.call_soon_threadsafe(self._take, figures)
                if not self._left_s():
                    break
        except BaseException as error:  # raised again in the main thread
            self.failure = error
        self.end()

    def _left_s(self) -> float:
        return max(0.0, self._end_s - time.monotonic())

    def _take(self, figures: TopDocument) -> None:
        if not self._paused:
            self._shown = figures
            self._draw()

    def _draw(self) -> None:
        figures = self._shown
        if figures is None:
            return
        state = "paused" if self._paused else f"by {self._order}"
        self._write("#sums", f"{self.title} ({state})\n{summary(figures)}")
        self._write("#notes", "\n".join(f"note: {printable(note)}" for note in figures.notes))
        self._fill("files", figures.files, figures)
        self._fill("processes", figures.processes, figures)

    def _fill(self, name: str, rows: Sequence[TopFile | TopProcess], figures: TopDocument) -> None:
        """Write the rows of a table; the cursor and the scroll stay where they are."""
        table = self._table(name)
        row, scrolled = table.cursor_row, table.scroll_y
        table.clear()
        if self._order != _ORDERS[0]:
            rows = sorted(rows, key=lambda each: -(getattr(each, self._order) or 0))
        rows = rows[:_MOST_ROWS]
        for each, title in zip(rows, named(rows), strict=True):
            numbers = (Text(cell, justify="right") for cell in cells(each, figures))
            table.add_row(*numbers, Text(title, no_wrap=True))
        table.move_cursor(row=min(row, max(len(rows) - 1, 0)), scroll=False)
        table.scroll_to(y=scrolled, animate=False)

    def _table(self, name: str) -> DataTable[Text]:
        return self.query_one(f"#{name}", DataTable)

    def _write(self, where: str, text: str) -> None:
        self.query_one(where, Static).update(Text(text))
