"""The text screen of ``foreread top``, drawn by Textual (``foreread[top]``)."""

from __future__ import annotations

import signal
from collections.abc import Callable
from importlib.util import find_spec

from foreread.cli.arguments.target import tell
from foreread.machine.reading_now import ReadingNow

NO_LIBRARY = "the text screen needs Textual: pip install 'foreread[top]'; lines are printed instead"


def show_screen(view: ReadingNow, interval_s: float, duration_s: float, target: str) -> bool:
    """Show the figures until the reader ends it; False without the library.

    Raises what ``view`` raises. Signals are delivered once the terminal is as it was.
    """
    if find_spec("textual") is None:
        tell(NO_LIBRARY)
        return False
    from foreread.cli.top_app import TopApp  # noqa: PLC0415  (optional)

    app = TopApp(view, interval_s, duration_s, target)
    ended_by = _until_signal(app.run, app.end)
    app.wait()
    if ended_by:
        signal.raise_signal(ended_by)
    if app.failure is not None:
        raise app.failure
    return True


def _until_signal(run: Callable[[], object], end: Callable[[], None]) -> int:
    """Run it, and ask it to end at SIGTERM or SIGHUP; return that signal, else 0."""
    came: list[int] = []

    def hold(number: int, _frame: object) -> None:
        came.append(number)
        end()

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, hold) for number in numbers}
    try:
        run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return came[0] if came else 0
