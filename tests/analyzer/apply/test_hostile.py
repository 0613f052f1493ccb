"""Names, values and texts that a trace may hold: they reach a file as text, or not at all."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property_tests import examples
from shells import BASH, BUSYBOX, DASH, each_shell

from foreread.analyzer.apply import ApplyError, ApplyPlan, Board, Disk, Setting, write_scripts
from foreread.analyzer.apply.write import one_line, shell_quoted, udev_pattern

TEXTS = [
    "'; touch CANARY; '",
    "$(touch CANARY)",
    "`touch CANARY`",
    "\ntouch CANARY\n",
    "'\ntouch CANARY\n#",
    "\\'; touch CANARY #",
    '"; touch CANARY; "',
    "}\ntouch CANARY",
    "```\n<script>alert(1)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "\x1b[31m\x9b\u202e\udcff",
]
DISK = Disk("mmcblk0", 7_818_182_656, "SD8GB")
ESSENTIAL = pytest.mark.parametrize(
    "board", each_shell(DASH, BUSYBOX, of=(BUSYBOX, DASH, BASH)), indirect=True
)


def plan(disk=DISK, knob="queue/read_ahead_kb", value="2048", reason="why"):
    return ApplyPlan((Setting(knob, value, reason, disk),))


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_shown_and_not_obeyed(board, text):
    hostile = plan(reason=text).settings
    board.install(ApplyPlan(hostile, created_from=text))
    script = board.path("out/foreread-apply")
    canary = board.path("canary")
    script.write_text(script.read_text().replace("CANARY", str(canary)))
    shown = board.run("dry-run").stdout
    board.start()
    assert board.window == "2048"
    assert not canary.exists()
    assert f"made from: {one_line(text)}".replace("CANARY", str(canary)) in shown


@pytest.mark.parametrize("text", TEXTS)
def test_identities_are_compared_and_not_obeyed(board, text):
    disk = Disk("mmcblk0", DISK.size_bytes, text)
    board.install(ApplyPlan(plan(disk).settings, Board(text, text, text)))
    script = board.path("out/foreread-apply")
    canary = board.path("canary")
    script.write_text(script.read_text().replace("CANARY", str(canary)))
    board.start()
    board.run("boot-done", "force")
    assert not canary.exists()


@pytest.mark.parametrize("model", ["It's $HOME `here`", 'a "b" \\c', "* ? [a-z]", "Modèle 3"])
def test_odd_model_is_compared_letter_by_letter(board, model):
    board.put("sys/block/mmcblk0/device/name", model)
    board.path("proc/device-tree/model").write_text(model + "\0")
    disk = Disk("mmcblk0", DISK.size_bytes, model)
    board.install(ApplyPlan(plan(disk).settings, Board(model=model)))
    board.start()
    assert board.window == "2048"
    board.run("stop")
    board.put("sys/block/mmcblk0/device/name", model.replace("*", "x").replace("o", "x") + "x")
    board.start()
    assert board.window == "128"


@pytest.mark.parametrize("text", TEXTS)
def test_texts_cannot_inject_into_wrappers(tmp_path, text):
    def wrappers(folder, text):
        board = Board("armv7l", "6.1", text)
        of_text = ApplyPlan(plan(reason=text).settings, board, created_from=text)
        paths = write_scripts(of_text, tmp_path / folder)
        exempt = {"foreread-apply", "INSTALL.md"}
        return [path.read_text() for path in paths if path.name not in exempt]

    assert wrappers("hostile", text) == wrappers("tame", "tame")


@pytest.mark.parametrize("text", TEXTS)
def test_install_keeps_texts_inside_their_block(tmp_path, text):
    write_scripts(ApplyPlan(plan(reason=text).settings, created_from=text), tmp_path)
    lines = (tmp_path / "INSTALL.md").read_text().splitlines()
    fences = [line for line in lines if line.lstrip().startswith("```")]
    block = lines[lines.index("What is set:") + 2 :]
    assert len(fences) % 2 == 0
    assert block.index("```") == 0
    assert block[1] == f"made from: {one_line(text)}"


@pytest.mark.parametrize("name", ["", ".", "..", "../etc", "a/b", "a b", "a'b", "a\nb", "sda\0"])
def test_disk_that_is_not_a_name_is_refused(tmp_path, name):
    with pytest.raises(ApplyError, match="name of a disk") as error:
        write_scripts(plan(Disk(name)), tmp_path / "out")
    assert error.value.remedy
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("disk", "knob"),
    [
        (None, "/etc/passwd"),
        (None, "/proc/sys/kernel/core_pattern"),
        (None, "/proc/sys/vm/../kernel/core_pattern"),
        (None, "/sys/block/../../etc/passwd"),
        (None, "queue/read_ahead_kb"),
        (DISK, "/etc/passwd"),
        (DISK, "../../../etc/passwd"),
        (DISK, "queue/$(id)"),
        (DISK, "device/state"),
        (DISK, "queue/wbt_lat_usec/../../device/state"),
        (None, "/proc/sys/vm/drop_caches"),
        (None, "/proc/sys/kernel/sysrq"),
        (None, "/sys/power/state"),
        (DISK, "queue/a b"),
        (DISK, "queue/a\n"),
        (DISK, ""),
    ],
)
def test_knob_elsewhere_is_refused(tmp_path, disk, knob):
    with pytest.raises(ApplyError, match="not a knob"):
        write_scripts(plan(disk, knob), tmp_path)


@pytest.mark.parametrize("value", ["", "1\n2", "$(id)", "1;id", "a'b", "-1", " 1", "1 ", "\udcff"])
def test_value_that_is_not_a_value_is_refused(tmp_path, value):
    with pytest.raises(ApplyError, match=r"read_ahead_kb: .* is not a whole number"):
        write_scripts(plan(value=value), tmp_path)


def save(board, *lines):
    """Leave old values that a start has saved, or somebody else."""
    board.put("run/foreread.saved", "\n".join(["begin", *lines, "end unknown"]))


@ESSENTIAL
@pytest.mark.parametrize(
    "victim",
    [
        "sys/power/state",
        "proc/sys/vm/drop_caches",
        "etc/passwd",
        "sys/block/../../etc/passwd",
        "sys/block/mmcblk0/device/state",
    ],
)
def test_script_puts_back_its_own_knobs_only(board, victim):
    board.put(victim, "1")
    of_disk = "mmcblk0/" + victim.removeprefix("sys/block/mmcblk0/")
    save(board, f"{board.root}/{victim} 0", f"{victim} 0", f"{of_disk} 0", "mmcblk0/../x 0")
    assert board.run("restore").returncode == 1
    assert "keeps what could not be put back" in board.err
    assert board.get(victim) == "1"


def test_a_memory_of_less_than_eight_times_the_value_is_left_alone(board):
    board.put("proc/sys/vm/min_free_kbytes", "1024")
    for value, now in (("8193", "1024"), ("8192", "8192")):
        board.install(plan(None, "/proc/sys/vm/min_free_kbytes", value))
        paths_below(board)
        board.start()
        assert board.get("proc/sys/vm/min_free_kbytes") == now
        skipped = f"min_free_kbytes: {value} KiB is not within 1/8 of the memory" in board.err
        assert skipped == (now == "1024")
        assert board.run("dry-run").returncode == int(skipped)


def test_script_leaves_a_knob_that_it_could_not_put_back(board):
    """The ratio reads 0 while a limit in bytes is in force, which writing it would end."""
    board.put("proc/sys/vm/dirty_ratio", "0")
    board.install(plan(None, "/proc/sys/vm/dirty_ratio", "10"))
    paths_below(board)
    board.start()
    assert "dirty_ratio: absent, or could not be put back: skipped" in board.err
    assert board.get("proc/sys/vm/dirty_ratio") == "0"


def paths_below(board):
    """Quoted paths are data to the board's copy of the script: have them below its root, too."""
    script = board.path("out/foreread-apply")
    script.write_text(script.read_text().replace("'/proc/", f"'{board.root}/proc/"))


@settings(max_examples=examples(40))
@given(st.lists(st.text(min_size=1), min_size=1, max_size=50))
def test_quoted_text_comes_back_from_a_shell(texts):
    shell = shutil.which("dash") or shutil.which("sh")
    script = "".join(f"printf '%s\\n' {shell_quoted(text)}\n" for text in texts)
    result = subprocess.run([shell], input=script.encode(), capture_output=True, check=True)
    assert result.stdout.decode().split("\n")[:-1] == [one_line(text) for text in texts]


@given(st.text())
def test_udev_pattern_holds_no_syntax(text):
    assert set(udev_pattern(text)).isdisjoint('"\\$%|*[]{}\n')
