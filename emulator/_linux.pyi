from typing import Any

import numpy as np
import numpy.typing as npt

MAX_WINDOW: int
INSERT_BYTES: int
RULES: str
NUMBERS: str

def emulate(
    operations: npt.NDArray[Any],
    mappings: npt.NDArray[Any],
    handles: npt.NDArray[np.uint32],
    files: npt.NDArray[Any],
    extents: npt.NDArray[Any],
    rules: npt.NDArray[np.int32],
    machine: npt.NDArray[np.int64],
    group: npt.NDArray[np.uint32],
    windows: npt.NDArray[np.int64],
    requests: npt.NDArray[np.int64],
    pages: npt.NDArray[np.int64],
    log: bool,
) -> bytes: ...
def replay(
    operations: npt.NDArray[Any],
    mappings: npt.NDArray[Any],
    handles: npt.NDArray[np.uint32],
    files: npt.NDArray[Any],
    extents: npt.NDArray[Any],
    rules: npt.NDArray[np.int32],
    machine: npt.NDArray[np.int64],
    steps: npt.NDArray[Any],
    repeats: npt.NDArray[Any],
    recorded: npt.NDArray[np.int64],
    cases: npt.NDArray[Any],
    devices: npt.NDArray[np.float64],
    times: npt.NDArray[np.float64],
    ends: npt.NDArray[np.float64],
    work: npt.NDArray[np.int64],
    over: npt.NDArray[np.float64],
    tail_ns: float,
    cpus: int,
    last: int,
) -> None: ...
def error_texts() -> list[tuple[str, str]]: ...
