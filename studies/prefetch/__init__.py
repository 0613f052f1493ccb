"""Window against prefetch list, measured."""
