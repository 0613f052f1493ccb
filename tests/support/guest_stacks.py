"""File systems and stacks on the second disk of a board, /dev/slow1, with a file of each of SIZES.

Images are made here, by tools that take a folder; what lies between file system and disk is set up
in the guest, by programs of this machine (BROUGHT), which are brought with their libraries.
"""

from __future__ import annotations

import gzip
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from program_strategy import SIZES
from programs import PAGE
from waiting import left_s

from foreread.boards.emulated.live import EmulatedTarget

_HERE, _BELOW, _BIG = "/mnt/stack", "/mnt/below", "/mnt/big"
_TOOLS = "/mnt/big/tools"
_BRING = f"{_TOOLS}/ld-linux-x86-64.so.2 --library-path {_TOOLS} {_TOOLS}"
_DMSETUP = f"{_BRING}/dmsetup"
_KEY = "00112233445566778899aabbccddeeff" * 2
_OVERLAY = (
    f"mkdir -p /tmp/up /tmp/work && mount -t overlay over "
    f"-o lowerdir={_BELOW},upperdir=/tmp/up,workdir=/tmp/work {_HERE}"
)
_ON_DM = f"mount -t $FS -o ro /dev/dm-0 {_HERE}"
_LOOP = (
    f"mke2fs /dev/slow1 >/dev/null && mount -t ext4 /dev/slow1 {_BELOW} && "
    f"cp {_BIG}/image {_BELOW}/image && sync && losetup /dev/loop0 {_BELOW}/image && "
    f"mount -t $FS -o ro /dev/loop0 {_HERE}"
)
_UNDO = (
    f"umount {_HERE}; losetup -d /dev/loop0; umount {_BELOW}; {_DMSETUP} remove judged; "
    "[ ! -e /sys/block/md0/md ] || echo clear >/sys/block/md0/md/array_state; "
    "dd if=/dev/zero of=/dev/slow1 bs=4k count=1; blockdev --rereadpt /dev/slow1; "
    "echo 3 >/proc/sys/vm/drop_caches"
)
# A mirror without a superblock of its own, of which one half is missing.
_RAID1 = (
    f"{_BRING}/mdadm --build /dev/md0 --run --force --level=1 --raid-devices=2 --assume-clean "
    f"/dev/slow1 missing && mount -t $FS -o ro /dev/md0 {_HERE}"
)
# One Linux partition from sector 2048 on: an entry of the table, and its signature.
_PARTITION = (
    r"{ printf '\0\0\0\0\203\0\0\0\0\10\0\0\0\0\2\0'; dd if=/dev/zero bs=48 count=1; "
    r"printf '\125\252'; } 2>/dev/null | dd of=/dev/slow1 bs=1 seek=446 conv=notrunc && "
    f"blockdev --rereadpt /dev/slow1 && dd if={_BIG}/image of=/dev/slow1p1 bs=1M && sync && "
    f"mount -t $FS -o ro /dev/slow1p1 {_HERE}"
)
_SQUASHFUSE = f"{_BRING}/squashfuse_ll {_BIG}/image {_HERE}"
_BTRFS_ZSTD = (
    f"mount -t btrfs -o compress-force=zstd /dev/slow1 {_HERE} && cp {_BIG}/files/* {_HERE} && "
    f"umount {_HERE} && mount -t btrfs -o ro /dev/slow1 {_HERE}"
)


@dataclass(frozen=True)
class Stack:
    """How a stack is made: ``image`` on the disk, ``modules`` and ``set_up`` in the guest.

    ``device`` is the one whose window counts: of /sys/block, or the beginning of a name in
    /sys/class/bdi.
    """

    image: str
    modules: tuple[str, ...] = ()
    set_up: str = f"mount -t $FS -o ro /dev/slow1 {_HERE}"
    device: str = "slow1"

    @property
    def fstype(self) -> str:
        """The file system that has the files."""
        return self.image.partition("-")[0]

    @property
    def own_window(self) -> bool:
        """Whether the file system has a window of its own."""
        return self.device in ("btrfs", "fuse")


def _over(image: str, *modules: str) -> Stack:
    below = f"mount -t $FS -o ro /dev/slow1 {_BELOW}"
    return Stack(image, ("overlay", *modules), f"{below} && {_OVERLAY}")


def _dm(image: str, table: str, *modules: str, fill: str = "true") -> Stack:
    mode = "--readonly " if "dm_verity" in modules else ""  # nothing else is accepted
    create = f'{_DMSETUP} create {mode}judged --table "{table}"'
    return Stack(image, ("dm_mod", *modules), f"{create} && {fill} && {_ON_DM}", "dm-0")


_CRYPT = f"0 $SECTORS crypt aes-xts-plain64 {_KEY} 0 /dev/slow1 0"
_VERITY = "0 $SECTORS verity 1 /dev/slow1 /dev/slow1 4096 4096 $BLOCKS $BLOCKS sha256 $ROOT -"
STACKS = {
    "squashfs": Stack("squashfs"),
    "erofs": Stack("erofs", ("erofs",)),
    "xfs": Stack("xfs", ("xfs",), f"mount -t xfs -o ro,norecovery /dev/slow1 {_HERE}"),
    "btrfs": Stack("btrfs", ("btrfs",), device="btrfs"),
    "overlay-squashfs": _over("squashfs"),
    "overlay-erofs": _over("erofs", "erofs"),
    "overlay-ext4": _over("ext4"),
    "linear-ext4": _dm("ext4", "0 $SECTORS linear /dev/slow1 0"),
    "crypt-ext4": _dm(
        "ext4", _CRYPT, "dm_crypt", fill=f"dd if={_BIG}/image of=/dev/dm-0 bs=1M && sync"
    ),
    "verity-squashfs": _dm("squashfs", _VERITY, "dm_verity"),
    "verity-ext4": _dm("ext4", _VERITY, "dm_verity"),
    "loop-squashfs": Stack("squashfs", ("loop",), _LOOP, "loop0"),
    "loop-ext4": Stack("ext4", ("loop",), _LOOP, "loop0"),
}
# Whose window is found, set and read back, and whose readahead is not compared: it is that of the
# file system above them, that of a server, or not emulated.
OTHERS = {
    "btrfs-zstd": Stack("btrfs-empty", ("btrfs",), _BTRFS_ZSTD, "btrfs"),
    "raid1-ext4": Stack("ext4", ("raid1",), _RAID1, "md0"),
    "partition-ext4": Stack(
        "ext4", (), f"dd if=/dev/zero of=/dev/slow1 bs=1M count=1; {_PARTITION}"
    ),
    "fuse-squashfs": Stack("squashfs", (), _SQUASHFUSE, "fuse"),
}
# dm-verity has logical blocks of 4096 bytes: ext4 may not have smaller ones on it.
_MKE2FS = ("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-O", "^has_journal")
BROUGHT = ("dmsetup", "mdadm", "squashfuse_ll")
TOOLS = (*BROUGHT, "mksquashfs", "mkfs.erofs", "mkfs.xfs", "mkfs.btrfs", "mke2fs", "veritysetup")


def missing() -> list[str]:
    """Return the programs that are needed and not here."""
    return [tool for tool in TOOLS if not shutil.which(tool)]


class Images:
    """The images, made once each in a folder; pages of files are half noise, half zeros."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files = folder / "files"
        self.files.mkdir()
        noise = random.Random(7)
        for number, size in enumerate(SIZES):
            pages = (noise.randbytes(1500) + bytes(PAGE - 1500) for _ in range(-(-size // PAGE)))
            (self.files / str(number)).write_bytes(b"".join(pages)[:size])

    def image(self, kind: str) -> Path:
        """Return the image of a kind, in whole MiB."""
        image = self._folder / f"{kind}.image"
        if not image.exists():
            self._make(kind, image)
            with image.open("ab") as file:
                file.truncate(-(-image.stat().st_size // (1 << 20)) << 20)
        return image

    def verity(self, image: Path) -> tuple[bytes, str]:
        """Return the hash tree of an image, which follows it, and its root."""
        tree = image.with_suffix(".tree")
        tree.unlink(missing_ok=True)
        words = ["veritysetup", "format", "--no-superblock", "--salt", "-", image, tree]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        root = re.search(r"Root hash:\s+(\w+)", done.stdout)
        assert root is not None, done.stdout
        return tree.read_bytes(), root[1]

    def _make(self, kind: str, image: Path) -> None:
        size = {"ext4": "40M", "xfs": "310M", "btrfs": "120M", "btrfs-empty": "120M"}.get(kind)
        if size:
            _run("truncate", "-s", size, image)
        if kind == "xfs":
            self._write_proto(image.with_suffix(".proto"))
        makers: dict[str, list[object]] = {
            "squashfs": ["mksquashfs", self.files, image, "-quiet", "-no-progress"],
            "erofs": ["mkfs.erofs", image, self.files],
            "xfs": ["mkfs.xfs", "-q", "-p", image.with_suffix(".proto"), image],
            "btrfs": ["mkfs.btrfs", "-q", "--rootdir", self.files, image],
            "btrfs-empty": ["mkfs.btrfs", "-q", image],
            "ext4": [*_MKE2FS, "-d", self.files],
        }
        _run(*makers[kind], *([image] if kind == "ext4" else []))

    def _write_proto(self, proto: Path) -> None:
        files = "".join(f"{one.name} ---644 0 0 {one}\n" for one in sorted(self.files.iterdir()))
        proto.write_text(f"x\n0 0\nd--755 0 0\n{files}$\n")


def with_libraries(name: str) -> list[str]:
    program = shutil.which(name) or name
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return [program, *re.findall(r"(/\S+\.so\S*)", listed)]


def _run(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


class StackedBoard:
    """A board on whose second disk one stack after another is set up."""

    def __init__(
        self, target: EmulatedTarget, images: Images, executor: Path | None = None
    ) -> None:
        self.target, self._images = target, images
        if executor is not None:
            target.push(executor, "/root/guest")
        places = f"{_HERE} {_BELOW} {_BIG}"
        self.shell(f"mkdir -p {places} && mount -t tmpfs -o size=90% big {_BIG}")
        self.shell(f"mkdir {_TOOLS} {_BIG}/files")
        for file in sorted({file for name in BROUGHT for file in with_libraries(name)}):
            target.push(Path(file), f"{_TOOLS}/{Path(file).name}")
        self.shell(f"chmod +x {_TOOLS}/*")

    def shell(self, line: str, stdin: bytes = b"") -> str:
        """Run a line of shell and return its output; AssertionError if it fails."""
        done = self.target.run(["sh", "-c", line], stdin=stdin, timeout_s=left_s())
        assert done.status == 0, (line, done.stderr)
        return done.stdout.decode()

    def execute(self, lines: list[str]) -> str:
        """Run the executor on the files of the stack that is set up."""
        words = ["/root/guest", _HERE, "/sys/kernel/tracing/instances/judge", "/tmp/queue"]
        stdin = "\n".join([*lines, ""]).encode()
        done = self.target.run(words, stdin=stdin, timeout_s=left_s())
        assert done.status == 0, done.stderr
        return done.stdout.decode()

    @contextmanager
    def stacked(self, stack: Stack) -> Iterator[int | None]:
        """Set a stack up; yield its largest request (KiB), None if its window is its own."""
        image = self._images.image(stack.image)
        data, root = image.read_bytes(), ""
        if "verity" in stack.set_up:
            tree, root = self._images.verity(image)
            data += tree
        self._put(data, "image")
        if stack.image == "btrfs-empty":
            for file in self._images.files.iterdir():
                self._put(file.read_bytes(), f"files/{file.name}")
        blocks = image.stat().st_size // PAGE
        numbers = f"SECTORS={blocks * PAGE // 512}; BLOCKS={blocks}; ROOT={root}; FS={stack.fstype}"
        self.shell(f"dd if={_BIG}/image of=/dev/slow1 bs=1M 2>/dev/null; sync")
        try:
            self.shell(f"{numbers}; {stack.set_up}")
            yield self._queue(stack)
        finally:
            self.target.run(["sh", "-c", _UNDO], timeout_s=left_s())

    def device(self, stack: Stack) -> str:
        """Return the name of the device whose window counts for a stack that is set up."""
        if stack.device == "fuse":
            line = f"s|^[^ ]* [^ ]* \\([^ ]*\\) [^ ]* {_HERE} .*|\\1|p"
            return self.shell(f"sed -n '{line}' /proc/self/mountinfo").strip()
        if stack.own_window:
            line = f"ls -d /sys/class/bdi/{stack.device}* | tail -n 1"
            return self.shell(line).strip().rpartition("/")[2]
        return stack.device

    def _put(self, data: bytes, name: str) -> None:
        packed = self._images.files.with_name("packed.gz")
        packed.write_bytes(gzip.compress(data, 1))
        self.target.push(packed, f"{_BIG}/packed")
        self.shell(f"zcat {_BIG}/packed >{_BIG}/{name} && rm {_BIG}/packed")

    def _queue(self, stack: Stack) -> int | None:
        """Make the folder with which the executor sets the window that counts, and waits."""
        folder = f"/sys/block/{stack.device}/queue"
        if stack.own_window:
            folder = f"/sys/class/bdi/{self.device(stack)}"
        inflight = "ln -s /sys/block/slow1/inflight /tmp/queue/inflight"
        self.shell(
            f"rm -rf /tmp/queue; mkdir /tmp/queue; ln -s {folder} /tmp/queue/queue; {inflight}"
        )
        if stack.own_window:
            return None
        return int(self.shell("cat /tmp/queue/queue/max_sectors_kb"))
