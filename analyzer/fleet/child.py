"""The process that analyses the captures of a batch, one after the other.

Each line of its input asks for a capture, and each line of its output has the rows of one. A
capture that ends this process ends no other one (``batch.py``). foreread's own reader of foreign
files is a process of its own again, with limits on memory and time (``analyzer/ingest/isolated``).
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
from pathlib import Path

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.fleet.question import reader_of
from foreread.analyzer.fleet.rows import Rows, analysed_rows, error_row, text
from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.predict.disk.device_model import device_from
from foreread.boards.base.guard import die_with_parent
from foreread.boards.error import BoardsError
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.error import EmulatorError
from foreread.tracer.error import TracerError

_REFUSED = (AnalyzerError, TracerError, BoardsError, EmulatorError)


def main() -> None:
    """Answer until the input ends; the first line has the question of all captures."""
    die_with_parent()
    answers = os.fdopen(os.dup(1), "w", encoding="ascii", buffering=1)
    os.dup2(2, 1)  # nothing that a reader prints is taken for an answer
    request = json.loads(sys.stdin.readline())
    device = device_from(request["device"] or None)
    for line in sys.stdin:
        path = Path(json.loads(line))
        before = _cpu_seconds()
        rows = _rows(path, request["model"] or None, device, request["reader"])
        rows.rows[0]["cpu_seconds"] = round(_cpu_seconds() - before, 4)
        answer = {"board": rows.board, "start": rows.start, "rows": rows.rows}
        print(json.dumps(answer), file=answers)


def _rows(path: Path, model: str | None, device: DeviceModel | None, reader: str) -> Rows:
    """Return the rows of a capture; an error is a row, too, and also one of foreread's own."""
    try:
        recording = reader_of(reader)(path) if reader else load(path)
        return analysed_rows(recording, predict_by(recording, model, None, device))
    except _REFUSED as error:
        return error_row(_without(str(path), str(error)), _without(str(path), error.remedy))
    except MemoryError:
        return error_row("it takes more memory than the worker has", "use a larger worker")
    except Exception as error:
        with contextlib.suppress(Exception):
            message = f"{type(error).__name__}: {text(str(error))}"
            return error_row(message, "report the bug with the file")
        return error_row(type(error).__name__, "report the bug with the file")


def _without(path: str, message: str) -> str:
    """Return a message without the path of a copy, which the row's source names."""
    return message.replace(f"{path}: ", "").replace(path, "the capture")


def _cpu_seconds() -> float:
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
