"""`python -m driftwise.cli`."""

from driftwise.cli import main

main()
