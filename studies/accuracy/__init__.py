"""How exact predictions are, cell by cell."""
