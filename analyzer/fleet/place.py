"""A place that captures or a store are in: a folder, or any address that fsspec opens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foreread.analyzer.fleet.error import FleetError, extra

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# What file systems raise for an address that does not answer; botocore's and aiohttp's errors
# derive from no common built-in.
_FAR = ("botocore.", "aiohttp.", "gcsfs.", "adlfs.", "fsspec.", "requests.", "urllib3.")


@dataclass(frozen=True)
class Place:
    """A file system of fsspec, and a path in it without a trailing slash."""

    address: str
    fs: Any
    path: str

    @property
    def is_local(self) -> bool:
        """Whether it is a path of this machine."""
        return "file" in _protocols(self.fs)

    def url(self, path: str | None = None) -> str:
        """Return the address of a path of the same file system; of a local one the path."""
        inner = self.path if path is None else path
        return inner if self.is_local else str(self.fs.unstrip_protocol(inner))


def open_place(address: str) -> Place:
    """Return the place of an address; raises FleetError if no file system opens it."""
    fsspec = extra("fsspec")
    if not is_address(address):
        address = str(Path(address).absolute())
    try:
        fs, path = fsspec.core.url_to_fs(address, **_options(address))
    except ImportError as error:
        raise FleetError(
            f"{address}: {error}", "install the package that opens such addresses"
        ) from error
    except Exception as error:
        if not is_far(error):
            raise
        raise unreachable(address, error) from error
    return Place(address, fs, path.rstrip("/") or path)


def is_address(text: str) -> bool:
    """Return whether ``text`` is an address of fsspec, and not a path of this machine."""
    return _URL.match(text) is not None


def is_far(error: Exception) -> bool:
    """Return whether an exception means that a place is missing or does not answer."""
    kinds = (f"{kind.__module__}." for kind in type(error).__mro__)
    return isinstance(error, (OSError, ValueError)) or any(kind.startswith(_FAR) for kind in kinds)


def unreachable(address: str, error: Exception) -> FleetError:
    """Return the error for a place that cannot be read."""
    cause = error.__cause__  # of HTTP, a server that does not answer is a file that is not there
    refused = isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError)
    if isinstance(error, FileNotFoundError) and not refused:
        return FleetError(f"{address} does not exist", "check the address")
    reason = str(cause if refused else error) or type(error).__name__
    return FleetError(
        f"{address} cannot be reached: {reason[:300]}",
        "check the address, its credentials and the network",
    )


def _protocols(fs: Any) -> tuple[str, ...]:
    protocol = fs.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def _options(address: str) -> dict[str, Any]:
    """Return options that keep listings fresh and small: no listing is cached."""
    return {} if not is_address(address) else {"use_listings_cache": False}
