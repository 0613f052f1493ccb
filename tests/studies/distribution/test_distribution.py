"""The images of the distribution's study, the marks of a boot, and the tables."""

import subprocess
from pathlib import Path

import pytest

from studies.distribution import image, tables
from studies.distribution.boots import BootError, boot_of
from studies.distribution.predicted import STARTS, Predicted

WRITTEN = ("foreread-apply", "foreread-prefetch", "foreread-prefetch.list")
UNITS = ("foreread.service", "foreread-boot-done.service")


@pytest.fixture
def root(tmp_path):
    """A root with the folders that image.prepare expects of a distribution."""
    root = tmp_path / "root"
    for folder in ("etc/systemd/system", "root/.ssh", "usr/local/sbin", "usr/lib", "usr/sbin"):
        (root / folder).mkdir(parents=True)
    return root


@pytest.fixture
def script(tmp_path):
    """What `foreread script` writes, with and without a list."""
    folder = tmp_path / "script"
    (folder / "systemd").mkdir(parents=True)
    for name in (*WRITTEN, *(f"systemd/{unit}" for unit in UNITS)):
        (folder / name).write_text(name)
    return folder


def files(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


def test_a_root_is_prepared_twice_with_the_same_result(root):
    image.prepare(root)
    once = files(root)
    image.prepare(root)
    assert files(root) == once
    assert "etc/systemd/system/multi-user.target.wants/mark-end.service" in once
    mark = root / "usr/lib/board/mark"
    assert mark.stat().st_mode & 0o111
    subprocess.run(["sh", "-n", str(mark)], check=True)


def test_the_boot_script_is_installed_where_its_units_find_it(root, script):
    image.prepare(root)
    before = files(root)
    image.apply(root, script)
    added = set(files(root)) - set(before)
    assert {"usr/sbin/foreread-apply", "etc/foreread-prefetch.list"} <= added
    assert (root / "usr/sbin/foreread-prefetch").stat().st_mode & 0o111
    for wanted, unit in (("sysinit", UNITS[0]), ("multi-user", UNITS[1])):
        link = root / f"etc/systemd/system/{wanted}.target.wants/{unit}"
        assert (root / str(link.readlink()).lstrip("/")).read_text() == f"systemd/{unit}"
    image.apply(root, None)
    assert files(root) == before


def test_a_script_without_a_list_replaces_one_with_a_list(root, script):
    image.prepare(root)
    image.apply(root, script)
    for name in WRITTEN[1:]:
        (script / name).unlink()
    image.apply(root, script)
    there = files(root)
    assert "usr/sbin/foreread-apply" in there
    assert not any("prefetch" in path for path in there)


def test_options_of_the_builder_name_level_and_order():
    assert image.options("lz4", "128K", None) == ["-comp", "lz4", "-b", "128K"]
    words = image.options("zstd", "256K", Path("a.sort"))
    assert words[4:] == ["-Xcompression-level", image.ZSTD_LEVEL, "-sort", "a.sort"]


def test_a_boot_is_read_from_the_console_beside_a_prompt():
    said = (
        f"vm login: {image.SAID} 1000000000 700 2000 3500000000 900 6000 128\r\n[ 3.6] Power down\n"
    )
    assert boot_of(said) == {
        "seconds": 2.5,
        "requests": 200,
        "read_bytes": 4000 * 512,
        "requests_before": 700,
        "bytes_before": 2000 * 512,
        "read_ahead_kb": 128,
    }


def test_a_console_without_marks_is_refused_with_its_last_output():
    with pytest.raises(BootError, match="Kernel panic"):
        boot_of("booting\nKernel panic - not syncing\n")


def test_the_mark_s_line_is_what_is_read(tmp_path):
    """The script that the board runs prints the line that boot_of reads."""
    text = image._MARK
    for place in ("/sys/module/slowdisk/parameters/now_ns", "/sys/block/slow0/stat", "/run/mark-"):
        assert place in text
    fake = text.replace("/sys/", f"{tmp_path}/sys/").replace("/run/", f"{tmp_path}/run/")
    fake = fake.replace("/proc/", f"{tmp_path}/proc/").replace(
        "/dev/console", f"{tmp_path}/console"
    )
    for folder in ("sys/module/slowdisk/parameters", "sys/block/slow0/queue", "run", "proc"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "proc/sysrq-trigger").touch()
    (tmp_path / "proc/cmdline").write_text(f"quiet {image.MEASURED} x\n")
    (tmp_path / "sys/block/slow0/queue/read_ahead_kb").write_text("64\n")
    for name, now, stat in (("begin", 10**9, "5 0 40 9"), ("end", 3 * 10**9, "25 0 100 9")):
        (tmp_path / "sys/module/slowdisk/parameters/now_ns").write_text(f"{now}\n")
        (tmp_path / "sys/block/slow0/stat").write_text(f"{stat}\n")
        subprocess.run(["sh", "-c", fake, "mark", name], check=True)
    found = boot_of((tmp_path / "console").read_text())
    assert (found["seconds"], found["requests"], found["read_bytes"]) == (2.0, 20, 60 * 512)
    assert found["read_ahead_kb"] == 64
    assert (tmp_path / "proc/sysrq-trigger").read_text() == "o\n"


def test_the_table_has_median_spread_and_savings():
    def runs(*seconds):
        return [{"seconds": one, "requests": 10, "read_bytes": 1 << 20} for one in seconds]

    cases = {"everything": runs(3.0, 3.1, 3.0), "default": runs(4.0, 3.9, 4.4)}
    first, second = tables.rows(cases, {"default": Predicted(4.2, 4.2)})
    assert first[1:5] == ("4.20", "4.00 (3.90…4.40, 3)", "5.0", "0.0, 0.0")
    assert second[1] == second[3] == "–"
    assert second[4] == "–, 25.0"


def test_the_page_has_the_table_of_the_raw_figures():
    folder = Path(tables.__file__).parent
    assert tables.table(folder / "raw") in (folder / "README.md").read_text()
    for what in STARTS:
        found = tables.measured(folder / "raw", what)
        assert {"default", "everything"} <= {*found}
        assert min(map(len, found.values())) >= 3
