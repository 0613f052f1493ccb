"""The kinds of slow disk on a booted board: each request takes as long as on the kind's model."""

from __future__ import annotations

import re
from collections import defaultdict, deque

import pytest
from disk_kinds import model_of
from waiting import left_s

from foreread.boards import disks
from foreread.boards.emulated.live import LiveOptions, boot

pytestmark = pytest.mark.boards
NAMED = [name for name in disks.kinds() if name != disks.FIXED]
PARAMETERS = "/sys/module/slowdisk/parameters"
SCRATCH_MIB = 48
# Between the issue of a request and the driver's timer: setting up, and copying the data.
SET_UP_NS, COPY_NS_PER_KIB = 60e3, 3e3
ROW = re.compile(
    r" (\d+)\.(\d{6}): block_rq_(issue|complete): (\d+),(\d+) [RW]\S* .*?(\d+) \+ (\d+) "
)
PREPARE = """
mount -t tracefs t /sys/kernel/tracing
cd /sys/kernel/tracing
echo mono >trace_clock
for event in block_rq_issue block_rq_complete; do echo 1 >events/block/$event/enable; done
cat /sys/block/slow1/dev
"""
# Near to each other, far away, again, in order and at once: sizes in KiB, places in units of them.
READ = """
read_one() { dd if=/dev/slow1 of=/dev/null bs=$1k skip=$2 count=$3 iflag=direct 2>/dev/null; }
: >/sys/kernel/tracing/trace
for place in 0 1 3 2000 2001 2003 7000 0 1 5 6 9000; do read_one 4 $place 1; done
read_one 64 0 40
read_one 16 900 3
read_one 100 30 8
for place in 0 1 2 3 2000 2500 3000 3500; do read_one 4 $place 4 & done
wait
read_one 512 20 12
sleep 1
read_one 4 11000 6
cat /sys/kernel/tracing/trace
"""


# The module is built for each kernel; one machine has words of 32 bits, one is big-endian.
BOARDS = [
    ("x86_64", "6.12"),
    *(
        pytest.param(board, marks=pytest.mark.thorough)
        for board in (
            *(("x86_64", kernel) for kernel in ("5.10", "6.1", "7.2")),
            *((machine, "6.1") for machine in ("armhf", "s390x")),
        )
    ),
]


@pytest.fixture(scope="module", params=BOARDS, ids="-".join)
def board(request):
    """Return a board whose driver takes many requests, the disk's major, and its first part."""
    machine, kernel = request.param
    live = boot(
        LiveOptions(
            machine, kernel=kernel, disk="nvme", scratch_mib=SCRATCH_MIB, time_out_s=left_s()
        )
    )
    try:
        with live.target() as target:
            major = run(target, PREPARE).partition(":")[0]
            yield target, major, int(run(target, "cat /sys/block/slow0/size"))
    finally:
        live.stop()


def run(target, script):
    done = target.run(["sh", "-c", script], timeout_s=left_s())
    assert done.status == 0, done
    return done.stdout.decode()


def requests_of(trace, major, begin):
    """Return place, sectors, issue and completion (ns) in order of issue; both devices' requests.

    The second device lies after the first one, which has ``begin`` sectors. Of equal requests in
    flight the first one issued completes first: the disk moves requests in order.
    """
    under_way, rows = defaultdict(deque), []
    for seconds, micros, what, of, minor, sector, sectors in ROW.findall(trace):
        if of != major:
            continue
        now = (int(seconds) * 10**6 + int(micros)) * 1000
        key = (int(sector) + begin * int(minor), int(sectors))
        if what == "issue":
            under_way[key].append(len(rows))
            rows.append([*key, now, 0])
        else:
            rows[under_way[key].popleft()][3] = now
    assert not any(under_way.values())
    return rows


@pytest.mark.parametrize("name", NAMED)
def test_each_request_takes_as_long_as_on_the_model(name, board):
    target, major, begin = board
    costs = {"parallel": 1, "unit_kib": 0, "fast_kib": 0, "rest_ms": 0}
    zero = ("hit_ns", "hit_ns_per_kib", "seek_ns", "seek_ns_per_root", "jitter_ns")
    costs |= dict.fromkeys(zero, 0) | disks.kind(name).costs
    sets = "".join(f"echo {value} >{PARAMETERS}/{cost}\n" for cost, value in costs.items())
    run(target, READ)  # so that the programs are in memory
    rows = requests_of(run(target, sets + READ), major, begin)
    assert len(rows) > 80
    queue = model_of(costs).queue()
    before_ns = most_ns = 0.0
    for sector, sectors, issue, complete in rows:
        late = complete - queue.submit(issue, sector, sectors)
        # What is moved after a request that is late is as late.
        most_ns = SET_UP_NS + COPY_NS_PER_KIB * sectors / 2 + (most_ns if issue < before_ns else 0)
        assert -2e3 <= late <= most_ns, (sector, sectors)
        before_ns = complete
