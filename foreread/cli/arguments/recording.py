"""The recording that CAPTURE and the options of ``add_capture`` name."""

from __future__ import annotations

import argparse
from pathlib import Path

from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import Recording


def recording_of(path: Path, args: argparse.Namespace) -> Recording:
    """Read a capture or a trace of another tool as the options say; raises as ``load``."""
    return load(path, args.pids, page_size=args.page_size, inodes=args.inodes)
