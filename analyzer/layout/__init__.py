"""The order of files inside an image: from captures, for those who build images."""

from foreread.analyzer.layout.order import LayoutError, Ordered, Start, order_of, start_of
from foreread.analyzer.layout.sort_files import (
    gensquashfs_sort_file,
    mksquashfs_sort_file,
    tar_list,
)

__all__ = [
    "LayoutError",
    "Ordered",
    "Start",
    "gensquashfs_sort_file",
    "mksquashfs_sort_file",
    "order_of",
    "start_of",
    "tar_list",
]
