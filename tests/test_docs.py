"""The pages made from code are up to date, and what the documentation shows is what is printed."""

import re
from pathlib import Path

import pytest
from rings import further

from docs.tools import boot_script, imports, man, options, schemas, transcripts
from docs.tools.lists import LISTS
from docs.tools.manual import manuals
from foreread.analyzer.predict.basis import LACKS
from foreread.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
NOW = ("README.md", "docs/howto/beside-a-load.md", "docs/howto/kernel-upgrade.md")


@pytest.mark.parametrize("name", LISTS)
def test_each_table_stands_on_one_page(name):
    pages = [path.read_text() for path in (ROOT / "docs").glob("*/*.md")]
    assert sum(page.count(f"{{foreread-list}} {name}\n") for page in pages) == 1


def test_tables_of_the_reference_have_the_rows_of_the_program():
    columns, settings = LISTS["tables"](), LISTS["settings"]()
    assert (
        "| dev | u4 | dev_t | major << 20 \\| minor of the superblock or block device |" in columns
    )
    knob = "| `/proc/sys/vm/swappiness` | 0 to 200 | 0 to 200 |"
    assert sum(line.startswith(knob) for line in settings) == 1
    assert sum(line.startswith("| without ") for line in LISTS["inputs"]()) == len(LACKS)
    assert "| `bytes` | BIGINT | size of the capture |" in LISTS["store"]()


def test_tables_of_accuracy_have_a_row_for_each_board_and_kernel():
    assert sum(line.startswith("| arm64 | 7.2") for line in LISTS["kernels"]()) == 1
    assert sum(line.startswith("| arm64 | 7.2") for line in LISTS["judged"]()) == 1
    assert sum(line.startswith("| 7.2 | aarch64 |") for line in LISTS["compared"]()) == 1


def test_the_printed_boot_script_is_the_one_that_foreread_writes():
    script = boot_script.script_of(boot_script.PLAN)
    assert boot_script.EXAMPLE.read_text() == script, "type: python -m docs.tools.boot_script"
    assert script.count("\n") <= 300


def test_the_picture_of_the_imports_has_the_contracts():
    assert imports.IMAGE.read_text() == imports.picture(), "type: python -m docs.tools.imports"
    assert all(f">{room}</text>" in imports.picture() for room in ("studies", "cli", "ingest"))


def test_each_command_has_a_manual_with_its_options():
    found = manuals()
    assert {f"foreread {name}" for name in COMMANDS} <= set(found)
    assert "foreread boards start" in found
    words = [a.words for g in found["foreread record"].groups for a in g.arguments]
    assert ("-o CAPTURE", "--output CAPTURE") in words
    assert ("COMMAND",) in words
    assert ("--backend {auto,tracefs,trace-cmd,perf}",) in words


def test_each_command_has_a_page_with_its_options():
    pages = (ROOT / "docs/reference/commands").glob("*.md")
    shown = re.findall(r"\{foreread-command\} (.+)", "".join(p.read_text() for p in pages))
    assert sorted(shown) == sorted(manuals())


def test_roff_sees_no_command_in_text():
    assert man.escape(".SH -o \\n") == "\\&.SH \\-o \\en"
    assert man.escape("'quoted' …") == "\\&'quoted' \\[u2026]"


def test_help_becomes_markdown_without_emphasis_or_links():
    lines = options.command_lines(manuals()["foreread tune"])
    assert "````{option} --repeats MIN:MAX" in lines
    assert options.escaped("reader[:FILE] *") == "reader\\[:FILE\\] \\*"


def test_a_schema_becomes_tables():
    schema = {
        "$ref": "#/$defs/Sweep",
        "$defs": {
            "Sweep": {
                "description": "One sweep.",
                "type": "object",
                "properties": {
                    "schema": {"const": 1},
                    "points": {"type": "array", "items": {"$ref": "#/$defs/Point"}},
                    "kernel": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                    "seconds": {"type": "array", "items": {"type": ["number", "null"]}},
                },
                "required": ["schema", "points"],
            },
            "Point": {"type": "object", "properties": {"seconds": {"type": "number"}}},
        },
    }
    lines = schemas.schema_lines(schema)
    assert "| `schema` | `1` |  |" in lines
    assert "| `points` | list of Point |  |" in lines
    assert "| `kernel` | text or null (optional) |  |" in lines
    assert "| `seconds` | list of (number or null) (optional) |  |" in lines
    assert lines.index("**Sweep**") < lines.index("**Point**")


def test_of_several_documents_each_comes_before_what_they_hold():
    names = ["Part", "Written", "Removed"]
    schema = {
        "oneOf": [{"$ref": "#/$defs/Written"}, {"$ref": "#/$defs/Removed"}],
        "$defs": {name: {"type": "object", "properties": {}} for name in names},
    }
    lines = schemas.schema_lines(schema)
    assert lines[0] == "One of: Written, Removed."
    assert [line for line in lines if line.startswith("**")] == [
        "**Written**",
        "**Removed**",
        "**Part**",
    ]


@pytest.mark.parametrize("name", further(transcripts.PAGES, NOW))
def test_commands_in_the_documentation_print_what_it_shows(name):
    page = (ROOT / name).read_text()
    assert transcripts.refreshed(page) == page, "type: python -m docs.tools.transcripts"


def test_a_command_of_the_documentation_that_fails_is_an_error():
    with pytest.raises(transcripts.TranscriptError, match="exit code 3"):
        transcripts.refreshed("```console\n$ exit 3\n```\n")
