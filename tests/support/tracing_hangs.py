"""Whether a crash of this kernel has left its tracing locked: then no test can use it."""

from functools import cache

import pytest

from foreread.tracer.backends import tracefs_mount
from foreread.tracer.error import RecordError


def skip_where_tracing_hangs():
    if why := _hangs():
        pytest.skip(f"{why}: not checked")


@cache
def _hangs():
    try:
        with tracefs_mount.mounted():
            return ""
    except RecordError as error:
        return str(error) if "hangs" in str(error) else ""
