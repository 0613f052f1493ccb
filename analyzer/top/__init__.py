"""What a machine reads while somebody watches."""
