"""TUNING files that an attacker has changed with SQLite: no command writes what they ask for."""

import json
import sqlite3
from contextlib import closing

import pytest
from tuned_stores import tuned

from foreread.analyzer.tuner.engines.fingerprint import BY_NAME
from foreread.analyzer.tuner.findings.plans import learn
from foreread.cli.main import main

COMMANDS = {
    "fingerprint": ["fingerprint", "--apply", "{tuning}", "-o", "{output}"],
    "watch": ["fingerprint", "--watch", "--apply", "{tuning}"],
    "learn": ["fingerprint", "--watch", "--apply", "{tuning}", "--learn-at", "00:00-23:59"],
    "script": ["script", "{tuning}", "-o", "{output}"],
    "report": ["report", "{tuning}", "-o", "{output}"],
    "resume": ["tune", "--resume", "--scenario", "reader", "-o", "{tuning}", "--", "app"],
}
KNOBS = [
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/sysrq",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/vm/drop_caches",
    "/sys/power/state",
    "/sys/block/{disk}/device/state",
    "/sys/block/{disk}/device/delete",
    "/sys/block/{disk}/../../power/state",
    "mount:ro,rw:/",
]


@pytest.fixture(scope="module")
def genuine(tmp_path_factory):
    path = tmp_path_factory.mktemp("genuine") / "app.tuning"
    tuned(path)
    learn(path, BY_NAME["read-random-small"])
    return path


@pytest.fixture
def attempt(genuine, tmp_path, capsys):
    """Run a command with the file after ``forge`` has changed its genes; return its error."""

    def attempt(command, forge, **columns):
        path = tmp_path / "app.tuning"
        path.write_bytes(genuine.read_bytes())
        with closing(sqlite3.connect(path)) as connection, connection:
            (text,) = connection.execute("SELECT space FROM campaign").fetchone()
            space = json.loads(text)
            for gene in space["genes"]:
                forge(gene)
            connection.execute("UPDATE campaign SET space = ?", (json.dumps(space),))
            for name, value in columns.items():
                connection.execute(f"UPDATE boards SET {name} = ?", (value,))
        output = tmp_path / "output"
        words = [word.format(tuning=path, output=output) for word in COMMANDS[command]]
        status = main(words)
        printed = capsys.readouterr()
        assert status == 1, printed
        assert not output.exists()
        assert printed.out == ""
        return printed.err

    return attempt


def scheduler(**changes):
    def forge(gene):
        if gene["name"] == "scheduler":
            gene.update(changes)

    return forge


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_a_knob_that_is_not_listed(attempt, command):
    error = attempt(command, scheduler(knob="/proc/sys/kernel/sysrq"))
    assert "'/proc/sys/kernel/sysrq' is not a knob that foreread sets" in error


@pytest.mark.parametrize("knob", KNOBS)
@pytest.mark.parametrize("field", ["knob", "more_knobs"])
def test_no_such_knob_becomes_a_script(attempt, knob, field):
    error = attempt("fingerprint", scheduler(**{field: knob if field == "knob" else [knob]}))
    assert f"{knob.replace('{disk}', 'sda')!r} is not a knob that foreread sets" in error
    assert "begin a new campaign" in error


@pytest.mark.parametrize("command", ["fingerprint", "script"])
def test_a_value_outside_of_the_range_is_refused_with_the_range(attempt, command):
    forge = scheduler(knob="/proc/sys/vm/vfs_cache_pressure")
    error = attempt(command, forge)
    assert "vfs_cache_pressure: 'none' is not a whole number from 1 to 10000" in error

    def huge(gene):
        if gene["name"] == "swappiness":
            gene.update(knob="/proc/sys/vm/min_free_kbytes", highest=1 << 30, lowest=0)

    error = attempt(command, huge)
    assert "min_free_kbytes: '0' is not a whole number from 1024 to 4194304" in error


def test_a_forged_learnt_plan_is_refused(genuine, tmp_path, run):
    path, output = tmp_path / "app.tuning", tmp_path / "output"
    path.write_bytes(genuine.read_bytes())
    genes = {"scheduler": "x", "window": 1 << 40, "/proc/sys/kernel/sysrq": "1"}
    with closing(sqlite3.connect(path)) as connection, connection:
        forged = json.dumps(genes, sort_keys=True)
        (made,) = connection.execute(
            "INSERT INTO chromosomes (genes) VALUES (?) RETURNING id", (forged,)
        ).fetchone()
        connection.execute("UPDATE top_genes SET chromosome = ?", (made,))
    said = run("fingerprint", "--apply", path, "-o", output, code=1).err
    assert "is not a value of the gene" in said
    assert not output.exists()


@pytest.mark.parametrize("command", ["fingerprint", "script"])
@pytest.mark.parametrize("name", ["../../power", "sda/../../power", "x y", "a\nb", "$(id)", "*"])
def test_a_disk_that_is_not_a_name_is_refused(attempt, command, name):
    hardware = {"machine": "", "model": "", "disks": []}
    error = attempt(
        command, lambda _: None, disks=json.dumps([name]), hardware=json.dumps(hardware)
    )
    assert "is not a disk's name" in error
