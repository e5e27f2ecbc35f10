"""`python -m driftwise.cli`."""

from driftwise.cli import main

if __name__ == "__main__":
    main()
