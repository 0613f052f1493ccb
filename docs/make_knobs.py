"""Writes the page of the knobs: ``python docs/make_knobs.py > docs/reference/knobs.md``."""

from boards.knobs import Knob, knobs

HEAD = """# Knobs

For readers who ask what foreread may change on a machine. Made by `python docs/make_knobs.py` from
`boards/knobs.toml`, which names the source of each range. Any other knob, and a value outside of
its range, is refused by name, whichever file asks for it. Python, the shell of a target and the
boot script follow the same list.

- *may be set*: the values that a plan, a trial or an option may ask for.
- *may be put back*: the values that a kernel may show. If a knob has another value, foreread leaves
  it as it is, since it could not restore it.
- `{disk}`, `{bdi}`: a name of `/sys/block`, `/sys/class/bdi`, `/sys/fs/btrfs`, `/sys/fs/ext4`.
  `{tunable}`: any other file of the scheduler. `{mount}`: a mount point. `{policy}`: the CPUs of
  one clock, such as policy0.

Dropping the caches, the controls of tracefs, and moving a process to a cgroup are parts of a run,
and not settings that a file may name.

| knob | may be set | may be put back |
|---|---|---|
"""


def text() -> str:
    """Return the page."""
    return HEAD + "".join(f"{_row(knob)}\n" for knob in knobs())


def _row(knob: Knob) -> str:
    cells = [f"`{knob.path}`", _values(knob, False), _values(knob, True)]
    return f"| {' | '.join(cells)} |"


def _values(knob: Knob, put_back: bool) -> str:
    if knob.word:
        return "a word"
    if knob.choices:
        return "one of them"
    least, most = knob.range(put_back)
    share = f", at most 1/{knob.memory_share} of the memory" if knob.memory_share else ""
    return f"{least} to {most}{share}" if least <= most else "–"


if __name__ == "__main__":
    print(text(), end="")
