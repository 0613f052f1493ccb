"""``python -m foreread``."""

import sys

from foreread.cli.main import main

sys.exit(main())
