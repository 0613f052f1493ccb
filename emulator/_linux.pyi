from typing import Any

import numpy as np
import numpy.typing as npt

MAX_WINDOW: int

def emulate(
    operations: npt.NDArray[Any],
    mappings: npt.NDArray[Any],
    handles: npt.NDArray[np.uint32],
    files: npt.NDArray[Any],
    extents: npt.NDArray[Any],
    group: npt.NDArray[np.uint32],
    rules: npt.NDArray[np.int32],
    machine: npt.NDArray[np.int64],
    windows: npt.NDArray[np.int64],
    requests: npt.NDArray[np.int64],
    pages: npt.NDArray[np.int64],
    log: bool,
) -> bytes: ...
def error_texts() -> list[tuple[str, str]]: ...
