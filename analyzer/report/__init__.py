"""The board report: HTML, PDF and PNG."""
