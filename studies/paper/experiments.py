"""The paper's three experiments and their repetition here, as data; windows are in pages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperTable:
    """The paper's measurements: seconds by window, and the paper's result."""

    seconds: dict[int, float]
    default: int
    quasi_optimal: int
    missed: float  # percentage points, as printed


@dataclass(frozen=True)
class Device:
    """The cost of a read: a fixed time for each request and one for each KiB."""

    name: str
    latency_us: int
    ns_per_kib: int

    def as_toml(self) -> str:
        """Return what ``foreread predict --device-model`` reads."""
        cost = f"latency_us = {self.latency_us}\nns_per_kib = {self.ns_per_kib}\n"
        return f'kind = "fixed"\n{cost}'

    def __str__(self) -> str:
        return f"{self.name} ({self.latency_us} µs a request, {self.ns_per_kib / 1000:g} µs a KiB)"


@dataclass(frozen=True)
class Experiment:
    """An application on an emulated board; ``paper`` is the experiment that it repeats."""

    title: str
    packages: tuple[str, ...]
    command: tuple[str, ...]
    memory_mib: int
    windows: tuple[int, ...]
    default: int
    paper: PaperTable | None = None
    fs: str = "ext4"


BOARD = "armhf"
PAGE_KIB = 4

# README.md says where the figures come from. The first is the one that the answers are given for.
DEVICES = (
    Device("nand", latency_us=100, ns_per_kib=100_000),
    Device("sd", latency_us=1000, ns_per_kib=50_000),
)

TV = PaperTable(  # table 2
    {0: 14.2, 1: 14.0, 2: 14.5, 3: 16.0, 4: 18.4, 5: 23.0, 15: 26.5, 255: 34.9},
    default=255,
    quasi_optimal=1,
    missed=0.0,
)
# Table 3 says that the board came with 7 pages; table 4 and all percentages are of 15.
BROWSER = PaperTable(
    {0: 75.0, 1: 73.1, 2: 73.2, 3: 72.7, 4: 73.5, 5: 74.5, 7: 79.0, 15: 79.0, 31: 81.0},
    default=15,
    quasi_optimal=2,
    missed=0.65,
)
PLAYER = PaperTable(  # table 6
    {
        0: 10.66,
        2: 10.13,
        3: 10.09,
        4: 10.17,
        5: 10.17,
        6: 10.23,
        7: 10.31,
        8: 10.31,
        15: 10.63,
        19: 10.73,
        31: 10.95,
    },
    default=15,
    quasi_optimal=2,
    missed=0.37,
)

_PLAY = ("madplay", "-Q", "-o", "null:", "-t", "1", "/sample.mp3")
# The browser does not exit by itself: the run ends when its log says that the page is shown. It is
# waited for, since what an ending program still has mapped would stay in memory. The shell and the
# tools are not busybox's: the live board's init is that, and holds it in memory.
_BROWSE = (
    "rm -f /tmp/log; mkfifo /tmp/log || exit 1; "
    "netsurf-fb -v -f ram file:///usr/share/netsurf/welcome.html >/tmp/log 2>&1 & "
    "grep -q 'Updating history entry' /tmp/log || exit 1; "
    "kill $!; wait; exit 0"
)
# What update-alternatives would link when the packages were installed.
_ALTERNATIVES = "/usr/lib/arm-linux-gnueabihf/blas:/usr/lib/arm-linux-gnueabihf/lapack"
_WATCH = (
    *("env", f"LD_LIBRARY_PATH={_ALTERNATIVES}"),
    *("mpv", "--no-config", "--no-terminal", "--vo=null", "--ao=null", "--ao-null-untimed"),
    *("--length=1", "/sample.mp3"),
)

EXPERIMENTS = {
    "player": Experiment(
        title="MP3 player (madplay) decoding a second to a null output",
        packages=("madplay",),
        command=_PLAY,
        memory_mib=256,
        windows=tuple(PLAYER.seconds),
        default=PLAYER.default,
        paper=PLAYER,
    ),
    "browser": Experiment(
        title="browser (NetSurf, framebuffer in memory) until its welcome page is shown",
        packages=("netsurf-fb", "dash", "coreutils", "grep"),
        command=("dash", "-c", _BROWSE),
        memory_mib=320,
        windows=tuple(BROWSER.seconds),
        default=BROWSER.default,
        paper=BROWSER,
    ),
    "tv": Experiment(
        title="media player with over 200 libraries (mpv) playing a second to null outputs",
        packages=("mpv", "coreutils"),
        command=_WATCH,
        memory_mib=768,
        windows=tuple(TV.seconds),
        default=TV.default,
        paper=TV,
    ),
    "squashfs": Experiment(
        title="the MP3 player again, from squashfs",
        packages=("madplay",),
        command=_PLAY,
        memory_mib=256,
        windows=(*PLAYER.seconds, 63, 127, 255),
        default=PLAYER.default,
        fs="squashfs",
    ),
}
