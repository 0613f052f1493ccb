"""Completion, as the shell itself answers."""

import argparse
import os
import shutil
import subprocess

import pytest
import shtab

from foreread.cli.main import COMMANDS, build_parser


@pytest.fixture
def complete(run, tmp_path):
    """Return what fish offers for the start of a line."""
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("fish is not installed: its completion was not tried")
    script = tmp_path / "foreread.fish"
    script.write_text(run("--print-completion", "fish").out)
    environment = os.environ | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}

    def offered(line):
        done = subprocess.run(
            [fish, "--private", "-c", "source $argv[1]; complete -C $argv[2]", script, line],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env=environment,
        )
        assert done.stderr == ""
        return {word.partition("\t")[0] for word in done.stdout.splitlines()}

    return offered


def test_fish_offers_every_command(complete):
    assert complete("foreread ") >= set(COMMANDS)
    assert complete("foreread pre") == {"predict", "prefetch"}


@pytest.mark.parametrize("command", ["predict", "script", "tune"])
def test_fish_offers_the_options_of_a_command(command, complete):
    (commands,) = (
        action
        for action in build_parser([command])._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    known = {
        word
        for action in commands.choices[command]._actions
        if action.help != argparse.SUPPRESS
        for word in action.option_strings
        if word.startswith("--")
    }
    assert complete(f"foreread {command} --") == known


def test_fish_offers_the_words_that_an_option_takes(complete):
    assert complete("foreread predict --criterion ") == {"seconds", "published"}


def test_fish_offers_files(complete, tmp_path):
    (tmp_path / "app.capture").touch()
    assert "app.capture" in complete("foreread predict app")


def test_shtab_without_a_shell_is_answered_with_what_to_install(run, monkeypatch):
    monkeypatch.setattr(shtab, "SUPPORTED_SHELLS", ["bash"])
    said = run("--print-completion", "fish", code=2)
    assert said.out == ""
    assert "pip install 'shtab>=1.9'" in said.err


def test_bash_offers_files(run, tmp_path):
    (tmp_path / "app.capture").touch()
    (tmp_path / "foreread").write_text(run("--print-completion", "bash").out)
    ask = ". ./foreread; COMP_WORDS=(foreread predict app) COMP_CWORD=2; _shtab_foreread"
    ask += '; echo "$COMPREPLY"'
    done = subprocess.run(
        ["bash", "-c", ask], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "app.capture\n"
