"""Regrets by world, player and run, in a JSON file: written after every player, and not played again."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from driftwise.core.types import Floats


class RegretFile:
    """Regrets in worlds of one horizon; without a file they are remembered as long as the program runs."""

    def __init__(self, file: Path | None, horizon: int) -> None:
        self._file, self._horizon = file, horizon
        self._known: dict[str, dict[str, list[float]]] = {}
        if file and file.exists():
            document = json.loads(file.read_text(encoding="utf-8"))
            if document["horizon"] != horizon:
                raise ValueError(f"{file} is of horizon {document['horizon']}, not {horizon}; name another file")
            self._known = document["regrets"]

    def of(self, world: str, player: str, runs: int, play: Callable[[], Floats]) -> Floats:
        """By run; `play` is asked when fewer runs are known, and what it returns is written."""
        by_player = self._known.setdefault(world, {})
        if len(by_player.get(player, ())) < runs:
            by_player[player] = play().tolist()
            self._write()
        return np.array(by_player[player][:runs])

    def _write(self) -> None:
        """Replace the file; a reader never sees half of it."""
        if not self._file:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        beside = self._file.with_name(f"{self._file.name}.part")
        document = {"horizon": self._horizon, "regrets": self._known}
        beside.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        beside.replace(self._file)
