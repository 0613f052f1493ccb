"""The windows of a sweep for which none are named."""

import pytest

from foreread.measuring.sweep import default_windows


@pytest.mark.parametrize(
    ("page", "windows"),
    [
        (4096, (0, 4, 8, 16, 32, 64, 128, 256, 512, 1024)),
        (16384, (0, 16, 32, 64, 128, 256, 512, 1024)),
        (65536, (0, 64, 128, 256, 512, 1024)),
    ],
)
def test_default_windows_are_whole_pages(page, windows):
    """The kernel rounds read_ahead_kb down to pages: 8 KiB would be 0 again."""
    assert default_windows(page) == windows
