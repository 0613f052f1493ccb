"""The core as WebAssembly, for pages that recompute in a browser."""
