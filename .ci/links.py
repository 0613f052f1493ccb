"""Reports links of the Markdown files that lead nowhere, and pages that code names and nobody has.

usage: links.py [ROOT]

A link to a page is checked with its anchor, as GitHub and the site build it from the heading. Links
to other sites are not followed: lint needs no network.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(*sys.argv[1:2])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
NAMED = re.compile(r"(?<![\w/.])(?:docs|studies)/[\w./-]+\.md\b")
# The first names pages as they were called then, the other has examples.
UNCHECKED = ("CHANGELOG.md", "tests/test_lint.py")


def tracked() -> list[str]:
    """Return the paths of all files of the repository that exist, or of all files without git."""
    command = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    names = listed.stdout.splitlines() if listed.returncode == 0 else _all_files()
    return [name for name in names if (ROOT / name).is_file()]


def _all_files() -> list[str]:
    return [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if ".venv" not in p.parts]


def anchors(text: str) -> set[str]:
    """Return the anchors that the headings of a page get: lower case, blanks as hyphens."""
    names: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        again = 0
        while (name := slug if not again else f"{slug}-{again}") in names:
            again += 1
        names.add(name)
    return names


def broken_links(name: str, text: str) -> list[str]:
    """Return a line for each link of the page that leads to no file or to no heading."""
    errors = []
    for target in LINK.findall(CODE.sub("", FENCE.sub("", text))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        page = (ROOT / name).parent / path if path else ROOT / name
        if not page.exists():
            errors.append(f"{name}: no such file: {target}")
        elif anchor and page.suffix == ".md" and anchor not in anchors(page.read_text()):
            errors.append(f"{name}: no such heading: {target}")
    return errors


def missing_pages(name: str, text: str) -> list[str]:
    """Return a line for each page under docs/ or studies/ that the file names wrongly."""
    named = (page for page in NAMED.findall(text) if "NNN" not in page)
    return [f"{name}: no such page: {page}" for page in named if not (ROOT / page).exists()]


def main() -> int:
    """Print what is broken; return 1 if anything is."""
    errors = []
    for name in tracked():
        if name in UNCHECKED:
            continue
        try:
            text = (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue
        errors += broken_links(name, text) if name.endswith(".md") else []
        errors += missing_pages(name, text)
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
