"""Fields of events that are read on demand: those of system calls in one pass."""

import numpy as np
import pytest

from foreread.analyzer.ingest.columns import PLACE
from foreread.analyzer.ingest.fields import FieldReader
from foreread.analyzer.ingest.formats import Formats
from foreread.analyzer.ingest.recording import TraceError

HEADER = """\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
"""


def text(name, number, field="fd", damaged=False):
    own = f"\tfield:int {field};\toffset:8;\tsize:{-8 if damaged else 8};\tsigned:0;\n"
    return f'name: {name}\nID: {number}\nformat:\n{HEADER}\n{own}\nprint fmt: ""\n'.encode()


class Records:
    """Records of (common_type, pid, value), a microsecond apart, and how often they are walked."""

    def __init__(self, *records):
        self.types = [kind for kind, _, _ in records]
        rows = [
            np.array([kind], "u2").tobytes()
            + bytes(2)
            + np.array([pid], "i4").tobytes()
            + np.array([value], "u8").tobytes()
            for kind, pid, value in records
        ]
        self.data = b"".join(rows)
        self.walks = 0

    def find(self, specs):
        self.walks += 1
        number = {int(kind): row for row, kind in enumerate(specs["id"].tolist())}
        rows = [
            (1000 * at, 16 * at, 16, 0, number[kind])
            for at, kind in enumerate(self.types)
            if kind in number
        ]
        places = np.array(rows, PLACE)
        return self.data, places, np.array([0, len(places)], np.uint64)


def reader(records, texts):
    formats = Formats(texts, byte_order="little", long_size=8)
    return FieldReader(formats, records.find)


def test_all_calls_are_found_in_one_pass():
    texts = {f"syscalls:{name}": text(name, 10 + at) for at, name in enumerate(("a", "b", "c"))}
    records = Records((10, 1, 7), (11, 2, 8), (10, 3, 9), (99, 4, 0))
    read = reader(records, texts)
    found = read("syscalls:a", ("fd",))
    assert found["fd"].tolist() == [7, 9]
    assert found["pid"].tolist() == [1, 3]
    walks = records.walks
    assert read("syscalls:b", ("fd",))["time_ns"].tolist() == [1000]
    assert read("syscalls:c", ("fd",))["fd"].tolist() == []
    assert records.walks == walks


def test_a_damaged_format_spoils_its_own_event_only():
    texts = {"syscalls:a": text("a", 10), "syscalls:b": text("b", 11, damaged=True)}
    texts["syscalls:c"] = text("c", 12, damaged=True)
    read = reader(Records((10, 1, 7), (11, 1, 8)), texts)
    assert read("syscalls:a", ("fd",))["fd"].tolist() == [7]
    with pytest.raises(TraceError, match="syscalls:b"):
        read("syscalls:b", ("fd",))
    assert read("syscalls:c", ("fd",))["fd"].tolist() == []  # it does not occur


def test_an_unknown_event_and_an_unknown_field_are_refused():
    read = reader(Records((10, 1, 7)), {"syscalls:a": text("a", 10)})
    with pytest.raises(TraceError, match="no event syscalls:z"):
        read("syscalls:z", ())
    with pytest.raises(TraceError, match="no field 'nothing'"):
        read("syscalls:a", ("nothing",))
