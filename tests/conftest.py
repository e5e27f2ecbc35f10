"""Makes `tests.reference` importable: under pytest's importlib mode the repository's root is not on the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
