"""Names, values and texts that a trace may hold: they reach a file as text, or not at all."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shells import BASH, BUSYBOX, DASH, each_shell

from analyzer.apply import ApplyError, ApplyPlan, Board, Disk, Setting, write_scripts
from analyzer.apply.write import printable, shell_quoted, udev_pattern

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
    assert f"made from: {printable(text)}".replace("CANARY", str(canary)) in shown


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
    assert block[1] == f"made from: {printable(text)}"


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


def with_settings(board, *lines):
    """Install a script whose settings somebody else has written."""
    board.install(plan())
    script = board.path("out/foreread-apply")
    own = [line for line in script.read_text().splitlines() if line.startswith("\tknob ")]
    script.write_text(script.read_text().replace("\n".join(own), "\n".join(lines)))


def save(board, *lines):
    """Leave old values that a start has saved, or somebody else."""
    board.put("run/foreread.saved", "\n".join(["begin ", *lines, "end 1.1"]))


LISTED_NOT = ["sys/power/state", "proc/sys/kernel/sysrq", "proc/sys/vm/drop_caches"]


@ESSENTIAL
def test_script_refuses_by_name_what_is_not_listed(board):
    victims = [*LISTED_NOT, "sys/block/mmcblk0/device/state", "sys/block/mmcblk0/queue/io_poll"]
    for victim in victims:
        board.put(victim, "1")
    of_disk = ["device/state", "queue/io_poll", "../../power/state", "queue/../device/state"]
    knobs = [*(f"{board.root}/{name}" for name in LISTED_NOT), *of_disk]
    with_settings(board, *(f"\tknob always '{knob}' '0' 'why'" for knob in knobs))
    board.start()
    for knob in knobs:
        assert f"{knob} is not a knob that foreread sets, skipped" in board.err
    assert [board.get(victim) for victim in victims] == ["1"] * len(victims)
    assert str(board.root) not in board.path("run/foreread.saved").read_text()


@ESSENTIAL
def test_script_refuses_values_with_the_range(board):
    board.put("proc/sys/vm/min_free_kbytes", "1024")
    memory = f"{board.root}/proc/sys/vm/min_free_kbytes"
    settings = {"queue/read_ahead_kb": "1048577", "queue/scheduler": "a b", memory: "8193"}
    with_settings(board, *(f"\tknob always '{k}' '{v}' 'why'" for k, v in settings.items()))
    board.start()
    assert "read_ahead_kb: 1048577 is not a whole number from 0 to 1048576, skipped" in board.err
    assert "scheduler: a b is not a word" in board.err
    assert "min_free_kbytes: 8193 KiB is not within 1/8 of the memory, skipped" in board.err
    assert board.window == "128"
    assert board.get("proc/sys/vm/min_free_kbytes") == "1024"
    assert board.run("dry-run").returncode == 1


@ESSENTIAL
@pytest.mark.parametrize(
    "victim",
    [*LISTED_NOT, "etc/passwd", "sys/block/../../etc/passwd", "sys/block/mmcblk0/device/state"],
)
def test_script_puts_back_listed_knobs_only(board, victim):
    board.put(victim, "1")
    save(board, f"{board.root}/{victim} 0")
    assert board.run("restore").returncode == 1
    assert f"{victim} is not a knob that foreread sets, not put back" in board.err
    assert board.get(victim) == "1"


def test_script_puts_back_values_in_the_range_only(board):
    save(board, f"{board.root}/proc/sys/vm/swappiness 9999")
    assert board.run("restore").returncode == 1
    assert "swappiness: 9999 is not a whole number from 0 to 200, not put back" in board.err
    assert board.get("proc/sys/vm/swappiness") == "60"


def test_script_leaves_a_knob_that_it_could_not_put_back(board):
    board.put("proc/sys/vm/dirty_ratio", "0")
    with_settings(board, f"\tknob always '{board.root}/proc/sys/vm/dirty_ratio' '10' 'why'")
    board.start()
    assert "dirty_ratio: 0 is not a whole number from 1 to 100, left as it is" in board.err
    assert board.get("proc/sys/vm/dirty_ratio") == "0"


@settings(max_examples=15)
@given(st.lists(st.text(min_size=1), min_size=1, max_size=200))
def test_quoted_text_comes_back_from_a_shell(texts):
    shell = shutil.which("dash") or shutil.which("sh")
    script = "".join(f"printf '%s\\n' {shell_quoted(text)}\n" for text in texts)
    result = subprocess.run([shell], input=script.encode(), capture_output=True, check=True)
    assert result.stdout.decode().split("\n")[:-1] == [printable(text) for text in texts]


@given(st.text())
def test_udev_pattern_holds_no_syntax(text):
    assert set(udev_pattern(text)).isdisjoint('"\\$%|*[]{}\n')
