"""Compressed images of squashfs and EROFS: places of their files, and the cost of reads."""
