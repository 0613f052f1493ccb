"""Makes a fixture: ``python record.py s390x|armhf|mipsel KERNEL.deb BUSYBOX-STATIC.deb``.

Boots Debian's kernel in QEMU with init.sh and puts what it traced into the folder of that name.
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
from foreread.tracer.probes import plan

HERE = Path(__file__).parent
MACHINES = {  # uname -m, virtio disk, QEMU's words
    "s390x": ("s390x", "virtio-blk-ccw", "qemu-system-s390x -machine s390-ccw-virtio -cpu max"),
    "armhf": ("armv7l", "virtio-blk-device", "qemu-system-arm -machine virt -cpu cortex-a15"),
    "mipsel": ("mips", "virtio-blk-pci", "qemu-system-mipsel -machine malta -cpu 24Kf"),
}
MODULES = ("virtio_pci", "virtio_mmio", "virtio_blk", "crc32c_generic", "ext4")
FOLDERS = ("app", "bin", "dev", "job", "modules", "out", "proc", "sys")
APPLETS = ("cat", "cut", "dd", "insmod", "mkdir", "mount", "reboot", "sh", "sync", "tar")
APPLETS += ("timeout", "uname")


def initramfs(root, release, machine, busybox):
    modules = load_order(root / "lib/modules" / release, MODULES)
    probes = plan(release, machine, None, at_any_risk=True)
    definitions = "".join(f"{line}\n" for line in probes.definitions)
    entries = {name: Entry(DIRECTORY) for name in FOLDERS}
    entries["init"] = Entry(PROGRAM, (HERE / "init.sh").read_bytes())
    entries["bin/busybox"] = Entry(PROGRAM, busybox)
    entries |= {f"bin/{applet}": Entry(LINK, b"busybox") for applet in APPLETS}
    entries |= {f"modules/{name}.ko": Entry(FILE, data) for name, data in modules.items()}
    entries["modules/order"] = Entry(FILE, "".join(f"{name}.ko\n" for name in modules).encode())
    entries["job/probes"] = Entry(FILE, definitions.encode())
    return archive(entries)


def record(name, packages, scratch):
    machine, disk, qemu = MACHINES[name]
    unpack(packages, scratch / "root")
    kernel = next((scratch / "root/boot").glob("vmlinu[xz]-*"))
    release = kernel.name.partition("-")[2]
    busybox = next((scratch / "root").rglob("bin/busybox")).read_bytes()
    (scratch / "app").mkdir()
    (scratch / "app/busybox").write_bytes(busybox)
    (scratch / "app/busybox").chmod(0o755)
    (scratch / "app/data").write_bytes(random.Random(1).randbytes(65536))
    ext4 = "mke2fs -q -t ext4 -b 4096 -O ^has_journal -d app image 6m"
    subprocess.run(ext4.split(), cwd=scratch, check=True)
    whole = initramfs(scratch / "root", release, machine, busybox)
    (scratch / "initramfs").write_bytes(whole)
    (scratch / "result").write_bytes(bytes(16 << 20))
    words = f"timeout -k 5 300 {qemu} -m 256 -display none -no-reboot -nodefaults -kernel {kernel}"
    words += " -initrd initramfs -append panic=-1"
    for serial in ("image", "result"):
        words += f" -drive id={serial},if=none,format=raw,file={serial}"
        words += f" -device {disk},drive={serial},serial={serial}"
    subprocess.run(words.split(), cwd=scratch, check=True)
    with tarfile.open(scratch / "result") as result:
        result.extractall(HERE / name)
    (HERE / name / "head").unlink()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        record(sys.argv[1], [Path(word) for word in sys.argv[2:]], Path(place))
