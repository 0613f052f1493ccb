"""A fork of this process."""

from __future__ import annotations

import os
import warnings


def fork() -> int:
    """Fork without a warning about threads; returns and raises as ``os.fork``.

    Python 3.12 and later warn of threads of libraries, too; the callers' forks use none of theirs.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
