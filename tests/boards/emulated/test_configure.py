"""What maintainer scripts changed is put into a board's root, and nothing outside of it."""

import io
import shutil
import subprocess
import tarfile

import pytest

from foreread.boards.emulated import configure, image

needs_dpkg = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="no dpkg-deb")


def archive(*members):
    """A tar archive of (name, type, content or target, uid)."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for name, kind, content, uid in members:
            entry = tarfile.TarInfo(name)
            entry.type, entry.uid, entry.gid, entry.mode = kind, uid, uid, 0o755
            if kind == tarfile.SYMTYPE:
                entry.linkname = content
            entry.size = len(content) if kind == tarfile.REGTYPE else 0
            tar.addfile(entry, io.BytesIO(content.encode()) if entry.size else None)
    return written.getvalue()


def package(tmp_path, fields, script):
    """Build a package with a control file of ``fields``, and read it."""
    tree = tmp_path / "made"
    (tree / "DEBIAN").mkdir(parents=True)
    text = "Package: some\nVersion: 1\nArchitecture: all\nMaintainer: me\nDescription: none\n"
    (tree / "DEBIAN/control").write_text(text + fields)
    if script:
        (tree / "DEBIAN/postinst").write_text("#!/bin/sh\n")
        (tree / "DEBIAN/postinst").chmod(0o755)
    file = tmp_path / "some.deb"
    subprocess.run(["dpkg-deb", "-b", tree, file], check=True, capture_output=True)
    return configure.read_package(file)


def test_users_that_the_root_has_stay_and_others_are_added(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    added = "root:*:0:0:root:/root:/bin/bash\nwww-data:*:33:33::/var/www:/bin/false\n"
    configure.apply(archive(("etc/passwd", tarfile.REGTYPE, added, 0)), tmp_path)
    assert (tmp_path / "etc/passwd").read_text() == (
        "root:x:0:0:root:/root:/bin/sh\nwww-data:*:33:33::/var/www:/bin/false\n"
    )


def test_links_and_folders_are_made_and_owners_are_reported(tmp_path):
    changed = archive(
        ("var", tarfile.DIRTYPE, "", 0),
        ("var/log", tarfile.DIRTYPE, "", 33),
        ("usr/bin/php", tarfile.SYMTYPE, "/etc/alternatives/php", 0),
    )
    owners = configure.apply(changed, tmp_path)
    assert (tmp_path / "var/log").is_dir()
    assert str((tmp_path / "usr/bin/php").readlink()) == "/etc/alternatives/php"
    assert owners == [image.Owner("var/log", 33, 33)]


@pytest.mark.parametrize("name", ["/etc/shadow", "../outside", "way/out"])
def test_nothing_is_written_outside_of_the_root(name, tmp_path):
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    tree.mkdir()
    outside.mkdir()
    (tree / "way").symlink_to(outside)
    configure.apply(archive((name, tarfile.REGTYPE, "hostile", 0)), tree)
    assert list(outside.iterdir()) == []
    assert sorted(path.name for path in tree.iterdir()) == ["way"]


@needs_dpkg
@pytest.mark.parametrize(
    ("fields", "script", "needed"),
    [
        ("Priority: optional\n", True, True),
        ("Priority: optional\n", False, False),
        ("Priority: required\n", True, False),
    ],
)
def test_a_package_with_a_script_is_configured_unless_it_is_of_the_base_system(
    fields, script, needed, tmp_path
):
    assert package(tmp_path, fields, script).needs_configuring is needed


@needs_dpkg
def test_dpkg_reads_the_database_that_is_written(tmp_path):
    made = package(tmp_path, "Priority: optional\nMulti-Arch: foreign\n", script=True)
    configure._write_database(tmp_path, [], [made])
    words = ["dpkg-query", f"--admindir={tmp_path}/var/lib/dpkg", "-W", "-f"]
    shown = subprocess.run(
        [*words, "${Package} ${db:Status-Status}"], check=True, capture_output=True, text=True
    )
    assert shown.stdout == "some unpacked"


@pytest.mark.skipif(not shutil.which("debugfs"), reason="no debugfs")
def test_owners_are_in_the_image(tmp_path):
    tree = tmp_path / "tree"
    (tree / "var/log").mkdir(parents=True)
    image.build_image(tree, "ext4", tmp_path / "image", owners=[image.Owner("var/log", 33, 4)])
    words = ["debugfs", "-R", "stat /var/log", str(tmp_path / "image")]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert "User:    33   Group:     4" in said
