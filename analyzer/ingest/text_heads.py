"""Heads of the lines of a text trace: thread, CPU, flags and time, up to the event's name.

trace_print_context and trace_print_lat_context of kernel/trace/trace_output.c (Linux 2.6.30 to
6.19), ``trace-cmd report`` (tep_print_event), ``perf script`` (tools/perf/builtin-script.c).
Anything may stand before a head: a log's time, a host, a file's name.
"""

from __future__ import annotations

import re

# "  comm-pid  (tgid) [cpu] flags secs.usecs: "; the comm is any 15 bytes. perf script: "comm tid
# [cpu] …" or pid/tid. The time of a clock without a unit is a whole number; trace-cmd prints raw
# times (--raw-ts) right after the CPU, and differences (--ts-diff) after the time.
_THREAD = rb"(?:\d{1,9}/)?(\d{1,9})[ \t]+"
_TIME = rb"(\d{1,20})(\.\d{9}|\.\d{6})?:[ \t]+"
_TIME_OF_DAY = rb"(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6,9}[ \t]+)?"  # perf script -F +tod
_REST = rb"(?:\(\+\d{1,19}\)[ \t]+)?(?:\d{1,19}[ \t]+)?(?:\w{1,63}:)?"
_USUAL = (
    _THREAD
    + rb"(?:\([ \d-]{1,10}\)[ \t]+)?(?:\[(\d{1,5})\][ \t]*(?:([^ \t\n]{1,8})[ \t]+)?)?"
    + _TIME_OF_DAY
    + _TIME
    + _REST
)
# Latency format, as ftrace_dump prints it too: "comm-pid  <cpu><flags> <time>us : ". The time
# counts from the begin of the buffer; a mark after it stands for a long delay.
_LATENCY = (
    _THREAD
    + rb"(\d{1,5})([^ \t\n\d][^ \t\n]{2,7})[ \t]+"
    + rb"(\d{1,20})(us(?=[^\n]?:)|\.\d{9}|\.\d{6})?[^\n]?:[ \t]+"
    + _REST
)
# Latency format with the option verbose: "comm pid cpu flags preempt_count number [usecs] msecs".
_VERBOSE = (
    _THREAD
    + rb"(\d{1,5}) (\d{1,3}) [0-9a-f]{8} [0-9a-f]{8,16} \[[0-9a-f]{8,16}\] "
    + rb"(\d{1,14})(\.\d{3}ms) \(\+[^ \t\n]{1,24}\):[ \t]+"
)
_BEFORE_HEAD = rb"(?:.*?[- \t])?"
_BEFORE_LINE = rb"^(?:[^\n]{0,120}?[- \t])?"
_PATTERNS = (_USUAL, _LATENCY, _VERBOSE)
_FORMS = tuple(re.compile(_BEFORE_HEAD + form + rb"$") for form in _PATTERNS)
_PERF = re.compile(
    rb"(?:.*[ \t])?(?:\d{1,9}/)?\d{1,9}[ \t]+(?:\[\d{1,5}\][ \t]+(?:[KUHGg][\w]?[ \t]+)?)?"
    + _TIME_OF_DAY
    + rb"\d{1,10}\.(?:\d{9}|\d{6}):[ \t]+(?:\d{1,19}[ \t]+)?\w{1,63}:$"
)

# Lines of any event, up to its name; perf has names like cpu-clock and cpu/cycles/.
ANY_LINE = re.compile(
    rb"|".join(_BEFORE_LINE + form + rb"([\w/,=.-]{1,63}):" for form in _PATTERNS), re.M
)
_GROUPS = 6  # of each form in ANY_LINE; the last one is the event's name


# Thread, CPU and flags as they are printed (None where they lack), time, whether it has no unit.
Head = tuple[int, bytes | None, bytes | None, int, bool]


def parse_head(head: bytes) -> Head | None:
    """Return the head of a line up to the name of its event; None for another form."""
    head = head.lstrip(b" ")
    for form in _FORMS:
        match = form.match(head)
        if match is not None:
            pid, cpu, context, whole, fraction = match.groups()
            time_ns = _time_ns(whole, fraction)
            if time_ns < 1 << 64:
                return int(pid), cpu, context, time_ns, fraction is None
    return None


def _time_ns(whole: bytes, fraction: bytes | None) -> int:
    """Return a printed time in nanoseconds; a time without a unit stays as it is."""
    if fraction is None:
        return int(whole)
    if fraction == b"us":
        return int(whole) * 1000
    if fraction.endswith(b"ms"):
        return int(whole + fraction[1:4]) * 1000
    return int(whole + fraction[1:].ljust(9, b"0"))


def is_perf(head: bytes) -> bool:
    """Return whether ``perf script`` printed this head."""
    return _PERF.match(head) is not None


def time_of(match: re.Match[bytes]) -> int:
    """Return the time in a match of ANY_LINE, as parse_head does."""
    last = match.lastindex or _GROUPS
    return _time_ns(*match.group(last - 2, last - 1))


def event_of(match: re.Match[bytes]) -> bytes:
    """Return the event's name in a match of ANY_LINE."""
    return match[match.lastindex or _GROUPS]
