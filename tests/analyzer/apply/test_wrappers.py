"""The wrappers beside the script: what they are for, and that their own tools accept them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rings import further

from foreread.analyzer.apply import (
    ApplyError,
    ApplyPlan,
    Board,
    Disk,
    Prefetch,
    Setting,
    write_scripts,
)
from foreread.analyzer.apply.write import REPLAYER_SCRIPT, shipped
from foreread.tracer.formats.boot_files import REPLAYER

DISK = Disk("mmcblk0", 7_818_182_656, "It's $(a) 'model'")
ONE = (Setting("queue/read_ahead_kb", "2048", "why $(not) `so`", DISK),)
TWO = (*ONE, Setting("queue/read_ahead_kb", "512", "later", DISK, "after"))
BOARD = Board("armv7l", "6.1", "Some $(b) Board")
PREFETCH = Prefetch(b"foreread-prefetch 1\n0 4096 /app\n", shipped(REPLAYER_SCRIPT))
PLANS = {
    "one-phase": ApplyPlan(ONE, BOARD, "a run"),
    "two-phases": ApplyPlan(TWO, BOARD, "a $(run)"),
    "delay": ApplyPlan(TWO, BOARD, "a run", boot_done_seconds=30),
    "keep": ApplyPlan(ONE, restore_on_stop=False),
    "prefetch": ApplyPlan(ONE, BOARD, "a run", prefetch=PREFETCH),
    "prefetch-keep": ApplyPlan(TWO, restore_on_stop=False, prefetch=PREFETCH),
    "attempts": ApplyPlan(ONE, BOARD, "a run", attempts=2, state_dir="/data"),
    "attempts-delay": ApplyPlan(
        ONE, BOARD, "a run", boot_done_seconds=30, prefetch=PREFETCH, attempts=3
    ),
    "memory": ApplyPlan((*TWO, Setting("/proc/sys/vm/swappiness", "10", "swap"))),
}


NOW = ("prefetch-keep", "memory")  # which have most parts


@pytest.fixture(params=further(PLANS, NOW))
def written(request, tmp_path):
    return write_scripts(PLANS[request.param], tmp_path)


def names(plan, directory):
    return {str(path.relative_to(directory)) for path in write_scripts(plan, directory)}


def tool(name, lost):
    # What pip installed for the tests is beside Python.
    path = shutil.which(name) or shutil.which(name, path=Path(sys.executable).parent)
    if path is None:
        pytest.skip(f"{name} is not installed: {lost}")
    return path


def test_shellcheck_passes_on_every_shell_file(written):
    shellcheck = tool("shellcheck", "the generated shell files were not linted")
    shell = [path for path in written if path.read_text().startswith("#!/bin/sh")]
    assert {"foreread-apply", "foreread"} <= {path.name for path in shell}
    result = subprocess.run([shellcheck, *shell], capture_output=True, text=True, check=False)
    assert result.stdout + result.stderr == ""


def test_systemd_accepts_the_units(written, tmp_path):
    analyze = tool("systemd-analyze", "the generated units were not verified")
    units = [path for path in written if path.suffix in {".service", ".timer"}]
    for unit in units:  # the command has to exist, and is not installed here
        unit.write_text(unit.read_text().replace("/usr/sbin/", f"{tmp_path}/"))
    command = [analyze, "verify", "--man=no", *units]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    # It reads what the machine has installed, too, and complains about that.
    others = ("/usr/lib/systemd/", "/lib/systemd/")
    said = [line for line in result.stderr.splitlines() if not line.startswith(others)]
    assert (result.returncode, said) == (0, [])


def test_shell_files_can_be_run_and_others_cannot(written):
    for path in written:
        shell = path.read_text().startswith("#!")
        assert path.stat().st_mode & 0o777 == (0o755 if shell else 0o644)


def test_no_template_syntax_is_left(written):
    for path in written:
        assert not {"{%", "%}", "{{", "}}"} & set(path.read_text().split()), path
        assert "\n\n\n" not in path.read_text(), path


def test_files_by_plan(tmp_path):
    packages = ("yocto/meta-foreread/recipes-core", "buildroot/package")
    files = [f"{place}/foreread-apply/files" for place in packages]
    done = "S99foreread-boot-done"
    after = {
        f"sysv/{done}",
        "openwrt/foreread-boot-done",
        "systemd/foreread-boot-done.service",
        *(f"{place}/{done}" for place in files),
        *(f"{place}/foreread-boot-done.service" for place in files),
    }
    tuned = {"tuned/foreread/tuned.conf"}
    one = names(PLANS["one-phase"], tmp_path / "1")
    assert not one & after
    assert one >= tuned
    assert names(PLANS["two-phases"], tmp_path / "2") - one == after
    timer = {f"{place}/foreread-boot-done.timer" for place in ("systemd", *files)}
    assert names(PLANS["delay"], tmp_path / "3") - one == after | timer
    assert names(PLANS["attempts"], tmp_path / "6") - one == after
    assert names(PLANS["attempts-delay"], tmp_path / "7") >= one - tuned | after | timer
    prefetched = {path for path in names(PLANS["prefetch"], tmp_path / "5") if REPLAYER in path}
    assert {REPLAYER, f"{REPLAYER}.c", f"{REPLAYER}.list"} <= prefetched
    assert names(PLANS["prefetch"], tmp_path / "5") == one - tuned | prefetched
    assert names(PLANS["memory"], tmp_path / "4") - one == after | {"sysctl.d/60-foreread.conf"}


def test_everything_a_build_system_installs_is_written(written, tmp_path):
    replayed = any(path.name == f"{REPLAYER}.c" for path in written)
    for name in ("foreread-apply", REPLAYER) if replayed else ("foreread-apply",):
        recipe = tmp_path / f"yocto/meta-foreread/recipes-core/{name}"
        package = tmp_path / f"buildroot/package/{name}"
        fetched = set(re.findall(r"file://([\w.-]+)", (recipe / f"{name}_1.0.bb").read_text()))
        makefile = (package / f"{name}.mk").read_text().split()
        used = {word.split("/")[1] for word in makefile if word.startswith("$(@D)/")}
        for folder in (recipe, package):
            assert {path.name for path in (folder / "files").iterdir()} == fetched
            for path in (folder / "files").iterdir():
                assert path in written
        assert fetched == used - ({REPLAYER} if name == REPLAYER else set())  # compiled there


def test_yocto_linter_accepts_the_layer(written, tmp_path):
    lint = tool("oelint-adv", "the generated layer was not linted")
    files = [path for path in written if path.suffix in {".bb", ".bbappend"}]
    files.append(tmp_path / "yocto/meta-foreread/conf/layer.conf")
    # A licence that is the distribution's file, a project without a page, and an override of a name
    # that the linter cannot know.
    rules = ("licenseremotefile", "mandatoryvar.HOMEPAGE")
    words = [word for rule in rules for word in ("--suppress", f"oelint.var.{rule}")]
    words += ["--suppress", "oelint.vars.noncoreoverride"]
    command = [lint, "--quiet", "--hide", "info", *words, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_file_is_in_install(written, tmp_path):
    install = (tmp_path / "INSTALL.md").read_text()
    for name in {path.relative_to(tmp_path) for path in written} - {Path("INSTALL.md")}:
        assert any(str(part) in install for part in (name, f"{name.parts[0]}/")), name


def test_unit_starts_before_services_and_can_be_switched_off(tmp_path):
    write_scripts(PLANS["one-phase"], tmp_path)
    unit = (tmp_path / "systemd/foreread.service").read_text()
    for line in (
        "Type=oneshot",
        "RemainAfterExit=yes",
        "DefaultDependencies=no",
        "Before=sysinit.target",
        "ConditionKernelCommandLine=!foreread=off",
        "ExecStop=/usr/sbin/foreread-apply stop",
    ):
        assert line in unit.splitlines()


def test_unit_starts_when_boots_can_be_counted(tmp_path):
    write_scripts(PLANS["attempts"], tmp_path)
    unit = (tmp_path / "systemd/foreread.service").read_text().splitlines()
    assert "RequiresMountsFor=/data" in unit
    assert "After=systemd-remount-fs.service" in unit


def test_kept_values_have_no_exec_stop(tmp_path):
    write_scripts(PLANS["keep"], tmp_path)
    assert "ExecStop" not in (tmp_path / "systemd/foreread.service").read_text()


def test_delay_is_in_every_init_system(tmp_path):
    write_scripts(PLANS["delay"], tmp_path)
    assert "OnBootSec=30s" in (tmp_path / "systemd/foreread-boot-done.timer").read_text()
    for name in ("sysv/S99foreread-boot-done", "openwrt/foreread-boot-done"):
        assert "sleep 30 &&" in (tmp_path / name).read_text()


def test_udev_rule_skips_what_is_not_the_disk_and_sets_the_lasting_value(tmp_path):
    write_scripts(PLANS["two-phases"], tmp_path)
    rules = (tmp_path / "udev/99-zz-foreread.rules").read_text().splitlines()
    (rule,) = [line for line in rules if "read_ahead_kb" in line]
    keys = rule.split(", ")
    assert keys == [
        'ACTION=="add|change"',
        'SUBSYSTEM=="block"',
        'ENV{DEVTYPE}=="disk"',
        'KERNEL!="*boot*|*rpmb*"',
        'KERNEL=="mmcblk*"',
        'ATTR{device/name}=="It?s???a???model?"',
        f'ATTR{{size}}=="{DISK.size_bytes // 512}"',
        'ATTR{queue/read_ahead_kb}="512"',
        "RUN+=\"/bin/sh -c 'echo 512 >%S%p/queue/read_ahead_kb'\"",
    ]


ANDROID = Disk("dm-6", 1 << 30, "system-verity")


def android_lines(tmp_path, *settings):
    """Return trigger -> lines of the file for Android's init."""
    write_scripts(ApplyPlan(settings), tmp_path)
    found: dict[str, list[str]] = {}
    for line in (tmp_path / "android/foreread.rc").read_text().splitlines():
        if line.startswith("on "):
            trigger = line.removeprefix("on ")
            found[trigger] = []
        elif line.startswith("    "):
            found[trigger].append(line.strip())
    return found


def test_androids_init_sets_the_device_that_counts_again_after_vendors_scripts(tmp_path):
    knob = "queue/read_ahead_kb"
    line = f"write /sys/block/dm-6/{knob}"
    lines = android_lines(tmp_path / "1", Setting(knob, "32", "why", ANDROID))
    after = ["sys.boot_completed=1", "vendor.post_boot.parsed=1", "init.svc.qcom-post-boot=stopped"]
    assert lines == {"post-fs": [f"{line} 32"], **{f"property:{x}": [f"{line} 32"] for x in after}}
    later = Setting(knob, "128", "later", ANDROID, "after")
    lines = android_lines(tmp_path / "2", Setting(knob, "32", "why", ANDROID), later)
    assert lines["post-fs"] == [f"{line} 32"]
    assert lines["property:sys.boot_completed=1"] == [f"{line} 128"]


def test_androids_init_gets_no_window_that_a_mount_names(tmp_path):
    write_scripts(ApplyPlan((Setting("window:/system", "32", "why"),)), tmp_path)
    assert not (tmp_path / "android").exists()
    assert "Android" not in (tmp_path / "INSTALL.md").read_text()


def test_sysctl_has_the_lasting_value(tmp_path):
    knob = "/proc/sys/vm/swappiness"
    settings = (Setting(knob, "5", "later", phase="after"), Setting(knob, "60", "boot"))
    write_scripts(ApplyPlan(settings), tmp_path)
    conf = (tmp_path / "sysctl.d/60-foreread.conf").read_text().splitlines()
    assert [line for line in conf if not line.startswith("#")] == ["vm.swappiness = 5"]


def test_sysctl_leaves_out_what_the_memory_limits(tmp_path):
    """Sysctl would not compare it with the board's memory, which the script does."""
    knob = Setting("/proc/sys/vm/min_free_kbytes", "4194304", "why")
    swappiness = Setting("/proc/sys/vm/swappiness", "10", "why")
    write_scripts(ApplyPlan((knob, swappiness)), tmp_path)
    conf = (tmp_path / "sysctl.d/60-foreread.conf").read_text()
    assert "swappiness" in conf
    assert "# /proc/sys/vm/min_free_kbytes is left to the script" in conf
    assert "4194304" not in conf


def test_sysctl_names_what_is_left_out(tmp_path):
    swappiness = Setting("/proc/sys/vm/swappiness", "10", "why")
    autogroup = Setting("/proc/sys/kernel/sched_autogroup_enabled", "0", "why")
    write_scripts(ApplyPlan((*ONE, swappiness, autogroup)), tmp_path)
    conf = (tmp_path / "sysctl.d/60-foreread.conf").read_text().splitlines()
    assert "# /sys/block/mmcblk0/queue/read_ahead_kb is not a sysctl, and is left out." in conf
    assert {"vm.swappiness = 10", "kernel.sched_autogroup_enabled = 0"} <= set(conf)


@pytest.mark.parametrize(
    "setting",
    [
        Setting("window:/data", "512", "why"),
        Setting("/proc/sys/vm/min_free_kbytes", "4096", "why"),  # compared with the memory first
    ],
    ids=lambda setting: setting.knob,
)
def test_there_is_no_profile_for_tuned_which_would_set_a_part_only(setting, tmp_path):
    write_scripts(ApplyPlan((*ONE, setting)), tmp_path)
    assert not (tmp_path / "tuned").exists()
    assert "TuneD" not in (tmp_path / "INSTALL.md").read_text()


def test_scheduler_comes_first_on_its_disk(tmp_path):
    others = (Setting("queue/nr_requests", "8", "b", DISK), *TWO)
    write_scripts(ApplyPlan((*others, Setting("queue/scheduler", "none", "a", DISK))), tmp_path)
    script = (tmp_path / "foreread-apply").read_text()
    knobs = [line.split("'")[1] for line in script.splitlines() if line.startswith("\tknob ")]
    assert knobs[0] == "queue/scheduler"
    assert script.count("\tdisk '") == 1


def test_unwritable_output_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ApplyError) as error:
        write_scripts(PLANS["one-phase"], tmp_path / "file")
    assert error.value.remedy


def test_nothing_to_set_is_refused(tmp_path):
    with pytest.raises(ApplyError, match="nothing to set"):
        write_scripts(ApplyPlan(()), tmp_path)
