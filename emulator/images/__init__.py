"""Compressed images of squashfs and EROFS: where their files are, and what reading them costs."""
