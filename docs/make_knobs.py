"""Writes the page of the knobs: ``python docs/make_knobs.py > docs/reference/knobs.md``."""

from boards.knobs import Knob, knobs

HEAD = """# Knobs

Made by `python docs/make_knobs.py` from `boards/knobs.toml`. These are all settings that foreread
writes: in a run, a sweep, a tuning, a watch, a boot script, and when it restores what a killed run
has left. Any other knob, and a value outside of its range, is refused by name, whichever file asks
for it: a TUNING, a capture, a plan, a journal, or the list of old values of a boot script. Python,
the shell of a target and the boot script follow the same list.

- *may be set*: the values that a plan, a trial or an option may ask for.
- *may be put back*: the values that a kernel may show. If a knob has another value, foreread leaves
  it as it is, since it could not restore it.
- *1/8 of the memory*: of the machine that writes it, whatever the file says.
- `{disk}`, `{bdi}`: a name of `/sys/block`, `/sys/class/bdi`, `/sys/fs/btrfs`, `/sys/fs/ext4`.
  `{tunable}`: any other file of the scheduler, which gets its old value back with the scheduler.
  `{mount}`: where a file system is mounted. `{policy}`: the CPUs of one clock, such as policy0.

Dropping the caches, the controls of tracefs, and moving a process to a cgroup are parts of a run,
and not settings that a file may name.

| knob | may be set | may be put back | source |
|---|---|---|---|
"""


def text() -> str:
    """Return the page."""
    return HEAD + "".join(f"{_row(knob)}\n" for knob in knobs())


def _row(knob: Knob) -> str:
    cells = [f"`{knob.path}`", _values(knob, False), _values(knob, True), knob.source]
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
