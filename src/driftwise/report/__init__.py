"""What every page and figure has in common: the frame of a page, numbers as text, the look of plots."""
