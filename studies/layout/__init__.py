"""The order, block size and compressor of an image: predicted, and measured on emulated boards."""
