"""The site: `make docs`. It needs no network, and every warning is an error.

The sources are all Markdown files of the tree, so that a page may link to a README or a study's
journal; `docs/index.md` is the front page.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from foreread.version import VERSION  # noqa: E402

project = "foreread"
author = "the foreread authors"
copyright = "the foreread authors"
version = release = VERSION

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "docs.tools.site"]
root_doc = "docs/index"
ROOMS = ["analyzer", "boards", "emulator", "foreread", "tracer", "examples", "bench", "fuzz"]
include_patterns = [
    "docs/**.md",
    "studies/*.md",
    "studies/*/*.md",
    *(f"{room}/**README.md" for room in ROOMS),
    "CONTRIBUTING.md",
]
exclude_patterns = ["build/**", ".venv/**", "docs/README.md"]
exclude_patterns += [f"foreread/{room}/**" for room in ROOMS if room != "foreread"]  # links
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nitpicky = True
smartquotes = False  # two hyphens are an option
# Types that have no page here: of Python and of other packages, which an offline build cannot look
# up, and of the packages that the library uses.
nitpick_ignore_regex = [
    (r"py:.*", r"(collections|contextlib|msgspec|numpy|os|pandas|pathlib|polars|pyarrow)\..*"),
    (r"py:.*", r"(analyzer|boards|emulator|foreread|tracer)\.\w+\..*|_\w+"),
    (r"py:.*", r"(dict|list|tuple)\[.*"),
    (r"py:class", r"StrPath|Axes"),  # foreread.checks: str or os.PathLike; matplotlib's
    (r"py:exc", r"\w+Error|MissingLibrary"),  # the one base class that callers catch has an entry
]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"

html_theme = "furo"
html_title = f"foreread {VERSION}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["extra"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-api-name": "#1c4a8a", "color-api-pre-name": "#1c4a8a"},
    "dark_css_variables": {"color-api-name": "#9ec1f7", "color-api-pre-name": "#9ec1f7"},
}
