"""Live boards without QEMU: how they are set up, and what is said when they do not come up."""

import json
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

from foreread.boards.emulated import coming_up, keys, launch, live, live_root, state, systemd_root
from foreread.boards.emulated.error import BoardError
from foreread.boards.emulated.live import LiveOptions, options_of
from foreread.boards.open import open_target
from foreread.boards.profile import PROFILES, load_profile
from foreread.cli.main import main

needs_keygen = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no ssh-keygen")


class Ended:
    """A process that ended, or not."""

    def __init__(self, ended):
        self.ended = ended

    def poll(self):
        return 1 if self.ended else None


def failure(folder, said, qemu_said=None, time_out_s=0.0):
    (folder / launch.LOG).write_text(said)
    (folder / launch.QEMU_LOG).write_text(qemu_said or "")
    options = LiveOptions("arm64", time_out_s=time_out_s)
    with pytest.raises(BoardError) as caught:
        coming_up.wait(lambda: None, Ended(qemu_said is not None), folder, options)
    assert caught.value.remedy
    return str(caught.value)


def test_a_failure_is_reported_with_its_step_and_last_lines(tmp_path):
    up = "[ 0.1] x\r\nboard: modules\r\nboard: slow disk\r\n"
    assert "booting the kernel: it was not up after 0 s; its last output: nothing" in failure(
        tmp_path, ""
    )
    assert "filling the slow disk: insmod slowdisk: out of memory?" in failure(
        tmp_path, up + "board: failed: insmod slowdisk: out of memory?\r\n", time_out_s=60
    )
    assert "booting the kernel: VFS: no root" in failure(
        tmp_path, "Kernel panic - not syncing: VFS: no root\r\n", time_out_s=60
    )
    assert "QEMU ended; its last output: cannot set up guest memory" in failure(
        tmp_path, "", "cannot set up guest memory\n"
    )
    lines = "".join(f"line {n}\n" for n in range(9)) + "board: network\n"
    received = failure(tmp_path, lines)
    assert "at starting the ssh server" in received
    assert received.endswith("line 5 | line 6 | line 7 | line 8 | board: network")


def test_a_step_is_one_that_the_guest_begins():
    assert coming_up.step("") is None
    assert coming_up.step("board: root\nboard: nonsense\n board: ssh\n") == "root"


@needs_keygen
def test_keys_are_new_for_each_board(tmp_path):
    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        made.append(keys.make_keys(tmp_path / name))
        keys.write_known_hosts(tmp_path / name, "127.0.0.1", 2222)
        assert (tmp_path / name / "identity").stat().st_mode & 0o777 == 0o600
        assert not (tmp_path / name / "host_key").exists()
        host, kind, _ = (tmp_path / name / "known_hosts").read_text().split(maxsplit=2)
        assert (host, kind) == ("[127.0.0.1]:2222", "ssh-ed25519")
    assert not set(made[0].values()) & set(made[1].values())


def test_without_ssh_keygen_its_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(BoardError, match="ssh-keygen is not installed") as caught:
        keys.make_keys(tmp_path)
    assert caught.value.remedy == "apt-get install openssh-client"


@pytest.mark.parametrize("name", ["a/b", "..", "", "A", "-x", "local", "x86_64", "loop"])
def test_names_that_a_board_cannot_have(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    if name:  # without one, it is the board's
        with pytest.raises(BoardError, match="not a valid name"):
            live.start(LiveOptions("arm64"), name)
    assert live.started(name) is None
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def dead(tmp_path, monkeypatch):
    """A board that was started as ``arm64`` or under another name, and whose QEMU has died."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def make(name, **options):
        folder = state.default_states() / name
        folder.mkdir(parents=True)
        (folder / launch.OPTIONS).write_text(json.dumps(asdict(LiveOptions(**options))))
        subprocess.run(state.recorded(folder, ["true"]), check=True)
        return folder

    return make


def test_a_started_board_that_died_is_an_error_and_no_fresh_board(dead, monkeypatch):
    monkeypatch.setattr(live, "boot", lambda *_: pytest.fail("a fresh board was booted"))
    packages = ("busybox-static", "nginx")
    dead("arm64", board="arm64", packages=packages, latency_ns=5_000_000, init="systemd")
    with pytest.raises(BoardError, match=r"the board arm64.* has ended by itself") as caught:
        open_target("arm64")
    start = "foreread boards start arm64 --latency-us 5000 --package busybox-static"
    assert f"{start} --package nginx --systemd;" in caught.value.remedy
    assert "foreread boards stop arm64" in caught.value.remedy


def test_a_board_of_another_name_does_not_hide_the_one_that_died(dead):
    dead("mine", board="arm64", append="a b")
    with pytest.raises(BoardError, match="mine") as caught:
        open_target("mine")
    assert "boards start arm64 --name mine --append 'a b';" in caught.value.remedy
    assert live.started("arm64") is None


def test_a_dead_board_is_listed_and_forgotten_by_stop(dead, capsys):
    folder = dead("arm64", board="arm64")
    assert main(["boards", "list"]) == 0
    assert "arm64 has ended by itself" in capsys.readouterr().out
    assert main(["boards", "stop", "arm64"]) == 0
    assert not folder.exists()
    assert live.started("arm64") is None


def test_a_dead_board_without_its_options_names_the_command_all_the_same(dead):
    (dead("arm64", board="arm64") / launch.OPTIONS).write_text("{")
    with pytest.raises(BoardError) as caught:
        live.started("arm64")
    assert "foreread boards start arm64;" in caught.value.remedy


def test_an_init_and_a_file_system_that_no_board_has():
    with pytest.raises(BoardError, match="'runit' for init") as caught:
        launch.make(LiveOptions("arm64", init="runit"), print)
    assert caught.value.remedy == "use busybox or systemd"
    with pytest.raises(BoardError, match="'xfs'"):
        launch.make(LiveOptions("arm64", fs="xfs"), print)


def test_a_profile_says_how_its_board_starts(tmp_path):
    text = (PROFILES / "armhf.toml").read_text()
    text = text.replace("latency_us = 1000", "latency_us = 200").replace(
        "ns_per_kib = 50000", "ns_per_kib = 7"
    )
    (tmp_path / "mine.toml").write_text(text + "\n[memory]\nsize_mib = 300\n")
    found = options_of(load_profile(str(tmp_path / "mine.toml")), "armhf")
    wanted = LiveOptions("armhf", "6.1", latency_ns=200_000, ns_per_kib=7, memory_mib=300)
    assert found == wanted
    assert options_of(load_profile("armhf"), "armhf") == LiveOptions("armhf", "6.1")


@pytest.mark.parametrize("before", [b"\0", b"\xae "])
def test_applets_are_read_from_any_busybox(before):
    """Before the names is another table: that of 1.38 for riscv64 ends with no NUL."""
    names = b"acpid\0ash\0zcat\0"
    busybox = b"\x7fELF..\x002[\0\x002[[\0\0" + before + b"[\0[[\0" + names + b"\0more"
    assert live_root.applets(busybox)[-3:] == ["acpid", "ash", "zcat"]
    with pytest.raises(BoardError, match="no applets"):
        live_root.applets(b"\x7fELF")


@pytest.fixture
def tree(tmp_path):
    """A root with a busybox and one program of a package."""
    for name in ("bin", "etc", "lib/systemd/system", "usr/bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "bin/busybox").write_bytes(b"\0[\0[[\0init\0ls\0tar\0\0")
    (tmp_path / "bin/sh").symlink_to("busybox")
    (tmp_path / "usr/bin/tar").touch()
    return tmp_path


def test_a_package_s_program_comes_before_busybox_s(tree):
    live_root.add_live_files(tree, "busybox", 0)
    assert (tree / "bin/ls").readlink() == Path("busybox")
    assert not (tree / "bin/tar").is_symlink()
    assert (tree / "sbin/init").readlink() == Path("/bin/busybox")
    assert (tree / "root/.ssh").readlink() == Path("/run/board/ssh")
    assert not (tree / "swapfile").exists()
    for link in ("etc/init.d/S40network", "etc/init.d/S50dropbear"):
        program = tree / (tree / link).readlink().relative_to("/")
        assert program.stat().st_mode & 0o777 == 0o755


@pytest.mark.skipif(not shutil.which("mkswap", path="/usr/sbin:/sbin"), reason="no mkswap")
@pytest.mark.parametrize("page", [4096, 16384])
def test_the_swap_file_has_no_holes_and_is_for_the_board_s_pages(tree, page):
    live_root.add_live_files(tree, "busybox", 1, page)
    data = (tree / "swapfile").read_bytes()
    assert len(data) == 1 << 20
    assert data[page - 10 : page] == b"SWAPSPACE2"
    assert not any(data[at : at + 4096].strip(b"\0") == b"" for at in range(0, len(data), 4096))


def test_systemd_s_root_is_merged_and_its_units_are_wanted(tree):
    (tree / "sbin").mkdir()
    (tree / "sbin/init").symlink_to("/lib/systemd/systemd")
    systemd_root.merge_usr(tree)
    assert (tree / "lib").readlink() == Path("usr/lib")
    assert (tree / "usr/lib/systemd/system").is_dir()
    live_root.add_live_files(tree, "systemd", 0)
    assert (tree / "usr/sbin/init").readlink() == Path("/lib/systemd/systemd")
    wanted = tree / "etc/systemd/system/multi-user.target.wants"
    assert {path.name for path in wanted.iterdir()} == {
        path.name for path in (live_root.GUEST / "systemd").iterdir()
    }
    assert (tree / "bin/sh").readlink() == Path("dash")


@pytest.mark.parametrize("script", sorted(live_root.GUEST.glob("*.sh")), ids=lambda path: path.name)
def test_the_guest_s_scripts_are_shell(script):
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0


def test_a_board_of_an_own_image_is_started_again_with_it_and_its_modules(dead):
    dead("arm64", board="arm64", fs="squashfs", image="/own image", modules=("loop",))
    with pytest.raises(BoardError) as caught:
        open_target("arm64")
    words = "arm64 --fs squashfs --image '/own image' --module loop;"
    assert words in caught.value.remedy


def test_an_image_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(BoardError, match="no file") as caught:
        launch.make(LiveOptions("arm64", image=str(tmp_path / "none")), print)
    assert "--image" in caught.value.remedy
