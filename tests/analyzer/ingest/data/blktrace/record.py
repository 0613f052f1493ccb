"""Makes the golden files: ``python record.py KERNEL.deb``; needs blktrace and a static busybox.

Boots Debian's x86_64 kernel in QEMU with init.sh, which runs blktrace, and puts what it wrote here.
"""

import random
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from foreread.boards.emulated.cpio import DIRECTORY, FILE, LINK, PROGRAM, Entry, archive
from foreread.boards.emulated.modules import load_order
from foreread.boards.emulated.packages import unpack

HERE = Path(__file__).parent
MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4")
FOLDERS = ("app", "bin", "dev", "lib", "lib64", "modules", "out", "proc", "sys")
APPLETS = (
    "cat",
    "cut",
    "insmod",
    "kill",
    "mount",
    "umount",
    "reboot",
    "sh",
    "sleep",
    "sync",
    "tar",
)
APPLETS += ("mkdir", "uname")
PROGRAMS = {
    "bin/busybox": "/bin/busybox",
    "bin/blktrace": "/usr/sbin/blktrace",
    "lib64/ld-linux-x86-64.so.2": "/lib64/ld-linux-x86-64.so.2",
    "lib/libc.so.6": "/lib/x86_64-linux-gnu/libc.so.6",
    "lib/libpthread.so.0": "/lib/x86_64-linux-gnu/libpthread.so.0",
}


def initramfs(root, release):
    modules = load_order(root / "lib/modules" / release, MODULES)
    entries = {name: Entry(DIRECTORY) for name in FOLDERS}
    entries["init"] = Entry(PROGRAM, (HERE / "init.sh").read_bytes())
    entries |= {name: Entry(PROGRAM, Path(path).read_bytes()) for name, path in PROGRAMS.items()}
    entries |= {f"bin/{applet}": Entry(LINK, b"busybox") for applet in APPLETS}
    entries |= {f"modules/{name}.ko": Entry(FILE, data) for name, data in modules.items()}
    entries["modules/order"] = Entry(FILE, "".join(f"{name}.ko\n" for name in modules).encode())
    return archive(entries)


def record(package, scratch):
    unpack([package], scratch / "root")
    kernel = next((scratch / "root/boot").glob("vmlinuz-*"))
    (scratch / "app").mkdir()
    (scratch / "app/data").write_bytes(random.Random(1).randbytes(1 << 18))
    ext4 = "mke2fs -q -t ext4 -b 4096 -O ^has_journal -d app image 6m"
    subprocess.run(ext4.split(), cwd=scratch, check=True)
    (scratch / "initramfs").write_bytes(initramfs(scratch / "root", kernel.name.partition("-")[2]))
    (scratch / "result").write_bytes(bytes(16 << 20))
    words = "timeout -k 5 400 qemu-system-x86_64 -machine q35 -smp 2 -m 512 -display none"
    words += f" -no-reboot -nodefaults -kernel {kernel} -initrd initramfs -serial file:console"
    words = [*words.split(), "-append", "console=ttyS0 panic=-1"]
    for disk in ("image", "result"):
        words += ["-drive", f"id={disk},if=none,format=raw,file={disk}"]
        words += ["-device", f"virtio-blk-pci,drive={disk},serial={disk}"]
    subprocess.run(words, cwd=scratch, check=True)
    print((scratch / "console").read_text(errors="replace")[-1000:])
    with tarfile.open(scratch / "result") as result:
        result.extractall(HERE, filter="data")
    words = ["blkparse", "-q", "-i", "start", "-d", "start.bin", "-f", "%T.%9t %c %p %a %d %S %n\n"]
    with (HERE / "start.txt").open("wb") as text:
        subprocess.run(words, cwd=HERE, check=True, stdout=text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        record(Path(sys.argv[1]), Path(place))
