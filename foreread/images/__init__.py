"""Images of a folder, built and read as a start reads them."""
