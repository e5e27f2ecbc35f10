"""Text for terminals, HTML and small drawings for notebooks, data frames. It needs the standard library only."""
