import numpy as np
import numpy.typing as npt

MAX_WINDOW: int

def fixed_window(
    file: npt.NDArray[np.uint32],
    page: npt.NDArray[np.uint64],
    file_pages: npt.NDArray[np.int64],
    requests: npt.NDArray[np.int64],
    loaded: npt.NDArray[np.int64],
    isa: str,
) -> int: ...
def error_texts() -> list[tuple[str, str]]: ...
def has_avx2() -> bool: ...
