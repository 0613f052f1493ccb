"""TOML from users: board profiles, recipes, device models, tables of offsets.

The time and memory of tomllib (and so of msgspec) grow with the square of the length of a dotted
key, and tomllib recurses into nested arrays: so the text is measured before tomllib parses it.
"""

from __future__ import annotations

import os
import re
import tomllib
from typing import Any, TypeVar

from foreread.boards.base.bounded import read_bounded
from foreread.boards.base.document import DocumentError, converted, shown
from foreread.boards.base.units import size_text

Kind = TypeVar("Kind")
LARGEST_BYTES = 256 << 10  # the longest shipped file has 10 KiB
DEEPEST = 32  # nested arrays and inline tables; parts of a dotted key

# The tokens of TOML 1.0 that matter here. The scan agrees with tomllib up to the first error in the
# text, and there tomllib ends; a string that is not closed is such an error. No group is repeated
# possessively, since Python before 3.11.5 then misses matches (CPython issue 106052); the choices
# exclude each other, so that a failed match still takes time linear in the text.
_TOKEN = re.compile(
    r"""
    (?P<comment>\#[^\n]*+)
  | (?P<string>
        \"\"\"(?:[^"\\]++|\\.|"{1,2}(?!"))*"{3,5}
      | \'\'\'(?:[^']++|'{1,2}(?!'))*'{3,5}
      | "(?:[^"\\\n]++|\\.)*"
      | '[^'\n]*+'
    )
  | (?P<unclosed>["'])
  | (?P<open>[\[{])
  | (?P<close>[\]}])
  | (?P<dot>\.)
  | (?P<other>[\n=,])
  | (?P<bare>[^\#"'\[\]{}.\n=,\ \t\r]++)
    """,
    re.VERBOSE | re.DOTALL,
)
_LONGEST_BARE = 100  # characters of a key, a number or a date without quotes


def parse_toml(data: bytes) -> dict[str, Any]:
    """Return the tables of a TOML text of any origin; raises DocumentError."""
    if len(data) > LARGEST_BYTES:
        raise DocumentError(f"larger than the {size_text(LARGEST_BYTES)} that are read of TOML")
    try:
        text = data.decode()
        _check(text)
        return tomllib.loads(text)
    except RecursionError as error:
        raise DocumentError("nested too deeply") from error
    except ValueError as error:
        raise DocumentError(shown(error)) from error


def decode_toml(data: bytes, kind: type[Kind]) -> Kind:
    """Return a TOML text as a struct; raises DocumentError."""
    return converted(parse_toml(data), kind)


def read_toml(path: str | os.PathLike[str], remedy: str) -> bytes:
    """Return the content of a regular TOML file.

    Raises UnboundedError, with ``remedy`` for a file that is too large, and OSError.
    """
    return read_bounded(path, LARGEST_BYTES, remedy)


def _check(text: str) -> None:
    """Raise DocumentError for nesting and dotted keys beyond DEEPEST, and for long bare words."""
    depth = dots = 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "unclosed":
            return
        if kind == "bare" and len(token[0]) > _LONGEST_BARE:
            raise _too_much(text, token, f"a word of {len(token[0])} characters without quotes")
        depth += (kind == "open") - (kind == "close")
        dots = dots + 1 if kind == "dot" else dots if kind in ("bare", "string") else 0
        if max(depth, dots) >= DEEPEST:
            raise _too_much(text, token, f"more than {DEEPEST} levels of tables or arrays")


def _too_much(text: str, token: re.Match[str], what: str) -> DocumentError:
    return DocumentError(f"{what} (at line {text.count(chr(10), 0, token.start()) + 1})")
