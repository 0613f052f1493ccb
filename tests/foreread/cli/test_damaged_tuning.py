"""Commands on forged TUNING files: a result or one line of error, whatever a column holds."""

import random
import shutil
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from forged_tunings import VALUES, change_json, forge, json_columns, set_value
from property_tests import examples
from rings import further
from trial_benches import KnownBench
from tuned_stores import tuned

from foreread.analyzer.tuner.engines.fingerprint import BY_NAME
from foreread.analyzer.tuner.findings.plans import learn
from foreread.analyzer.tuner.store import limits
from foreread.cli.main import main
from foreread.tuning import campaign as tuning

ROOT = Path(__file__).parents[3]
READS = BY_NAME["read-random-small"]
BEGUN = ["--genes", "scheduler,read_ahead_kb=8:32:128", "--budget", "30", "--", "true"]
pytestmark = pytest.mark.usefixtures("page_only")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A TUNING with runs of search and confirmation, and with settings learnt for a workload."""
    path = tmp_path_factory.mktemp("forged") / "sound.tuning"
    tuned(path, scenarios=("reader", "idle"), runs=40)
    learn(path, READS)
    return path


@pytest.fixture
def forged(sound, tmp_path):
    """A copy of it, to be forged."""
    return shutil.copy(sound, tmp_path / "forged.tuning")


def refusals(path, capsys, commands=("script", "fingerprint", "report")):
    """Run every command that reads a TUNING; return the lines of those that refused it.

    Any exception that is not an error with a remedy fails the test.
    """
    out = path.with_name("out")
    words = {
        "script": ["script", str(path), "-o", str(out / "script")],
        "fingerprint": ["fingerprint", "--apply", str(path), "-o", str(out / "watch.sh")],
        "report": ["report", str(path), "-o", str(out / "report")],
    }
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    lines = []
    for command in commands:
        code = main(words[command])
        said = capsys.readouterr()
        shown = (said.out + said.err).replace("\n", "").replace("\t", "")
        assert shown.isprintable() and "FORGED" not in said.out.splitlines(), said
        assert code in (0, 1)
        if code:
            line = said.err.splitlines()[-1]
            assert line.startswith("foreread: ") and " -- " in line and len(line) < 2000, line
            lines.append(line)
    for file in out.rglob("*"):
        if file.is_file() and file.suffix not in (".png", ".pdf"):
            text = file.read_text().replace("\n", "").replace("\t", "")
            assert text.isprintable() or file.suffix == ".html", file
    return lines


@pytest.mark.thorough
def test_the_sound_file_is_refused_by_no_command(sound, capsys):
    assert refusals(sound, capsys) == []


def every_column():
    path = Path(limits.__file__).with_name("schema.py")
    assert path.exists()
    from foreread.analyzer.tuner.store.store_file import new_memory

    with closing(new_memory()) as memory:
        tables = memory.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return [
            (table, row[1])
            for (table,) in tables
            for row in memory.execute(f"PRAGMA table_info({table})")
        ]


@pytest.mark.parametrize(("table", "column"), further(every_column(), every_column()[::8]), ids=str)
def test_a_forged_column_ends_in_a_result_or_one_line(table, column, sound, tmp_path, capsys):
    chance = random.Random(f"{table}.{column}")
    refused = 0
    for value in ("-1", "'x'", "9223372036854775807", *chance.sample(VALUES, 5)):
        path = shutil.copy(sound, tmp_path / "forged.tuning")
        set_value(path, table, column, value, every=chance.random() < 0.3)
        refused += bool(refusals(path, capsys, (chance.choice(("script", "fingerprint")),)))
    assert refused or column in ("foreread", "created")


@pytest.mark.parametrize("seed", further(range(12), 3))
def test_forged_json_ends_in_a_result_or_one_line(seed, sound, tmp_path, capsys):
    chance = random.Random(seed)
    places = json_columns(sound)
    assert len(places) >= 8
    for _ in range(examples(12)):
        path = shutil.copy(sound, tmp_path / "forged.tuning")
        done = change_json(path, *chance.choice(places), chance)
        command = chance.choice(("script", "script", "fingerprint", "fingerprint", "report"))
        try:
            refusals(path, capsys, (command,))
        except Exception as error:
            raise AssertionError(f"{command} after {done}") from error


RENAMED = {
    "of all chromosomes": "UPDATE chromosomes SET genes = replace(genes, '\"scheduler\"', '\"x\"')",
    "of the space": "UPDATE campaign SET space = replace(space, '\"scheduler\"', '\"sched\"')",
    "of one run": "UPDATE chromosomes SET genes = replace(genes, '\"scheduler\"', '\"x\"')"
    " WHERE id = (SELECT chromosome FROM evaluations WHERE id = 9)",
}


@pytest.mark.parametrize("which", RENAMED)
def test_a_renamed_gene_is_said_by_name(which, forged, capsys):
    forge(forged, RENAMED[which])
    lines = refusals(forged, capsys, ("script", "report"))
    assert len(lines) == 2 and all("the gene sched" in line and "damaged" in line for line in lines)


def test_an_allele_that_the_gene_does_not_have_is_said(forged, capsys):
    forge(forged, "UPDATE chromosomes SET genes = replace(genes, '\"bfq\"', '\"x;reboot\"')")
    lines = refusals(forged, capsys)
    assert lines and all(
        "'x;reboot' is not a value of the gene scheduler" in line for line in lines
    )


@pytest.mark.parametrize(
    ("statement", "message"),
    further(
        [
            ("DELETE FROM scenarios", "damaged"),
            ("DELETE FROM evaluations", ""),
            ("DELETE FROM generations", ""),
            ("DELETE FROM chromosomes", "damaged"),
            ("UPDATE evaluations SET value = 5e-324", "not a value"),
            ("CREATE VIEW v AS SELECT * FROM v", "did not create"),
            ("UPDATE campaign SET space = '{\"genes\":[]}'", "damaged"),
            ("UPDATE evaluations SET scenario = 1, repeat = id", ""),
            ("UPDATE evaluations SET started = 0, ended = 1e11", ""),
        ],
        3,
    ),
)
def test_missing_and_extreme_rows(statement, message, forged, capsys):
    forge(forged, statement)
    lines = refusals(forged, capsys)
    assert all(message in line for line in lines)
    assert bool(lines) or not message


@pytest.mark.parametrize("suffix", ["-wal", "-journal", "-shm"])
def test_a_pipe_in_place_of_a_log_is_refused(suffix, forged, capsys):
    import os

    os.mkfifo(f"{forged}{suffix}")
    lines = refusals(forged, capsys)
    assert len(lines) == 3 and all("is not a regular file" in line for line in lines)


def test_a_journal_cannot_make_sqlite_delete_a_file(forged, tmp_path, capsys):
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    name = bytes(victim)
    page = (1 << 30) // 4096 + 1
    size = forged.stat().st_size // 4096
    header = bytes.fromhex("d9d505f920a163d7") + struct.pack(">IIIII", 0, 7, size, 4096, 4096)
    tail = struct.pack(">I", page) + name + struct.pack(">II", len(name), sum(name))
    journal = Path(f"{forged}-journal")
    journal.write_bytes(header.ljust(4096, b"\0") + tail + bytes.fromhex("d9d505f920a163d7"))
    assert all("names another" in line for line in refusals(forged, capsys))
    assert victim.read_text() == "precious\n"
    # Shown: the same files, opened by SQLite alone, cost the file.
    with closing(sqlite3.connect(forged)) as connection:
        connection.execute("SELECT count(*) FROM evaluations").fetchone()
    assert not victim.exists()


BOMBS = {
    "rows": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)"
    " INSERT INTO generations SELECT 1000 + i, 0, 1, 1.0 FROM n",
    "attempts": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)"
    " INSERT INTO evaluations SELECT 1000 + i, 1, 1, 1, 1000 + i, 0, 'ok', 1.0, '{}', '[]', 0, 1,"
    " 'search', 0 FROM n",
    "figures": "UPDATE evaluations SET metrics ="
    " '{' || substr(replace(hex(zeroblob(90000)), '00', ',\"a\":1'), 2) || '}'",
    "notes": "UPDATE evaluations SET notes ="
    " '[' || substr(replace(hex(zeroblob(300000)), '00', ',\"\"'), 2) || ']'",
    "genes": "UPDATE chromosomes SET genes ="
    " '{\"g' || id || '\":1' || replace(hex(zeroblob(100000)), '00', ',\"a\":1') || '}'",
    "pages": "CREATE TABLE x AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
    " WHERE i < 200) SELECT zeroblob(1000000) FROM n",
}


@pytest.mark.thorough
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_within_memory(bomb, forged):
    forge(forged, BOMBS[bomb])
    code = (
        "import re, sys; from foreread.cli.main import main;"
        "code = main(sys.argv[1:]);"
        # not ru_maxrss: a fork hands the peak of its parent on
        "print(re.search(r'VmHWM:\\s+([0-9]+) kB', open('/proc/self/status').read())[1]);"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "script", str(forged), "-o", str(forged.parent / "o")],
        capture_output=True,
        check=False,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("foreread: ") and done.stderr.count("\n") == 1, done.stderr
    assert int(done.stdout) < 640 << 10, "KiB of memory; 100 MiB are Python and numpy"


@pytest.mark.thorough
def test_a_forged_campaign_is_not_resumed(tmp_path, capsys, monkeypatch):
    bench = KnownBench()
    monkeypatch.setattr(tuning, "open_bench", bench.open)
    path = tmp_path / "app.tuning"
    words = ["tune", "-o", str(path), *BEGUN]
    assert main(words) == 0
    whole, chance = path.read_bytes(), random.Random(5)
    refused = resumed = 0
    for _ in range(rounds := examples(60)):
        path.write_bytes(whole)
        done = change_json(path, *chance.choice(json_columns(path)), chance)
        capsys.readouterr()
        try:
            code = main([words[0], "--resume", *words[1:]])
        except Exception as error:
            raise AssertionError(f"resume after {done}") from error
        said = capsys.readouterr()
        assert code in (0, 1, 2) and "Traceback" not in said.err
        assert (said.out + said.err).replace("\n", "").isprintable()
        refused += code != 0
        resumed += code == 0
    assert refused > rounds / 3 and resumed
