"""``python -m foreread``."""

import sys

from foreread.cli import main

sys.exit(main())
