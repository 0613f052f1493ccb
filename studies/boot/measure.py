"""Whole boots of emulated boards: recorded once, predicted, and measured with what was predicted.

    python -m studies.boot.measure [--board NAME] [--init busybox|systemd] [--from init]
        [--repeat N] -o FILE

The board starts an audio player and a Python program while it boots. Its boot is recorded by
`foreread record --boot`; the four cases of `foreread prefetch` (the kernel's window or the
predicted one, without and with the list) are predicted from that, and are then installed by
`foreread script` and measured, each over N reboots. A measured boot is from where the hook records
from to boot-done, in guest time. With `--from init` the boot is recorded from its first process; a
few windows, in force from there on, are the cases. FILE gets the figures of all boots. Needs QEMU
and an aarch64 compiler.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any, get_args

from foreread.analyzer.apply import ApplyPlan, plan_from
from foreread.analyzer.apply.plan import Prefetch
from foreread.analyzer.apply.write import REPLAYER_SOURCE, shipped
from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.prefetch import Case, compare, encode
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.boards.target import Target
from foreread.machine.install import install
from foreread.recording.steps import recorded
from foreread.tracer.formats.capture import Origin
from foreread.tracer.install.boot_hook import BoardHook
from foreread.tracer.install.install import uninstall
from foreread.tracer.remote.boot import (
    HOOK_SCRIPT,
    INIT_SCRIPT,
    BootEnding,
    boot_on,
    with_init,
)
from foreread.tracer.remote.job import part
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

Document = dict[str, Any]
BOARD, DISK, PRESENT_KB = "arm64", "slow0", 128
WINDOWS = (PRESENT_KB, 16, 64, 512)  # KiB, of boots from their first process
PACKAGES = ("madplay", "python3")
STARTED = {
    "player": "madplay -Q -o null: -t 1 /sample.mp3",
    "server": "python3 -c 'import json, http.server, email.message, decimal'",
}
_PATIENCE_S = 900.0
_OVER = "foreread-study: the boot is over"
_CLOCK = "/sys/module/slowdisk/parameters/now_ns"
_WINDOW = f"/sys/block/{DISK}/queue/read_ahead_kb"
_MARK = f"""\
#!/bin/sh
case ${{1-start}} in start) ;; *) exit 0 ;; esac
read -r now <{_CLOCK}
read -r requests _ sectors _ </sys/block/{DISK}/stat
read -r kib <{_WINDOW}
echo "$now $requests $sectors $kib" >/run/mark-@NAME@
"""
_SAY = f"""\
case ${{1-start}} in start) echo "{_OVER}" >/dev/console ;; esac
"""
# Stands in for the init program: the window holds from the first process on.
_FIRST = f"""\
#!/bin/sh
echo @KIB@ >{_WINDOW}
/usr/bin/mark-begin
exec /usr/lib/first/init "$@"
"""
_UNITS = "/etc/systemd/system"
# As the hook's unit.
_EARLY = """\
DefaultDependencies=no
After=systemd-remount-fs.service sys-kernel-tracing.mount sys-kernel-debug.mount
Before=local-fs-pre.target sysinit.target systemd-udevd.service foreread.service
Before=systemd-modules-load.service systemd-tmpfiles-setup-dev.service
"""


class QuietBoard(EmulatedTarget):
    """An emulated board that nobody asks anything until it says on its console that it has booted.

    Each log-in reads files and needs the processor.
    """

    def await_boot(self, before: str | None, end: float, allowed_s: float) -> None:
        """Wait for the console's line, and then as any target."""
        boots_over = self._count_boots_over()
        while (
            self.says_when_over
            and self._count_boots_over() == boots_over
            and time.monotonic() < end
        ):
            time.sleep(1)
        super().await_boot(before, end, allowed_s)

    says_when_over = False

    def _count_boots_over(self) -> int:
        return self.board.log.read_bytes().count(_OVER.encode())


class BootBoard:
    """An emulated board that starts applications while it boots, and marks begin and end.

    The begin is the place of the hook; without ``by_script``, see ``begin_at_init``.
    """

    def __init__(self, target: QuietBoard, init: str, *, by_script: bool = True) -> None:
        self.target = target
        self._put("/usr/bin/mark-begin", _MARK.replace("@NAME@", "begin"))
        self._put("/usr/bin/mark-end", _MARK.replace("@NAME@", "end") + _SAY)
        if init == "systemd":
            if by_script:
                self._add_unit("mark-begin", "/usr/bin/mark-begin", _EARLY, "sysinit")
            self._add_unit("mark-end", "/usr/bin/mark-end", "After=multi-user.target\n")
            for name, line in STARTED.items():
                self._put(f"/usr/bin/start-{name}", f"#!/bin/sh\nexec {line}\n")
                self._add_unit(f"start-{name}", f"/usr/bin/start-{name}")
        else:
            together = "".join(f"{line} &\n" for line in STARTED.values())
            guard = "case $1 in start) ;; *) exit 0 ;; esac\n"
            self._put("/etc/init.d/S60start", f"#!/bin/sh\n{guard}{together}wait\n")
            if by_script:
                self._sh("ln -s /usr/bin/mark-begin /etc/init.d/S00mark")
            self._sh("ln -s /usr/bin/mark-end /etc/init.d/S98mark")
        target.says_when_over = True

    def begin_at_init(self, kib: int) -> None:
        """Let boots begin at their first process, with a window of ``kib``."""
        self._sh(
            "[ -e /usr/lib/first ] || { mkdir /usr/lib/first && "
            'ln -s "$(readlink -f /sbin/init)" /usr/lib/first/init; }'
        )
        self._put("/sbin/first", _FIRST.replace("@KIB@", str(kib)))
        self._sh("mv -f /sbin/first /sbin/init; sync")

    def boots(self, repeat: int) -> list[Document]:
        """Reboot, and return seconds, requests, bytes and windows of each boot.

        The windows (KiB) are in force at its begin, at its end, and after boot-done.
        """
        return [self._boot() for _ in range(repeat)]

    def _boot(self) -> Document:
        self.target.reboot(_PATIENCE_S)
        end = time.monotonic() + _PATIENCE_S
        while self._status("[ -s /run/mark-end ]"):
            if time.monotonic() > end:
                raise RuntimeError("the board did not reach the end of its boot")
            time.sleep(1)
        first, last = (
            list(map(int, self._sh(f"cat /run/mark-{name}").split())) for name in ("begin", "end")
        )
        return {
            "seconds": (last[0] - first[0]) / 1e9,
            "requests": last[1] - first[1],
            "bytes": (last[2] - first[2]) * 512,
            "requests_before": first[1],
            "bytes_before": first[2] * 512,
            "read_ahead_kb": [first[3], last[3], int(self._sh(f"cat {_WINDOW}"))],
        }

    def _add_unit(
        self, name: str, command: str, lines: str = "", wanted_by: str = "multi-user"
    ) -> None:
        service = f"Type=oneshot\nRemainAfterExit=yes\nExecStart={command}\n"
        self._put(f"{_UNITS}/{name}.service", f"[Unit]\n{lines}\n[Service]\n{service}", 0o644)
        wants = f"{_UNITS}/{wanted_by}.target.wants"
        self._sh(f"mkdir -p {wants}; ln -s {_UNITS}/{name}.service {wants}/")

    def _put(self, path: str, text: str, mode: int = 0o755) -> None:
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            self.target.push(Path(file.name), path, mode)

    def _status(self, line: str) -> int:
        return self.target.run(["sh", "-c", line], timeout_s=_PATIENCE_S).status

    def _sh(self, line: str) -> str:
        done = self.target.run(["sh", "-c", line], timeout_s=_PATIENCE_S)
        if done.status:
            raise RuntimeError(f"{line}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode()


def measure(board: str, init: str, origin: Origin, repeat: int, output: Path) -> Document:
    """Record, predict and measure on a board with ``init``; write the document after each case."""
    options = LiveOptions(board, init=init, packages=PACKAGES, swap_mib=0, time_out_s=_PATIENCE_S)
    document: Document = {"board": board, "init": init, "started": STARTED, "cases": []}
    if origin == "init":
        document["recorded_from"] = origin
    measured = _measure_windows if origin == "init" else _measure_cases
    with QuietBoard(options, _tell) as target:
        booted = BootBoard(target, init, by_script=origin == "scripts")
        capture = output.with_suffix(".capture")
        document |= _recorded(target, capture, origin)
        measured(booted, capture, document, repeat, output)
    return document


def _measure_cases(
    board: BootBoard, capture: Path, document: Document, repeat: int, output: Path
) -> None:
    cases = _predicted(capture)
    document["cases"] = [asdict(case) for case, _ in cases]
    _write(document, output)
    for at, (case, plan) in enumerate(cases):
        if plan is not None:
            with tempfile.TemporaryDirectory() as folder:
                install(board.target, _with_replayer(plan, folder))
        _tell(f"measuring: {case.name}, {case.read_ahead_kb} KiB")
        document["cases"][at]["measured"] = board.boots(repeat)
        if plan is not None:
            uninstall(board.target)
        _write(document, output)


def _measure_windows(
    board: BootBoard, capture: Path, document: Document, repeat: int, output: Path
) -> None:
    curve = predict_by(load(capture)).total
    seconds = dict(zip(curve.read_ahead_kb, curve.seconds or [], strict=True))
    for kib in WINDOWS:
        _tell(f"measuring: {kib} KiB")
        board.begin_at_init(kib)
        case = {"name": "window", "read_ahead_kb": kib, "seconds": seconds[kib]}
        document["cases"].append(case | {"measured": board.boots(repeat)})
        _write(document, output)


def _recorded(target: Target, folder: Path, origin: Origin) -> Document:
    stand_in = part(INIT_SCRIPT) if origin == "init" else None
    hook = BoardHook(target, part(HOOK_SCRIPT), done=True, stand_in=stand_in)
    options = with_init(RecordOptions(RunOptions(["/sbin/init"]), tell=_tell), target)
    ending = BootEnding(within_s=_PATIENCE_S)
    capture = recorded(boot_on(target, options, ending, hook, folder))
    return {
        "kernel": capture.host.kernel,
        "recorded_seconds": capture.wall_seconds,
        "lost": sum(capture.lost.values()),
        "notes": capture.notes,
    }


def _predicted(folder: Path) -> list[tuple[Case, ApplyPlan | None]]:
    """Return the four cases, each with its plan; None: the board as it is."""
    recording = load(folder)
    prediction = predict_by(recording)
    compared = compare(recording)
    listed = Prefetch(encode(compared.found.listing), b"")
    cases = []
    for case in compared.cases:
        with_list = case.name in ("list", "both")
        plan = None
        if with_list or case.name == "window":
            plan = plan_from(
                prediction,
                recording.capture,
                read_ahead_kb=case.read_ahead_kb,
                prefetch=listed if with_list else None,
                attempts=0,
            )
        cases.append((case, plan))
    return cases


def _with_replayer(plan: ApplyPlan, folder: str) -> ApplyPlan:
    if plan.prefetch is None:
        return plan
    return replace(plan, prefetch=replace(plan.prefetch, replayer=_replayer(folder)))


def _replayer(folder: str) -> bytes:
    source, program = Path(folder, REPLAYER_SOURCE), Path(folder, "replayer")
    source.write_bytes(shipped(REPLAYER_SOURCE))
    compiler = ["aarch64-linux-gnu-gcc", "-std=c11", "-O2", "-s"]  # as INSTALL.md says
    subprocess.run([*compiler, "-o", program, source], check=True)
    return program.read_bytes()


def _write(document: Document, output: Path) -> None:
    output.write_text(json.dumps(document, indent=1) + "\n")


def _tell(step: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {step}", file=sys.stderr, flush=True)


def main(words: Sequence[str] | None = None) -> int:
    """Measure, and print the predicted and the measured figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--board", default=BOARD)
    parser.add_argument("--from", dest="origin", choices=get_args(Origin), default="scripts")
    parser.add_argument("--init", choices=("busybox", "systemd"), default="busybox")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args(words)
    document = measure(args.board, args.init, args.origin, args.repeat, args.output)
    for case in document["cases"]:
        seconds = median(boot["seconds"] for boot in case["measured"])
        named = f"{case['name']:8} {case['read_ahead_kb']} KiB"
        print(f"{named} {case['seconds']:.3f} s predicted, {seconds:.3f} s measured")
    return 0


if __name__ == "__main__":
    sys.exit(main())
