"""The reference of root file systems has the words that reports and doctor use."""

from pathlib import Path

from foreread.boards.stack_words import OF_FILE_SYSTEM, OF_LAYER
from foreread.boards.stacks import WITHOUT, WITHOUT_ON_MTD

PAGE = Path(__file__).parents[2] / "docs/reference/root-file-systems.md"


def test_the_page_quotes_every_sentence():
    page = PAGE.read_text()
    words = [*OF_FILE_SYSTEM.values(), *OF_LAYER.values(), *WITHOUT.values(), WITHOUT_ON_MTD]
    assert [sentence for sentence in words if sentence not in page] == []
