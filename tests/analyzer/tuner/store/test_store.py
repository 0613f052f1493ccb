"""The store: what is put in comes out, and hostile files are refused."""

import os
import sqlite3
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import tuning

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.evaluation import Attempt
from foreread.analyzer.tuner.store.limits import check_files
from foreread.analyzer.tuner.store.records import Evaluation, TopGenes
from foreread.analyzer.tuner.store.store import Store, StoreError
from foreread.analyzer.tuner.store.store_file import is_store

ROOT = Path(__file__).parents[4]

DEFAULT = tuning.SPACE.default()


def evaluation(number=1, repeat=0, scenario="idle", chromosome=DEFAULT, **changes):
    attempt = Attempt(**{"status": "ok", "value": 3.5, "metrics": {"reads": 7.0}, **changes})
    return Evaluation(number, chromosome, scenario, repeat, 99, attempt, 1000.0, 1003.5)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "board.tuning"
    with Store.create(path, tuning.spec()) as store:
        store.add(evaluation())
    return path


def refusal(path):
    with pytest.raises(StoreError) as raised:
        Store.read(path).evaluations()
    assert raised.value.remedy
    return str(raised.value)


def forge(path, *statements):
    """Change a store as no foreread would."""
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_archived_files_are_extracted_unchanged(tmp_path):
    path = tmp_path / "a?b#c%20.tuning"
    spec = tuning.spec(recipe="r = 1\n", space="[]", objective="rate", fewest=2, most=3)
    failed = Attempt("failed", notes=("kernel says: ☠ 'x'\n",))
    second = Evaluation(2, tuning.BEST, "reader", 0, 5, failed, 1003.5, 1004.0)
    with Store.create(path, spec) as store:
        store.add(evaluation())
        store.add(second)
        store.add_generation(0, [Scored(tuning.BEST, 0.0), Scored(DEFAULT, 1.25)])
        store.put_top_genes("read random small", TopGenes(DEFAULT, 1.0))
        store.put_top_genes("read random small", TopGenes(tuning.BEST, 1.5))
        store.end("noise")
    with Store.read(path) as store:
        assert store.spec == spec
        assert store.ended == "noise"
        assert store.evaluations() == [evaluation(), second]
        assert store.generations() == [[(tuning.BEST, 0.0), (DEFAULT, 1.25)]]
        assert store.top_genes() == {"read random small": TopGenes(tuning.BEST, 1.5)}
        assert store.last_number() == 2


def test_a_closed_store_is_one_plain_file(path):
    assert [found.name for found in path.parent.iterdir()] == [path.name]
    assert path.read_bytes()[18:20] == b"\x01\x01"  # a rollback journal's: no WAL is needed


def test_withdrawn_attempts_stay_and_do_not_count(path):
    with Store.resume(path) as store:
        store.add(evaluation(2, repeat=1))
        store.withdraw_after(1)
        store.add(evaluation(3, repeat=1))
        assert [one.number for one in store.evaluations()] == [1, 3]
        assert [one.number for one in store.evaluations(withdrawn=True)] == [1, 2, 3]


def test_a_store_is_read_while_it_is_written(path):
    with Store.resume(path) as writer:
        writer.add(evaluation(2, repeat=1))
        with Store.read(path) as reader:
            assert len(reader.evaluations()) == 2
        writer.add(evaluation(3, repeat=2))


def test_a_second_writer_is_refused(path):
    with Store.resume(path), pytest.raises(StoreError, match="in use by another campaign"):
        Store.resume(path)
    Store.resume(path).close()


READ = """
import sys
from pathlib import Path
from foreread.analyzer.tuner.store.store import Store
Store.read(Path(sys.argv[1])).close()
"""


def of_another_process(path):
    """Let another process read the store: one that finds no lock on it removes its log."""
    subprocess.run([sys.executable, "-c", READ, path], cwd=ROOT, check=True)


@pytest.mark.parametrize("opens", [Store.resume, is_store], ids=["resume", "is_store"])
def test_a_writer_keeps_its_locks_when_its_process_opens_the_file_again(path, opens):
    with Store.resume(path) as writer:
        writer.add(evaluation(2, repeat=1))
        with suppress(StoreError):
            opens(path)
        of_another_process(path)
        writer.add(evaluation(3, repeat=2))
        with Store.read(path) as reader:
            assert len(reader.evaluations()) == 3


def test_a_journal_that_is_removed_meanwhile_is_none(path, monkeypatch):
    journal = path.with_name(path.name + "-journal")
    journal.write_bytes(b"")

    def removed(*_):
        journal.unlink(missing_ok=True)
        raise FileNotFoundError(journal)

    monkeypatch.setattr(Path, "open", removed)
    check_files(path)


def test_another_board_is_refused(path):
    with Store.read(path) as store:
        store.check_board(tuning.spec().board)
        with pytest.raises(
            StoreError, match=r"was measured on testboard \(6\.1\.0, sda\), and"
        ) as raised:
            store.check_board(replace(tuning.spec().board, kernel="6.1.1"))
    assert raised.value.remedy


def test_no_file_is_written_over(path):
    before = path.read_bytes()
    with pytest.raises(StoreError, match="exists already"):
        Store.create(path, tuning.spec())
    assert path.read_bytes() == before


def test_a_file_that_is_not_a_store_is_refused(tmp_path):
    assert "does not exist" in refusal(tmp_path / "none")
    assert "is not a file" in refusal(tmp_path)
    for content in (b"", b"x", b"text\n" * 5000, b"SQLite format 3\0" + b"\xff" * 4096):
        path = tmp_path / "hostile"
        path.write_bytes(content)
        assert str(path) in refusal(path)
    other = tmp_path / "other"
    sqlite3.connect(other).execute("CREATE TABLE evaluations (id)").connection.close()
    assert "is not a TUNING file" in refusal(other)
    os.truncate(other, 1 << 31)
    assert "is larger than a campaign can be" in refusal(other)


def test_every_truncation_is_refused_or_whole(path):
    whole = path.read_bytes()
    cut = path.with_name("cut")
    for length in range(0, len(whole), 1021):
        cut.write_bytes(whole[:length])
        if whole[length:].strip(b"\0"):
            refusal(cut)
        else:  # an empty page's zeros, which SQLite puts back
            with Store.read(cut) as store:
                assert store.evaluations() == [evaluation()]


def test_damage_is_refused_or_harmless(path):
    """Whatever byte is damaged: a StoreError, or values that are within their ranges."""
    whole = path.read_bytes()
    damaged = path.with_name("damaged")
    for at in range(0, len(whole), 509):
        damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            with Store.read(damaged) as store:
                found = store.evaluations()
        except StoreError:
            continue
        assert all(0 < one.attempt.value <= 1e15 for one in found)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("PRAGMA user_version = 3", "has schema 3, this foreread reads 4"),
        ("CREATE TABLE more (id)", "tables that foreread did not create"),
        ("CREATE TRIGGER t AFTER INSERT ON boards BEGIN SELECT 1; END", "tables that foreread did"),
        ("DROP TABLE fingerprints", "tables that foreread did not create"),
        ("DELETE FROM campaign", "contains no campaign"),
        ("UPDATE evaluations SET value = 1e300", "is damaged: CHECK"),
        ("UPDATE evaluations SET value = -1", "is damaged: CHECK"),
        ("UPDATE evaluations SET value = NULL", "is damaged: CHECK"),
        ("UPDATE evaluations SET status = 'fine'", "is damaged: CHECK"),
        ("UPDATE evaluations SET chromosome = 77", "is damaged"),
        ("UPDATE campaign SET most = 0", "is damaged: CHECK"),
        ("UPDATE evaluations SET metrics = '{\"a\":1e999}'", "is damaged"),
        ("UPDATE evaluations SET metrics = '[' || hex(zeroblob(9999))", "is damaged"),
        ("UPDATE evaluations SET notes = '{}'", "is damaged"),
        ("UPDATE chromosomes SET genes = '{\"a\":[1]}'", "is damaged"),
        ("UPDATE boards SET disks = '[1]'", "is damaged"),
    ],
)
def test_forged_contents_are_refused(path, statement, message):
    forge(path, statement)
    assert message in refusal(path)


def test_names_reach_no_sql(tmp_path):
    name = "'; DROP TABLE evaluations; --"
    spec = tuning.spec(scenarios=(name,))
    with Store.create(tmp_path / "x", spec) as store:
        store.add(evaluation(scenario=name))
        store.put_top_genes(name, TopGenes(DEFAULT, 1.0))
        assert [one.scenario for one in store.evaluations()] == [name]


def test_what_a_target_said_is_kept_as_text(path):
    with Store.resume(path) as store:
        store.add(evaluation(2, repeat=1, notes=("\udc80\0",), metrics={"\udcff": 1.0}))
        assert store.evaluations()[1].attempt.notes == ("?\0",)


def test_values_out_of_range_are_refused_with_a_remedy(path):
    with Store.resume(path) as store:
        for wrong in (evaluation(2, repeat=0), evaluation(2, scenario="other")):
            with pytest.raises(StoreError):
                store.add(wrong)
        assert len(store.evaluations()) == 1
    for changes in ({"seed": 1 << 64}, {"fewest": 0}, {"recipe": "\udc80"}, {"scenarios": ("",)}):
        with pytest.raises(StoreError) as raised:
            Store.create(Path(path.parent, "new"), tuning.spec(**changes))
        assert raised.value.remedy
    assert not Path(path.parent, "new").exists()
