"""Time the peer libraries: ``python -m benchmarks.peers.measure [PEER ...]`` prints a table.

``measure`` runs one peer's script with the python of that peer's own environment and returns its
JSON document; what is timed, and why it is fair, is said in ``timing.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers import settings
from benchmarks.peers.environments import python_of

#: Few rounds for the slow peers: all cases of one together take less than a minute of processor time.
ROUNDS = {"smpybandits": 4000, "pymab": 10_000, "river": 10_000, "mabwiser": 400, "contextualbandits": 400}


def measure(
    peer: str,
    *,
    rounds: int,
    arms: int = 10,
    window: int = 1000,
    seed: int = 0,
    features: int = settings.FEATURES,
    cases: Sequence[str] = (),
) -> dict[str, Any]:
    """Return ``{"peer", "version", "first_use_seconds", "peak_bytes", "cases": {case: results}}``.

    All cases of the peer, or those named; a result is ``{"ns_per_round", "rounds", "learns", "note"}``.
    """
    numbers = {"rounds": rounds, "arms": arms, "window": window, "seed": seed, "features": features}
    words = [word for name, value in numbers.items() for word in (f"--{name}", str(value))]
    return ask(peer, *words, "--cases", *cases)


def ask(peer: str, *words: str) -> dict[str, Any]:
    """Run the peer's script with these words, in the peer's environment, and return the document it prints."""
    script = Path(__file__).resolve().parent / f"{peer}_peer.py"
    command = [str(python_of(peer)), str(script), *words]
    done = subprocess.run(command, env=environment_of_peers(), capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines()
    if done.returncode != 0:
        tail = "\n".join(lines[-12:])
        raise RuntimeError(f"{script.name} failed (exit code {done.returncode}):\n{tail}")
    for line in lines:
        if line.startswith("peers:"):  # ours; the peers' own warnings are noise
            print(line, file=sys.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def environment_of_peers() -> dict[str, str]:
    """Variables for the process of a peer.

    One thread, because processor time adds up all threads; no PYTHONPATH, because the peer must see only its own
    environment; no window system for the plotting that SMPyBandits imports.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return environment | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}


def _main() -> None:
    parser = argparse.ArgumentParser(description="Time the policies of other bandit libraries.")
    parser.add_argument("peers", nargs="*", metavar="PEER", help=f"of {', '.join(ROUNDS)}")
    parser.add_argument("--rounds", type=int, help="default: " + str(ROUNDS))
    parser.add_argument("--arms", type=int, default=10)
    parser.add_argument("--window", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    peers = options.peers or list(ROUNDS)
    if unknown := set(peers) - set(ROUNDS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(ROUNDS)}")
    print(f"{'peer':<18}{'case':<27}{'us/round':>9}{'rounds':>8}  note")
    for peer in peers:
        document = measure(
            peer,
            rounds=options.rounds or ROUNDS[peer],
            arms=options.arms,
            window=options.window,
            seed=options.seed,
        )
        name = f"{document['peer']} {document['version']}"
        for case, result in document["cases"].items():
            microseconds = result["ns_per_round"] / 1000
            print(
                f"{name:<18}{case:<27}{microseconds:>9.2f}{result['rounds']:>8}  {result['note']}",
                flush=True,
            )


if __name__ == "__main__":
    _main()
