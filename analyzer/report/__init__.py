"""The board report: HTML, PDF and PNG. ``make`` and ``write`` import matplotlib."""
