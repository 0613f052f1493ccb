"""Import every installed module, read every shell program, and print what was found as JSON."""

import importlib
import importlib.metadata
import json
import pkgutil
from pathlib import Path

OPTIONAL = {"optuna", "rich", "serial"}  # packages of the extras; rich is of textual


def modules():
    """Import all; return those that lack a package of an extra."""
    without = {}
    for found in pkgutil.walk_packages(importlib.import_module("foreread").__path__, "foreread."):
        if found.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            if error.name not in OPTIONAL:
                raise
            without[found.name] = error.name
    return without


def programs():
    """Return the size of each shell program that is put together for a target."""
    job = importlib.import_module("foreread.tracer.remote.job")
    sizes = {}
    for found in pkgutil.iter_modules(importlib.import_module("foreread.tracer.remote").__path__):
        module = importlib.import_module(f"foreread.tracer.remote.{found.name}")
        if parts := getattr(module, "PARTS", None):
            sizes[module.__name__] = len(job.script(parts))
    return sizes


def files():
    """Return the names of all installed files of the packages."""
    root = Path(importlib.import_module("foreread").__path__[0])
    names = [f"{root.name}/{path.relative_to(root)}" for path in root.rglob("*")]
    return sorted(name for name in names if "__pycache__" not in name)


def main():
    without = modules()
    print(
        json.dumps(
            {
                "modules_without": without,
                "programs": programs(),
                "files": files(),
                "version": importlib.metadata.version("foreread"),
                "from": str(Path(importlib.import_module("foreread").__file__).parent),
            }
        )
    )


main()
