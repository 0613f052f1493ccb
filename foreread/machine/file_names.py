"""The names of files that a machine reads, looked up without holding up those who watch it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from foreread.analyzer.top.seen import Inode
from foreread.boards.mounts import MountPoint, mount_of, visible_roots
from foreread.tracer.formats.capture import dev_of, dev_text
from foreread.tracer.local.handles import paths_by_handle
from foreread.tracer.remote.top import MOST_SEARCHED, Top

SEARCH_S = 60.0  # the longest search
_WAIT_S = 15.0  # how long the last figures wait for one
_POLL_S = 0.2
_HANDLES_S = 0.3  # in an interval: an inode that is not in memory is read from its disk
_NOT_SEARCHED = "look for them with --names"
_SEARCHING = "the search goes on"
_NOT_FOUND = "they are deleted, hidden under another mount, or were not found in time"


class FileNames:
    """Paths by (dev_t, inode): of mapped files, by handle on this machine (``is_here``), and of a
    search by the target (``search``), which runs in the background, one file system at a time."""

    def __init__(self, top: Top, within_s: float, is_here: bool, search: bool) -> None:
        self.paths: dict[Inode, str] = {}
        self._top, self._within_s, self._is_here, self._search = top, within_s, is_here, search
        self._deleted: set[Inode] = set()
        self._searched: set[Inode] = set()
        self._dev = ""  # of the file system that is searched; empty: none is
        self._wanted: list[Inode] = []  # inodes that are searched there
        self._places: dict[Inode, str] = {}  # the subvolume in which each was found
        self._several: set[Inode] = set()  # what was found in more than one
        self._searches = Counter[int]()  # of each file system
        self._end_s = 0.0

    def learn(self, paths: Mapping[tuple[str, int], str]) -> None:
        """Add paths by ("major:minor", inode)."""
        self.paths |= {(dev_of(dev), ino): path for (dev, ino), path in paths.items()}

    def name(self, inodes: Collection[Inode], wait: bool = False) -> None:
        """Look for the paths of inodes that have none; ``wait`` for the end of the search."""
        if self._is_here:
            self._by_handle(self._nameless(inodes))
        if not self._search:
            return
        end_s = time.monotonic() + _WAIT_S
        self._step(inodes)
        while wait and self._dev and time.monotonic() < end_s:
            time.sleep(_POLL_S)
            self._step(inodes)

    def why(self) -> str:
        """Return why files have no name, or what to do."""
        if not self._search:
            return _NOT_SEARCHED
        return _SEARCHING if self._dev else _NOT_FOUND

    def _nameless(self, inodes: Collection[Inode]) -> list[Inode]:
        return [inode for inode in inodes if inode not in self.paths and inode not in self._deleted]

    def _waiting(self, inodes: Collection[Inode]) -> list[Inode]:
        """Return the nameless inodes that no search has looked for."""
        return [inode for inode in self._nameless(inodes) if inode not in self._searched]

    def _by_handle(self, inodes: Sequence[Inode]) -> None:
        """Name files of this machine that still have a directory entry in the kernel's memory."""
        mounts = self._top.machine.mounts
        end_s = time.monotonic() + _HANDLES_S
        for dev in sorted({dev for dev, _ in inodes}):
            fstype = _fstype(dev_text(dev), mounts)
            wanted = [ino for its_dev, ino in inodes if its_dev == dev]
            for root in visible_roots(dev_text(dev), mounts):
                left_s = end_s - time.monotonic()
                paths, gone = paths_by_handle(root, fstype, wanted, left_s)
                self.paths |= {(dev, ino): path for ino, path in paths.items()}
                self._deleted |= {(dev, ino) for ino in gone}
                wanted = [ino for ino in wanted if ino not in paths and ino not in gone]

    def _step(self, inodes: Collection[Inode]) -> None:
        """Add the paths that the search has found, and begin the next search after its end."""
        waiting = [dev_text(dev) for dev, _ in self._waiting(inodes)]
        if self._dev and not self._ends(waiting.count(self._dev)):
            return
        self._dev = ""
        self._begin(self._waiting(inodes))

    def _ends(self, waiting: int) -> bool:
        """Add the paths that the search has found; return whether the search is over.

        The search is ended when it has found everything, when it takes too long, and when more
        inodes of its file system wait than it looks for: one walk then looks for all of them.
        """
        over, paths = self._top.poll_search(self._within_s)
        self._take(paths)
        if over:
            return True
        # There, every search goes on to its end: a second file of the same number may follow.
        is_btrfs = _fstype(self._dev, self._top.machine.mounts) == "btrfs"
        missing = self._wanted if is_btrfs else self._nameless(self._wanted)
        is_small = not is_btrfs and len(self._wanted) < min(waiting, MOST_SEARCHED)
        if missing and not is_small and time.monotonic() <= self._end_s:
            return False
        self._top.end_search(self._within_s)
        if is_small:
            self._searched -= {*missing}
        return True

    def _take(self, paths: Sequence[tuple[int, str]]) -> None:
        """Add the paths that the mounts show to be on the searched file system.

        Subvolumes of btrfs number their inodes alike: a number found in two of them names none.
        """
        mounts = self._top.machine.mounts
        for ino, path in paths:
            inode = (dev_of(self._dev), ino)
            mount = mount_of(Path(path), mounts, follow=False)
            if inode not in self._searched or mount is None or mount.dev != self._dev:
                continue
            if mount.fstype == "btrfs" and self._places.setdefault(inode, mount.root) != mount.root:
                self._several.add(inode)
                self.paths.pop(inode, None)
            if inode not in self._several:
                self.paths.setdefault(inode, path)

    def _begin(self, inodes: Sequence[Inode]) -> None:
        """Begin a search on the file system that was searched least often.

        Of several, the one with the most nameless files. Searches of a large file system that is
        always read never end; without this order, files on others would have no names.
        """
        if not inodes:
            return
        files = Counter(dev for dev, _ in inodes)
        dev = min(files, key=lambda dev: (self._searches[dev], -files[dev]))
        self._searches[dev] += 1
        wanted = [ino for its_dev, ino in inodes if its_dev == dev][:MOST_SEARCHED]
        self._wanted = [(dev, ino) for ino in wanted]
        self._searched |= {*self._wanted}
        roots = search_roots(dev_text(dev), self._top.machine.mounts)
        if roots:
            self._top.begin_search(roots, wanted, self._within_s)
            self._dev, self._end_s = dev_text(dev), time.monotonic() + SEARCH_S


def search_roots(dev: str, mounts: list[MountPoint]) -> list[str]:
    """Return the mount points from which find -xdev sees all that is mounted of a file system.

    It goes on into bind mounts of the same file system, which are not searched again.
    """
    roots = visible_roots(dev, mounts)
    if _fstype(dev, mounts) == "btrfs":  # each subvolume has a device number of its own
        return roots
    return [root for root in roots if not _is_within(root, dev, mounts)]


def _is_within(root: str, dev: str, mounts: list[MountPoint]) -> bool:
    above = mount_of(Path(root).parent, mounts, follow=False)
    return root != "/" and above is not None and above.dev == dev


def _fstype(dev: str, mounts: list[MountPoint]) -> str:
    return next((mount.fstype for mount in mounts if mount.dev == dev), "")
