"""Every document that a test makes foreread print with --json is checked against its schema."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import jsonschema_rs
import pytest

from docs.tools.json_schemas import schemas
from foreread.cli import main as command_line


@cache
def validator(name):
    """Return the validator of a schema in which unknown keys are errors, too."""
    schema = schemas()[name]
    return jsonschema_rs.Draft202012Validator(_closed(schema))


def check(name, text):
    """Check what a command printed: a document on each line; of a report its figures, too."""
    for line in text.splitlines():
        document = json.loads(line)
        validator(name).validate(document)
        if name in ("report", "fleet-report"):
            figures = json.loads(Path(document["json"]).read_text())
            validator("report-figures" if name == "report" else "fleet-figures").validate(figures)


def schema_name(command, words):
    """Return the schema of a command; that of boards and of fleet depends on what it does."""
    actions = {
        "boards": ("list", "show", "new", "run", "start", "stop"),
        "fleet": ("analyse", "report"),
    }.get(command)
    if actions is None:
        return command
    return f"{command}-{next(word for word in words if word in actions)}"


@pytest.fixture(autouse=True)
def checked_documents(monkeypatch):
    """Check the output of the command line, in this process and in others."""
    inner, outer = command_line._run, subprocess.run

    def checked(args):
        printed = _Copied(sys.stdout)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", printed)
            code = inner(args)
        if getattr(args, "json", False):
            words = (str(getattr(args, "action", "")),)
            check(schema_name(args.command, words), "".join(printed.texts))
        return code

    def run(words, *given, **options):
        done = outer(words, *given, **options)
        texts = [str(word) for word in words] if isinstance(words, (list, tuple)) else []
        asked = texts[texts.index("foreread") + 1 :] if "foreread" in texts else []
        own = asked[: asked.index("--")] if "--" in asked else asked
        if "--json" in own and done.returncode == 0 and done.stdout:
            text = done.stdout if isinstance(done.stdout, str) else done.stdout.decode()
            command = next(word for word in own if word in command_line.COMMANDS)
            check(schema_name(command, own), text)
        return done

    monkeypatch.setattr(command_line, "_run", checked)
    monkeypatch.setattr(subprocess, "run", run)


class _Copied:
    """A stream that also keeps what is printed to it."""

    def __init__(self, stream):
        self.stream, self.texts = stream, []

    def write(self, text):
        self.texts.append(text)
        return self.stream.write(text)

    def __getattr__(self, name):
        return getattr(self.stream, name)


def _closed(schema):
    """Return the schema with every object closed."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(one) for key, one in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        closed.setdefault("additionalProperties", False)
    return closed
