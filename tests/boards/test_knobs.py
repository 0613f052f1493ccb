"""The list of knobs: what writers need is in it, and Python and every shell agree on the rest."""

import random
import re
import subprocess
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property_tests import examples
from shells import BASH, BUSYBOX, DASH, each_shell

from foreread.analyzer.tuner.space.catalogue import entries
from foreread.boards import knobs
from foreread.boards.knobs import KnobError, check_put_back, check_setting, knob_of
from foreread.boards.profile import builtin_names, load_profile
from foreread.tracer import touches
from foreread.tracer.runs import inode_tables

QUEUE = "/sys/block/sda/queue"
MEMORY_KIB = int(Path("/proc/meminfo").read_text().split()[1])
SHELLS = pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX, of=(BUSYBOX, DASH, BASH)))
HERE = {
    "{disk}": "sda",
    "{bdi}": "btrfs-1",
    "{tunable}": "slice_idle_us",
    "{mount}": "/mnt/a-b.c",
    "{policy}": "policy0",
}
RULING = """
while [ $# -gt 0 ]; do
    said=
    for rule in may_set may_put_back; do
        refusal=
        if "$rule" "$1" "$2"; then
            said=${said}1
        else
            [ -n "$refusal" ] || exit 3
            said=${said}0
        fi
    done
    echo "$said"
    shift 2
done
"""


def filled(place, names=HERE):
    for placeholder, name in names.items():
        place = place.replace(placeholder, name)
    return place


def in_shell(shell, pairs):
    """Return "10" for a knob and a value that may be set but not put back, and so on."""
    words = [word for pair in pairs for word in pair]
    script = knobs.shell_functions() + RULING
    done = subprocess.run([*shell, "-c", script, "sh", *words], capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout.decode().split()


def in_python(pairs):
    return [
        "".join(str(int(allows(rule, path, value))) for rule in (check_setting, check_put_back))
        for path, value in pairs
    ]


def allows(rule, path, value):
    try:
        rule(path, value, MEMORY_KIB)
    except KnobError as error:
        assert error.remedy
        return False
    return True


# ---- The list holds what is written, and nothing else. ----


@pytest.mark.parametrize("gene", entries(), ids=lambda gene: gene.name)
def test_every_gene_of_the_catalogue_is_listed_with_its_levels(gene):
    path = filled(gene.knob)
    assert knob_of(path).path == gene.knob
    for level in [*gene.levels, *([gene.least] if gene.around else [])]:
        if gene.name not in ("kyber.read_lat_nsec", "kyber.write_lat_nsec"):
            assert allows(check_setting, path, str(level))
            assert allows(check_put_back, path, str(level))


@cache
def companions():
    """Names below QUEUE of the knobs that the kernel resets with a listed knob (knobs.sh)."""
    script = (resources.files("foreread.tracer.runs") / "knobs.sh").read_text()
    script += '\nfor knob; do reset_with "$knob"; echo "$reset"; done'
    paths = [filled(knob.path) for knob in knobs.knobs()]
    done = subprocess.run(
        [*DASH, "-c", script, "sh", *paths], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return sorted({path.removeprefix(f"{QUEUE}/") for path in done.stdout.split()})


@pytest.mark.parametrize("name", companions())
def test_what_the_kernel_resets_may_be_put_back(name):
    assert allows(check_put_back, f"{QUEUE}/{name}", "128")


def test_the_windows_of_profiles_may_be_set():
    profiles = msgspec.json.encode([load_profile(name) for name in builtin_names()]).decode()
    windows = set(re.findall(r'"read_ahead_kb":(\d+)', profiles))
    assert windows >= {"0", "128"}
    for window in windows:
        assert allows(check_setting, f"{QUEUE}/read_ahead_kb", window)


def test_nothing_is_listed_that_nobody_writes():
    genes = {gene.knob for gene in entries()}
    reset = {f"/sys/block/{{disk}}/queue/{name}" for name in companions()}
    windows = {"/sys/class/bdi/{bdi}/read_ahead_kb"}  # boards/device.py
    windows |= {"/sys/fs/btrfs/{bdi}/bdi/read_ahead_kb"}  # boards/stacks.py
    tunables = {"/sys/block/{disk}/queue/iosched/{tunable}"}  # put back with their scheduler
    shown = {touches.KNOB, inode_tables.KNOB}  # what a recording turns off
    assert {knob.path for knob in knobs.knobs()} == genes | reset | windows | tunables | shown


def test_values_that_kernels_show_may_be_put_back():
    for knob, value in [
        (f"{QUEUE}/read_ahead_kb", "8192"),
        (f"{QUEUE}/max_sectors_kb", "2147483647"),  # zram, dm
        (f"{QUEUE}/nr_requests", "2"),  # a USB stick
        (f"{QUEUE}/wbt_lat_usec", "0"),
        (f"{QUEUE}/iosched/slice_idle_us", "8000"),
        (f"{QUEUE}/iosched/target_latency", "300"),  # cfq
        (f"{QUEUE}/scheduler", "noop"),
        (f"{QUEUE}/scheduler", "mq-deadline"),
        ("/sys/class/bdi/0:50/read_ahead_kb", "0"),
        ("/sys/class/bdi/8:1-fuseblk/read_ahead_kb", "128"),
        ("/sys/block/cciss!c0d0/queue/read_ahead_kb", "128"),
        ("/proc/sys/vm/swappiness", "200"),
        ("/proc/sys/vm/vfs_cache_pressure", "0"),
        ("/proc/sys/vm/dirty_writeback_centisecs", "0"),
        ("/proc/sys/vm/min_free_kbytes", "724"),
        ("mount:commit=:/", "900"),
        ("/sys/devices/system/cpu/cpufreq/policy4/scaling_governor", "conservative"),
        ("/proc/sys/kernel/sched_wakeup_granularity_ns", "0"),
    ]:
        assert allows(check_put_back, knob, value)


def test_the_values_of_this_machine_may_be_put_back():
    """All disks, the memory: a real kernel shows them."""
    seen = 0
    for knob in knobs.knobs():
        pattern = filled(knob.path, dict.fromkeys(HERE, "*"))
        for file in Path("/").glob(pattern.removeprefix("/")) if pattern[0] == "/" else ():
            try:
                value = file.read_text().strip()
            except OSError:
                continue
            chosen = re.search(r"\[(\S+)\]", value)
            check_put_back(str(file), chosen[1] if chosen else value, MEMORY_KIB)
            seen += 1
    assert seen > 10


@pytest.mark.parametrize(
    "knob",
    [
        {"path": "/x", "set": (1, 2), "found": (2, 2)},
        {"path": "/x", "set": (2, 1)},
        {"path": "/x", "set": (0, 1 << 31)},
        {"path": "/x"},
    ],
)
def test_an_entry_that_could_not_be_put_back_is_refused(knob):
    with pytest.raises(ValueError, match="ranges"):
        knobs.Knob(source="", **knob)


def test_shell_files_write_no_other_file_of_the_kernel():
    """A plain look for redirections to a fixed path; those to "$1" are the writers' own."""
    found = {}
    for folder in ("boards", "tracer", "analyzer"):
        for pattern in ("*.sh", "*.j2"):
            for file in (Path(__file__).parents[2] / folder).rglob(pattern):
                if "guest" in file.parts:
                    continue  # what runs inside an emulated board
                written = re.findall(r'>>?"?(/(?:sys|proc/sys)/[^"\s;]*)', file.read_text())
                found |= dict.fromkeys(written, file.name)
    assert found == {
        "/proc/sys/vm/drop_caches": "lib.sh",  # an action of the cold run
        "/sys/fs/cgroup/cgroup.procs": "boot_hook.sh",  # out of the slice that it holds
    }


# ---- Everything else is refused, by Python and by each shell. ----

HOSTILE = [
    ("/proc/sys/kernel/randomize_va_space", "0"),
    ("/proc/sys/kernel/sysrq", "1"),
    ("/proc/sys/kernel/core_pattern", "|/bin/sh"),
    ("/proc/sys/vm/drop_caches", "3"),
    ("/proc/sys/vm/overcommit_memory", "2"),
    ("/proc/sys/vm/nr_hugepages", "100000"),
    ("/sys/power/state", "mem"),
    ("/sys/block/sda/device/state", "offline"),
    ("/sys/block/sda/device/delete", "1"),
    ("/sys/block/sda/queue/../../../power/state", "mem"),
    ("/sys/block/sda/../../power/state", "mem"),
    ("/sys/block/../block/sda/queue/scheduler", "bfq"),
    ("/sys/block/..", "1"),
    ("/sys/block/../queue/scheduler", "bfq"),
    ("/sys/block//queue/scheduler", "bfq"),
    ("/sys/block/sda//queue/scheduler", "bfq"),
    ("/sys/block/sda/queue/scheduler/", "bfq"),
    ("/sys/block/sda/queue/scheduler\n", "bfq"),
    ("/sys/block/sda\n/queue/scheduler", "bfq"),
    ("/sys/block/sda\t/queue/scheduler", "bfq"),
    ("/sys/block/sd a/queue/scheduler", "bfq"),
    ("/sys/block/*/queue/scheduler", "bfq"),
    ("/sys/block/sd?/queue/scheduler", "bfq"),
    ("/sys/block/[s]da/queue/scheduler", "bfq"),
    ("/sys/block/$(id)/queue/scheduler", "bfq"),
    ("/sys/block/`id`/queue/scheduler", "bfq"),
    ("/sys/block/{disk}/queue/scheduler", "bfq"),
    ("/sys/block/-n/queue/scheduler", "bfq"),
    ("/sys/block/séa/queue/scheduler", "bfq"),
    ("/sys/block/sda/queue/iosched/", "1"),
    ("/sys/block/sda/queue/iosched/..", "1"),
    ("/sys/block/sda/queue/iosched/../nr_requests", "8"),
    ("/sys/block/sda/queue/iosched/a/b", "1"),
    ("/sys/block/sda/queue/iosched/*", "1"),
    ("/sys/class/bdi/../../power/read_ahead_kb", "1"),
    ("/sys/devices/system/cpu/cpufreq/policy*/scaling_governor", "performance"),
    ("/sys/devices/system/cpu/cpufreq/policy/scaling_governor", "performance"),
    ("/sys/devices/system/cpu/cpufreq/policy01/scaling_governor", "performance"),
    ("/sys/devices/system/cpu/cpufreq/policy0/../policy1/scaling_governor", "performance"),
    ("/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "1"),
    ("/sys/devices/system/cpu/cpu0/online", "0"),
    ("/sys/kernel/debug/sched/preempt", "full"),
    ("/proc/sys/kernel/sched_rt_runtime_us", "1000000"),
    ("/sys/class/bdi/8:0/max_ratio", "1"),
    ("mount:commit=:{mount}", "5"),
    ("mount:commit=:", "5"),
    ("mount:commit=:mnt", "5"),
    ("mount:commit=:/mnt/../etc", "5"),
    ("mount:commit=:/..", "5"),
    ("mount:commit=:/mnt x", "5"),
    ("mount:commit=:/mnt\n", "5"),
    ("mount:errors=remount-ro,errors=panic:/", "errors=panic"),
    ("mount:ro,rw:/", "ro"),
    ("mount:relatime,noatime:/", "noatime"),
    ("", ""),
    ("/", "1"),
    ("/etc/passwd", "1"),
    ("queue/scheduler", "bfq"),
]
VALUES = [
    *("", " ", "1 ", " 1", "1\n", "\n1", "1\t", "+1", "-1", "-0", "00", "01", "0x10", "1e3", "1.0"),
    *("$(id)", "`id`", "*", "?", "[1]", "{1,2}", "'1'", '"1"', "\\1", "1;id", "$((1))", "~", "1-2"),
    *("9" * 10, "9" * 11, "9" * 40, "2147483648", "4294967296", "१", "１", "bfq\n", "bfq noop"),
    *("-n", "-", "relatime,noatime", "relatime,", "NOATIME", "a" * 16, "../x", "|", ":", "1:2"),
]


@SHELLS
def test_hostile_knobs_are_refused_by_name(shell):
    assert in_shell(shell, HOSTILE) == ["00"] * len(HOSTILE)
    for path, value in HOSTILE:
        with pytest.raises(KnobError, match="is not a knob") as error:
            check_setting(path, value)
        assert repr(path) in str(error.value)


@SHELLS
def test_hostile_values_are_refused_with_the_range(shell):
    words = [value for value in VALUES if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,14}", value)]
    for knob, values in {
        "/proc/sys/vm/swappiness": VALUES,
        "mount:relatime,noatime,strictatime:/": VALUES,
        f"{QUEUE}/scheduler": words,
    }.items():
        pairs = [(knob, value) for value in values]
        assert in_shell(shell, pairs) == ["00"] * len(pairs), knob
        assert in_python(pairs) == ["00"] * len(pairs)
    with pytest.raises(KnobError, match="swappiness: '201' is not a whole number from 0 to 200"):
        check_setting("/proc/sys/vm/swappiness", "201")


@SHELLS
def test_an_eighth_of_the_memory_may_be_kept_free(shell):
    knob, most = "/proc/sys/vm/min_free_kbytes", min(MEMORY_KIB // 8, 4194304)
    pairs = [(knob, str(value)) for value in (most, most + 1, 1023, 1024, 0)]
    assert in_shell(shell, pairs) == in_python(pairs) == ["11", "00", "01", "11", "01"]


@cache
def edges():
    """Values at and around all limits of the list."""
    limits = {
        end for knob in knobs.knobs() for pair in (knob.set, knob.found) for end in pair or ()
    }
    return sorted({str(max(limit + by, 0)) for limit in limits for by in (-1, 0, 1)})


NAMES = (
    *HERE.values(),
    "policy12",
    "policy1000",
    "policy00",
    "mmcblk0",
    "dm-0",
    "..",
    "",
    "a/b",
    "0:50",
    "x\ny",
    "é",
)
TEXTS = (*VALUES, "/", "..", "/../", "{disk}", ":", "=", ",", "!", "\x1b", "é")


def a_pair(rng):
    """A knob of the list with any names, in one of four damaged; and a value, often at a limit."""
    names = {key: rng.choice([name] * 9 + [*NAMES]) for key, name in HERE.items()}
    path = filled(rng.choice(knobs.knobs()).path, names)
    if rng.random() < 0.25:
        at = rng.randrange(len(path) + 1)
        path = path[:at] + rng.choice(TEXTS) + path[at + rng.randrange(3) :]
    choices = [word for knob in knobs.knobs() for word in knob.choices]
    return path, rng.choice([*edges(), *choices, *VALUES, "bfq", "none", "mq-deadline"])


@SHELLS
@settings(max_examples=examples(16), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_python_and_shells_agree(shell, seed):
    """Many pairs a shell: each start of one costs more than a hundred decisions."""
    rng = random.Random(seed)
    pairs = [a_pair(rng) for _ in range(300)]
    decided = in_python(pairs)
    assert {"00", "11"} <= set(decided)
    differ = [
        (*pair, here, there)
        for pair, here, there in zip(pairs, decided, in_shell(shell, pairs), strict=True)
        if here != there
    ]
    assert differ == []


def test_a_number_of_a_device_is_not_a_name_of_a_disk():
    assert not knobs.is_disk_name("254:6")
    assert knobs.is_disk_name("md_host:3")
