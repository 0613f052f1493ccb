"""Run a Python fuzz target over a sanitized extension: ``sanitized.py EXTENSION SCRIPT ARGS…``.

The sanitizers' libraries must be preloaded; fuzz/run.sh does all of it.
"""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path

NAME = "foreread.analyzer.ingest._readers"

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
spec = importlib.util.spec_from_file_location(NAME, sys.argv[1])
assert spec is not None and spec.loader is not None
sys.modules[NAME] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
del sys.argv[:2]
runpy.run_path(sys.argv[0], run_name="__main__")
