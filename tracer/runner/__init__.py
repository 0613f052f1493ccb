"""Small static programs for any Linux board, written without a compiler."""
