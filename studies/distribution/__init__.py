"""A distribution's image, before and after order, window and list."""
