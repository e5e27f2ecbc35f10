"""The sources of the notebooks are run by tests/test_gallery.py, cell by cell; pytest need not import them."""

collect_ignore_glob = ["[a-z]*.py"]
