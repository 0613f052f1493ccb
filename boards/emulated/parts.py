"""The parts of an emulated board, built from Debian packages once and kept."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from foreread.boards.emulated import (
    configure,
    image,
    initramfs,
    live_root,
    modules,
    slowdisk_build,
    store,
    systemd_root,
)
from foreread.boards.emulated.error import BoardError
from foreread.boards.emulated.image import Owner
from foreread.boards.emulated.machines import MACHINES, SUITES, host_is, machine
from foreread.boards.emulated.packages import AptRoot, find_kernel, kernel_packages, unpack

# A change of the sources of the boot files rebuilds them.
_BOOT_CODE = (initramfs.__file__, modules.__file__, slowdisk_build.__file__)
_CONFIGURE_CODE = (configure.__file__, str(configure.SCRIPT))
_IMAGE_CODE = (image.__file__, *_CONFIGURE_CODE)
_LIVE_CODE = (*_IMAGE_CODE, live_root.__file__, systemd_root.__file__)
DEFAULT_PACKAGES = ("madplay",)
# The checksum of f2fs, which is not a module in newer kernels.
_PART_OF_NEWER = frozenset({"crc32_generic"})


class Parts:
    """The boot files of one architecture with one kernel and one set of application packages.

    All files are below ``cache``: if they are complete, no network is used. Raises BoardError.
    """

    def __init__(
        self,
        name: str,
        kernel: str = "",
        packages: Sequence[str] = DEFAULT_PACKAGES,
        cache: Path | None = None,
        tell: Callable[[str], None] = lambda step: None,
    ) -> None:
        self.machine = machine(name, kernel)
        self.kernel = kernel or self.machine.default_kernel
        self.packages = tuple(sorted(set(packages)))
        self.cache = cache or store.default_store()
        self.tell = tell

    def boot_files(self) -> Path:
        """Return the folder with ``kernel`` and ``initramfs``, built the first time."""
        scripts = (initramfs.GUEST / name for name in initramfs.SCRIPTS.values())
        made_by = (*scripts, *slowdisk_build.SOURCES, *map(Path, _BOOT_CODE))
        key = store.digest(*(file.read_bytes() for file in made_by))
        return store.folder(self._place / f"boot-{self.kernel}-{key}", self._build_boot)

    def more_modules(self, names: Sequence[str]) -> bytes:
        """Return the initramfs' part with further modules of the kernel; empty for none."""
        if not names:
            return b""
        key = store.digest(*names, *(Path(file).read_bytes() for file in _BOOT_CODE))
        build = lambda into: self._build_more(names, into)  # noqa: E731
        return (
            store.folder(self._place / f"more-{self.kernel}-{key}", build) / "more"
        ).read_bytes()

    def image(self, fs: str) -> Path:
        """Return the application's image, built the first time."""
        key = store.digest(*self.packages, *(Path(file).read_bytes() for file in _IMAGE_CODE))
        fs = image.kind_of(fs)
        place = self._place / f"image-{fs}-{key}"
        return store.folder(place, lambda into: self._build_image(fs, into)) / "image"

    def live_image(
        self, fs: str, init: str, swap_mib: int, free_mib: int = live_root.FREE_MIB
    ) -> Path:
        """Return the image of a live board's root, built the first time."""
        code = [file.read_bytes() for file in (*map(Path, _LIVE_CODE), *live_root.source_files())]
        room = [] if free_mib == live_root.FREE_MIB else [str(free_mib)]
        key = store.digest(*self.packages, init, str(swap_mib), *room, *code)
        fs = image.kind_of(fs)
        place = self._place / f"live-{fs}-{key}"
        build = lambda into: self._build_live_image(fs, init, swap_mib, free_mib, into)  # noqa: E731
        return store.folder(place, build) / "image"

    @property
    def _place(self) -> Path:
        return self.cache / self.machine.name

    @cached_property
    def _apt(self) -> AptRoot:
        return AptRoot(self.cache / "apt", self.machine.debian, self.machine.suite)

    def _find_kernel(self) -> tuple[AptRoot, str]:
        """Return the apt with the kernel, and the kernel's release."""
        version, flavour = self.machine.package_of(self.kernel)
        try:
            return self._apt, find_kernel(self._apt, version, flavour)
        except BoardError:
            suite = SUITES.get(version, "")
            if suite in ("", self.machine.suite):
                raise
            apt = AptRoot(self.cache / "apt", self.machine.debian, suite)
            with contextlib.suppress(BoardError):
                return apt, find_kernel(apt, version, flavour)
            raise  # with the remedy that most users need: apt-get update

    def _downloaded(self, name: str, fetch: Callable[[Path], None]) -> list[Path]:
        def fill(into: Path) -> None:
            self.tell(f"downloading {name} for {self.machine.name}")
            fetch(into)

        return sorted(store.folder(self._place / f"debs-{name}", fill).glob("*.deb"))

    def _busybox(self, scratch: Path) -> Path:
        """Unpack busybox and return its program."""
        fetch = lambda into: self._apt.download(["busybox-static"], into)  # noqa: E731
        unpack(self._downloaded("busybox", fetch), scratch / "busybox")
        return next((scratch / "busybox").rglob("bin/busybox"))

    def _build_boot(self, into: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="foreread-build-") as name:
            scratch = Path(name)
            root = self._unpacked_kernel(scratch)
            release = modules.folder(root).name
            self.tell(f"building the slow disk for {release}")
            slowdisk = self._slowdisk(scratch, release)
            disks = modules.load_order(modules.folder(root))
            both = modules.load_order(modules.folder(root), (*modules.DISKS, *modules.OTHERS))
            live_modules = {name: data for name, data in both.items() if name not in disks}
            busybox = self._busybox(scratch).read_bytes()
            shutil.copy(modules.kernel(root), into / "kernel")
            whole = initramfs.base_initramfs(busybox, disks, live_modules, slowdisk)
            (into / "initramfs").write_bytes(whole)

    def _unpacked_kernel(self, scratch: Path) -> Path:
        unpack(self._downloaded(f"kernel-{self.kernel}", self._fetch_kernel), scratch / "kernel")
        return scratch / "kernel"

    def _build_more(self, names: Sequence[str], into: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="foreread-build-") as scratch:
            root = self._unpacked_kernel(Path(scratch))
            release = modules.folder(root)
            always = modules.load_order(release, (*modules.DISKS, *modules.OTHERS))
            loaded = modules.load_order(release, names)
            absent = [name for name in names if name not in loaded and name not in _PART_OF_NEWER]
            if absent:
                raise BoardError(
                    f"the {self.kernel} kernel of {self.machine.name} has no module {absent[0]}",
                    self._with_more_modules(),
                )
            more = {name: data for name, data in loaded.items() if name not in always}
            (into / "more").write_bytes(initramfs.more_initramfs(more))

    def _with_more_modules(self) -> str:
        generic = f"{self.kernel}-generic"
        return f"use --kernel {generic}" if generic in self.machine.offered else "use another board"

    def _slowdisk(self, scratch: Path, release: str) -> bytes:
        fetch = lambda into: self._fetch_headers(release, into)  # noqa: E731
        unpack(self._downloaded(f"headers-{release}", fetch), scratch / "headers")
        return slowdisk_build.build_slowdisk(
            self.machine, scratch / "headers", release, scratch / "module"
        )

    def _fetch_kernel(self, into: Path) -> None:
        apt, release = self._find_kernel()
        apt.download(kernel_packages(apt, release), into)

    def _fetch_headers(self, release: str, into: Path) -> None:
        """Fetch the target's headers, and kbuild's programs for this machine."""
        headers = f"linux-headers-{release}"
        apt, _ = self._find_kernel()
        needed = apt.depends(headers)
        common = [name for name in needed if name.startswith("linux-headers-")]
        kbuild = [name for name in needed if name.startswith("linux-kbuild-")]
        if not common or not kbuild:
            raise apt.why_missing(headers)
        apt.download([headers, *common], into)
        here = AptRoot(self.cache / "apt", _host_debian(), apt.suite)
        if apt.suite:  # the programs need the libraries of that suite
            here.closure(kbuild, into)
        else:
            here.download(kbuild, into)

    def _applications(self, names: Sequence[str]) -> list[Path]:
        fetch = lambda debs: self._apt.closure(names, debs)  # noqa: E731
        return self._downloaded(f"apps-{store.digest(*names)}", fetch)

    def _configure(self, tree: Path) -> list[Owner]:
        """Apply the changes of the packages' maintainer scripts to an unpacked root."""
        packages = [
            configure.read_package(archive) for archive in self._applications(self.packages)
        ]
        names = [package.name for package in packages if package.needs_configuring]
        if not names:
            return []
        key = store.digest(*self.packages, *(Path(file).read_bytes() for file in _CONFIGURE_CODE))

        def build(into: Path) -> None:
            self.tell(f"configuring {', '.join(names)} on a board of its own (takes minutes)")
            base = [configure.read_package(archive) for archive in self._downloaded_base()]
            configure.configure(self.machine, self.boot_files(), base, packages, into)

        configured = store.folder(self._place / f"configured-{key}", build)
        for name in (configured / "failed").read_text().split():
            self.tell(
                f"{name} is on the board but could not be configured: see {configured / 'log'}"
            )
        return configure.apply((configured / "changed").read_bytes(), tree)

    def _downloaded_base(self) -> list[Path]:
        fetch = lambda debs: self._apt.closure(configure.BASE, debs)  # noqa: E731
        return self._downloaded(f"base-{store.digest(*configure.BASE)}", fetch)

    def _build_live_image(
        self, fs: str, init: str, swap_mib: int, free_mib: int, into: Path
    ) -> None:
        archives = self._applications(sorted({*self.packages, *live_root.PACKAGES[init]}))
        self.tell(f"building the {fs} image of a live board")
        with tempfile.TemporaryDirectory(prefix="foreread-build-") as name:
            tree = Path(name) / "tree"
            unpack(archives, tree)
            if init == "systemd":
                systemd_root.merge_usr(tree)
            image.add_board_files(tree, self._busybox(Path(name)))
            swap = swap_mib if fs == "ext4" else 0
            live_root.add_live_files(tree, init, swap, self.machine.page_bytes)
            owners = self._configure(tree)
            image.build_image(tree, fs, into / "image", free_mib, owners)

    def _build_image(self, fs: str, into: Path) -> None:
        archives = self._applications(self.packages)
        self.tell(f"building the {fs} image")
        with tempfile.TemporaryDirectory(prefix="foreread-build-") as name:
            tree = Path(name) / "tree"
            unpack(archives, tree)
            image.add_board_files(tree, self._busybox(Path(name)))
            image.build_image(tree, fs, into / "image", owners=self._configure(tree))


def _host_debian() -> str:
    for board in MACHINES.values():
        if host_is(board.debian):
            return board.debian
    raise BoardError("no kernel headers' tools for this machine's CPU", "use an x86_64 or arm host")
