"""The part of the report that recomputes: what the page embeds, and its script."""
