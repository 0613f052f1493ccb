"""The generated script on a scratch board, under busybox ash, dash and bash."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from shells import BASH, BUSYBOX, DASH, each_shell

from foreread.analyzer.apply import ApplyPlan, Board, Disk, Setting, write_scripts

WINDOW = "sys/block/mmcblk0/queue/read_ahead_kb"
DISK = Disk("mmcblk0", 7_818_182_656, "SD8GB")


def one(knob, value, disk=DISK, reason="why"):
    return ApplyPlan((Setting(knob, value, reason, disk),))


ESSENTIAL = pytest.mark.parametrize(
    "board", each_shell(DASH, BUSYBOX, of=(BUSYBOX, DASH, BASH)), indirect=True
)


@ESSENTIAL
def test_start_sets_and_stop_restores(board):
    board.start()
    assert board.window == "2048"
    assert "read_ahead_kb: 128 -> 2048" in board.err
    assert board.run("stop").returncode == 0
    assert board.window == "128"
    assert not list(board.path("run").iterdir())


def test_two_starts_restore_the_first_old_value(board):
    board.start()
    board.start()
    board.run("stop")
    assert board.window == "128"


@ESSENTIAL
def test_two_phases(board):
    board.start()
    assert board.run("boot-done").returncode == 0
    assert board.window == "512"
    board.start()
    assert board.window == "512", "a second start keeps the phase"
    board.run("stop")
    assert board.window == "128"
    board.start()
    assert board.window == "2048", "after a stop the board boots anew"


def test_boot_done_without_start_or_after_stop_sets_nothing(board):
    assert board.run("boot-done").returncode == 0
    assert board.window == "128"
    board.start()
    board.run("stop")
    board.run("boot-done")
    assert board.window == "128"


def test_stop_without_start(board):
    assert board.run("stop").returncode == 0
    assert board.window == "128"
    assert "nothing to put back" in board.err


def test_status_shows_started_and_in_force(board):
    assert board.run("status").returncode == 3
    board.start()
    result = board.run("status")
    assert result.returncode == 0
    assert "2048 as wanted (boot; predicted best; before: 128)" in result.stdout
    board.put(WINDOW, "64")
    result = board.run("status")
    assert result.returncode == 1
    assert "64 -> 2048 (boot; predicted best; before: 128)" in result.stdout


@ESSENTIAL
def test_dry_run_shows_the_change_with_its_reason_and_changes_nothing(board):
    result = board.run("dry-run")
    assert result.returncode == 0
    assert "128 -> 2048 (boot; predicted best)" in result.stdout
    assert "128 -> 512 (after; asked for)" in result.stdout
    assert board.window == "128"
    assert not list(board.path("run").iterdir())
    assert board.get("dev/kmsg") == ""


def test_changes_go_to_the_kernel_log_unless_they_go_to_the_journal(board):
    board.start()
    assert "<6>foreread: " in board.get("dev/kmsg")
    board.put("dev/kmsg", "")
    board.run("stop", INVOCATION_ID="1")
    assert board.window == "128"
    assert board.get("dev/kmsg") == ""


def test_no_kernel_log_is_made_where_there_is_none(board):
    board.path("dev/kmsg").unlink()
    board.start()
    assert not board.path("dev/kmsg").exists()


@ESSENTIAL
def test_start_needs_no_other_program(board):
    assert board.run("start", PATH="/nonexistent").returncode == 0
    assert board.window == "2048"
    assert "not found" not in board.err


def test_usage(board):
    assert board.run().returncode == 2
    assert board.run("stop-it").returncode == 2
    assert "usage" in board.err


# ---- knobs ----


def test_absent_knob_is_skipped(board):
    board.install(one("queue/iosched/slice_idle", "1"))
    board.start()
    assert "slice_idle: absent" in board.err
    assert "slice_idle: absent" in board.run("dry-run").stdout


def test_read_only_knob_is_skipped(board):
    board.path(WINDOW).unlink()
    board.path(WINDOW).symlink_to("/proc/sys/kernel/ngroups_max")
    board.start()
    assert "asked for 2048, the kernel has" in board.err
    assert board.run("stop").returncode == 0


def test_value_the_kernel_rounds_is_reported(board):
    board.path(WINDOW).unlink()
    # The kernel keeps another number, of which 9/17 are shown: it took another value.
    board.path(WINDOW).symlink_to("/proc/self/oom_adj")
    board.install(one("queue/read_ahead_kb", "10"))
    board.start()
    assert "asked for 10, the kernel has 9" in board.err


def test_choice_in_brackets_is_the_current_value(board):
    board.install(one("queue/scheduler", "bfq"))
    assert "scheduler: mq-deadline -> bfq" in board.run("dry-run").stdout


def test_memory_knob(board):
    board.install(one("/proc/sys/vm/swappiness", "10", None))
    script = board.path("out/foreread-apply")
    script.write_text(script.read_text().replace("'/proc/", f"'{board.root}/proc/"))
    board.start()
    assert board.get("proc/sys/vm/swappiness") == "10"
    board.run("stop")
    assert board.get("proc/sys/vm/swappiness") == "60"


@ESSENTIAL
def test_a_sysctl_is_read_whole(board, tmp_path):
    """A shell's read takes byte by byte, and gets the first digit of a number in /proc/sys."""
    knob = Path("/proc/sys/vm/dirty_expire_centisecs")
    before = knob.read_text().strip()
    script = write_scripts(one(str(knob), "1", None), tmp_path / "real")[0]
    done = subprocess.run([*board.command, script, "dry-run"], capture_output=True, check=False)
    assert f"{knob}: {before} -> 1 (always; why)" in done.stdout.decode()
    assert len(before) > 1


@ESSENTIAL
def test_truncated_saved_line_is_not_used(board):
    board.start()
    board.path("run/foreread.saved").write_text(f"{board.root}/{WINDOW} 12")
    board.run("stop")
    assert board.window == "2048"


# ---- boards and disks ----


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("proc/sys/kernel/osrelease", "6.12.1", "kernel '6.1', and this is '6.12.1'"),
        ("proc/sys/kernel/arch", "aarch64", "machine 'armv7l', and this is 'aarch64'"),
        ("proc/device-tree/model", "Some Board 4", "model 'Some Board 3'"),
    ],
)
def test_another_board_is_refused_unless_forced(board, file, text, said):
    board.put(file, text)
    board.start()
    assert board.window == "128"
    assert said in board.err
    board.start("force")
    assert board.window == "2048"
    assert board.run("status").returncode == 0


def test_force_on_the_kernel_command_line(board):
    board.put("proc/sys/kernel/osrelease", "5.10")
    board.put("proc/cmdline", "quiet foreread=force")
    board.start()
    assert board.window == "2048"


@pytest.mark.parametrize("release", ["6.1", "6.1.200", "6.1-rc3"])
def test_releases_of_the_series_fit(board, release):
    board.put("proc/sys/kernel/osrelease", release)
    board.start()
    assert board.window == "2048"


@pytest.mark.parametrize("model", ["ARMv7 rev 4", "BCM2711", "Some Board 3", "acme,three"])
def test_model_of_processor_or_device_tree_fits(board, model):
    plan = one("queue/read_ahead_kb", "2048")
    board.install(ApplyPlan(plan.settings, Board(model=model)))
    board.start()
    assert board.window == "2048"


def test_machine_on_a_kernel_without_proc_arch(board):
    board.path("proc/sys/kernel/arch").unlink()
    board.start()
    assert "machine 'armv7l', and this is '" in board.err
    assert board.window == "128"


@pytest.mark.parametrize("verb", ["start", "boot-done"])
def test_kill_switch(board, verb):
    board.start()
    board.put(WINDOW, "128")
    board.put("proc/cmdline", "foreread=off quiet")
    assert board.run(verb, "force").returncode == 0
    assert board.window == "128"


def test_kill_switch_is_a_whole_word(board):
    board.put("proc/cmdline", "notforeread=off foreread=offline")
    board.start()
    assert board.window == "2048"


def test_renamed_disk_is_found_again(board):
    board.path("sys/block/mmcblk0").rename(board.path("sys/block/mmcblk1"))
    board.start()
    assert board.get("sys/block/mmcblk1/queue/read_ahead_kb") == "2048"


@ESSENTIAL
def test_names_swapped_between_two_disks(board):
    board.path("sys/block/mmcblk0").rename(board.path("sys/block/mmcblk1"))
    board.add_disk("mmcblk0", sectors=1000, model="EMMC")
    board.start()
    assert board.get("sys/block/mmcblk1/queue/read_ahead_kb") == "2048"
    assert board.window == "128"


def test_two_indistinguishable_disks_are_left_alone(board):
    board.path("sys/block/mmcblk0").rename(board.path("sys/block/mmcblk1"))
    board.add_disk("mmcblk2", sectors=7_818_182_656 // 512, model="SD8GB")
    board.start()
    assert board.get("sys/block/mmcblk1/queue/read_ahead_kb") == "128"
    assert board.get("sys/block/mmcblk2/queue/read_ahead_kb") == "128"
    assert "(one of " in board.err


@pytest.mark.parametrize(("file", "text"), [("size", "1"), ("device/name", "OTHER")])
def test_another_disk_of_the_name_is_skipped_unless_forced(board, file, text):
    board.put(f"sys/block/mmcblk0/{file}", text)
    board.start()
    assert board.window == "128"
    assert "(no disk like mmcblk0 " in board.err
    board.start("force")
    assert board.window == "2048"


def test_disk_of_unknown_size_and_model_is_found_by_name_only(board):
    board.install(one("queue/read_ahead_kb", "2048", Disk("mmcblk0")))
    board.start()
    assert board.window == "2048"
    board.install(one("queue/read_ahead_kb", "512", Disk("sda")))
    board.start()
    assert board.window == "2048"
    assert "(no disk like sda " in board.err


def test_absent_disk_is_reported_once(board):
    board.install(one("queue/read_ahead_kb", "2048", Disk("sda", 512, "DISK")))
    board.start()
    assert board.err.count("sda") == 1


# ---- /run, and whatever happens ----


def test_var_run_is_used_without_run(board):
    board.path("run").rmdir()
    board.path("var/run").mkdir(parents=True)
    board.start()
    board.run("stop")
    assert board.window == "128"


def test_without_run_old_values_are_kept_in_dev(board):
    board.path("run").rmdir()
    board.start()
    assert board.window == "2048"
    assert board.path("dev/foreread.saved").exists()
    assert board.run("boot-done").returncode == 0
    assert board.window == "512"
    assert board.run("stop").returncode == 0
    assert board.window == "128"
    assert [path.name for path in board.path("dev").iterdir()] == ["kmsg"]


def test_without_a_place_for_old_values_nothing_is_set(board):
    board.path("run").rmdir()
    board.path("dev").rename(board.path("no-dev"))
    board.start()
    assert board.window == "128"
    assert "nothing set, since stop could not restore it" in board.err
    assert board.run("boot-done").returncode == 0
    assert board.window == "128"
    assert board.run("stop").returncode == 0


def test_nothing_is_set_if_old_values_cannot_be_written(board):
    board.path("run/foreread.saved").mkdir()
    board.start()
    assert board.window == "128"
    assert "cannot be written" in board.err


@ESSENTIAL
def test_closed_standard_files(board):
    command = 'exec "$@" <&- >&- 2>&-'
    board.command = ["sh", "-c", command, "sh", *board.command]
    board.start()
    assert board.window == "2048"
    assert board.run("stop").returncode == 0
    assert board.window == "128"


def test_empty_board(board):
    for name in ("sys", "proc", "dev", "run"):
        board.path(name).rename(board.path(f"no-{name}"))
    board.start("force")
    assert board.run("boot-done").returncode == 0
    assert board.run("stop").returncode == 0


def test_an_error_in_the_script_does_not_fail_the_boot(board):
    script = board.path("out/foreread-apply")
    script.write_text(script.read_text().replace("'2048'", '"$no_such_variable"'))
    board.start()
    assert "no_such_variable" in board.err


@ESSENTIAL
def test_keep_does_not_restore_on_stop_but_restore_does(board):
    plan = one("queue/read_ahead_kb", "2048")
    board.install(ApplyPlan(plan.settings, restore_on_stop=False))
    board.start()
    board.run("stop")
    assert board.window == "2048"
    board.run("restore")
    assert board.window == "128"


def test_restore_that_fails_is_reported_and_can_be_repeated(board):
    board.start()
    board.path(WINDOW).unlink()
    board.path(WINDOW).symlink_to("/proc/sys/kernel/osrelease")
    assert board.run("stop").returncode == 1
    assert "could not be put back" in board.err
    board.path(WINDOW).unlink()
    board.put(WINDOW, "2048")
    board.run("stop")
    assert board.window == "128"


BOOT_ID = "proc/sys/kernel/random/boot_id"


def test_a_run_that_outlives_a_boot_is_not_believed(board):
    board.put(BOOT_ID, "first")
    board.start()
    board.run("boot-done")
    assert board.window == "512"
    board.put(BOOT_ID, "second")
    board.put(WINDOW, "100")
    assert board.run("status").returncode == 3
    board.start()
    assert board.window == "2048", "boots anew"
    board.run("stop")
    assert board.window == "100", "not the value before the first boot"
    assert not list(board.path("run").iterdir())


def test_dry_run_status_shows_whether_all_would_be_set(board):
    assert board.run("dry-run").returncode == 0
    board.put("proc/cmdline", "foreread=off")
    assert board.run("dry-run").returncode == 0, "of this boot only"
    board.put("proc/sys/kernel/osrelease", "5.10")
    assert board.run("dry-run").returncode == 1
    board.put("proc/sys/kernel/osrelease", "6.1")
    board.path(WINDOW).unlink()
    assert board.run("dry-run").returncode == 1
    board.put(f"{WINDOW.rpartition('/')[0]}/../size", "1")
    assert board.run("dry-run").returncode == 1


def test_restart(board):
    board.start()
    board.put(WINDOW, "64")
    assert board.run("restart").returncode == 0
    assert board.window == "2048"
    board.run("stop")
    assert board.window == "128"


def test_run_by_an_init_messages_go_to_the_kernel_log_only(board):
    link = board.path("S05foreread")
    link.symlink_to(board.path("out/foreread-apply"))
    done = subprocess.run(
        [*board.command, link, "start"], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "128 -> 2048" in board.get("dev/kmsg")
    board.run("stop")
    board.path("dev/kmsg").unlink()
    done = subprocess.run(
        [*board.command, link, "start"], capture_output=True, text=True, check=True
    )
    assert "128 -> 2048" in done.stderr, "where there is no kernel log"
