"""The TUNING file: its tables and their rows."""
