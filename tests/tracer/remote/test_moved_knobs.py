"""What a target's shell does with a knob that another program sets."""

from __future__ import annotations

import subprocess
from importlib import resources

import pytest
from shells import BUSYBOX, DASH, each_shell

SHELLS = pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
KNOBS = """
set -u
tab='\t' job=$1 all_knobs=yes knobs="$2"
note_reset() { :; }
is_knob() { :; }
may_set() { :; }
may_put_back() { :; }
value_of() { read -r value 2>/dev/null <"$job/$1"; }
write_knob() { echo "$2" >"$job/$1"; }
sleep() { :; }
"""


def said(shell, folder, code, knobs="a\t1\nb\t2"):
    """Return the lines of the file "set" after that code, knobs being files of the folder."""
    for name in "ab":
        (folder / name).write_text("0\n")
    parts = ("runs/knobs.sh", "remote/guarded.sh")
    text = "".join((resources.files("foreread.tracer") / part).read_text() for part in parts)
    words = [*shell, "-c", f"{text}{KNOBS}{code}", "sh", str(folder), knobs]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    return (folder / "set").read_text().splitlines()


@SHELLS
def test_settings_that_stay_are_written_once(shell, tmp_path):
    lines = said(shell, tmp_path, 'set_knobs; check_knobs >>"$job/set"')
    assert lines == ["knob a\t0\t1", "knob b\t0\t2", "now a\t1", "now b\t2"]


@SHELLS
def test_a_knob_that_is_set_once_meanwhile_is_set_again(shell, tmp_path):
    """Another program writes it between writing and reading back, the first time only."""
    code = """
    write_knob() {
        echo "$2" >"$job/$1"
        [ "$1" = a ] || [ -e "$job/done" ] || { echo 9 >"$job/a"; : >"$job/done"; }
    }
    set_knobs
    """
    lines = said(shell, tmp_path, code)
    assert lines[-2:] == ["now a\t1", "now b\t2"]
    assert not any(line.startswith("moved") for line in lines)


@SHELLS
def test_a_knob_that_another_setting_resets_is_not_another_program_s(shell, tmp_path):
    code = """
    write_knob() {
        echo "$2" >"$job/$1"
        [ "$1" = a ] || echo 9 >"$job/a"
    }
    set_knobs
    """
    lines = said(shell, tmp_path, code)
    assert lines[-2:] == ["now a\t9", "now b\t2"]
    assert not any(line.startswith("moved") for line in lines)


@SHELLS
def test_a_knob_that_changes_while_nothing_is_written_is_another_program_s(shell, tmp_path):
    code = """
    write_knob() {
        echo "$2" >"$job/$1"
        [ "$1" = a ] || echo 9 >"$job/a"
    }
    sleep() { echo 9 >"$job/a"; }
    set_knobs
    """
    assert "moved a\t1\t9" in said(shell, tmp_path, code)
    assert (tmp_path / "others").read_text() == "a\n"


@SHELLS
def test_a_knob_that_changes_in_the_run_keeps_the_other_program_s_value(shell, tmp_path):
    code = """
    set_knobs
    echo 9 >"$job/a"
    check_knobs >>"$job/set"
    rm "$job/gone" 2>/dev/null
    resets='' others=$job/others
    for knob in a b; do
        put_back restored $knob 0 $(($knob_number + 1)) >>"$job/set"
        knob_number=1
    done
    """.replace("set_knobs\n", "knob_number=0; set_knobs\n", 1)
    lines = said(shell, tmp_path, code)
    assert "moved a\t1\t9" in lines
    assert "restored a\t0\tleft at 9, which another program has set" in lines
    assert "restored b\t0\t" in lines
    assert [(tmp_path / name).read_text().strip() for name in "ab"] == ["9", "0"]
