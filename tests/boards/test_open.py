"""Which target a text names."""

import tempfile

import pytest

from foreread.boards.adb import AdbTarget
from foreread.boards.console.serial import SerialTarget
from foreread.boards.open import open_target, transport_of
from foreread.boards.profile import ProfileError
from foreread.boards.ssh import SshTarget
from foreread.boards.target import LocalTarget, TargetError

HEAD = 'schema = 1\nname = "mine"\ntitle = "Mine"\nmeasured_here = false\n'


def test_local_by_name_and_by_profile():
    for text in ("local", "loop"):
        with open_target(text) as target:
            assert isinstance(target, LocalTarget)


def test_a_url_is_an_ssh_target_that_nobody_connects_to_yet():
    with open_target("ssh://root@board.invalid:2222") as target:
        assert isinstance(target, SshTarget)
        assert str(target.connection.address) == "ssh://root@board.invalid:2222"


def test_a_profile_names_files_beside_itself(tmp_path):
    (tmp_path / "hosts").write_text("")
    profile = tmp_path / "mine.toml"
    transport = '[transport]\nkind = "ssh"\nurl = "ssh://root@board"\nknown_hosts = "hosts"\n'
    profile.write_text(HEAD + transport)
    with open_target(str(profile)) as target:
        link = target.connection.directory / "known_hosts"
        assert link.resolve() == (tmp_path / "hosts").resolve()


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("serial:///dev/ttyUSB0?baud=9600", SerialTarget),
        ("serial://terminal-server:2001", SerialTarget),
        ("adb://0123456789ABCDEF", AdbTarget),
        ("adb://", AdbTarget),
    ],
)
def test_a_serial_or_adb_url_and_a_profile_with_it(url, kind, tmp_path):
    profile = tmp_path / "mine.toml"
    scheme = url.partition(":")[0]
    profile.write_text(HEAD + f'[transport]\nkind = "{scheme}"\nurl = "{url}"\n')
    for text in (url, str(profile)):
        with open_target(text) as target:
            assert isinstance(target, kind)
            assert target.place == url


@pytest.mark.parametrize(
    "text",
    [
        "ssh://",
        "dtv-x260",
        "telnet://board",
        "SSH://board",
        "://",
        "serial://",
        "serial://board",
        "serial://board:0",
        "serial://board:99999",
        "serial://-oboard:1",
        "serial://dev/ttyUSB0",
        "serial:///dev/ttyUSB0?baud=fast",
        "serial:///dev/ttyUSB0?baud=0",
        "serial:///dev/ttyUSB0?speed=9600",
        "serial:///dev/tty USB0",
        "serial:///dev/tty%20USB0",
        "serial:///dev/tty\n",
        "serial:///dev/tty\0",
        "serial://board:1\n",
        "serial:///dev/ttyS0#x",
    ],
)
def test_an_unreachable_target_has_a_remedy(text):
    with pytest.raises(TargetError) as refused:
        open_target(text)
    assert refused.value.remedy


def test_no_such_profile():
    with pytest.raises(ProfileError):
        open_target("nope")


def test_a_known_hosts_file_that_is_not_there_is_refused_and_nothing_left(tmp_path, monkeypatch):
    private = tmp_path / "private"
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **_: private.mkdir() or str(private))
    with pytest.raises(TargetError, match="no such file"):
        open_target("ssh://board", known_hosts=tmp_path / "absent")
    assert not private.exists()


def test_an_identity_is_the_key_of_an_ssh_target_and_of_its_profile(tmp_path):
    key, profile = tmp_path / "key", tmp_path / "mine.toml"
    key.touch()
    profile.write_text(HEAD + '[transport]\nkind = "ssh"\nurl = "ssh://root@board"\n')
    for text in ("ssh://root@board", str(profile)):
        with open_target(text, identity=key) as target:
            assert (target.connection.directory / "identity").resolve() == key.resolve()
        assert transport_of(text, key).identity == str(key)


@pytest.mark.parametrize("text", ["local", "loop", "serial:///dev/ttyUSB0", "adb://", "arm64"])
def test_an_identity_is_refused_where_ssh_does_not_use_it(text, tmp_path):
    with pytest.raises(TargetError, match="--identity") as caught:
        open_target(text, identity=tmp_path)
    assert caught.value.remedy == "leave --identity out"
