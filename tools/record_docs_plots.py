"""Play the regret curves of the policy pages anew: python tools/record_docs_plots.py [--all] [POLICY ...].

Without arguments it plays policies that docs/plots/policies.json lacks and those whose parameters, world or code have
changed; --all plays every policy. The file is written after each policy, so that it may be interrupted.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.docsite import recorded


def main() -> None:
    """Play what is missing, one policy after the other."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("policies", nargs="*", metavar="POLICY")
    options.add_argument("--all", action="store_true")
    given = options.parse_args()
    curves = {name: curve for name, curve in recorded.read().items() if name in recorded.specs()}
    for spec in given.policies or recorded.specs():
        study = recorded.study_of(spec)
        known = dict(curves.get(spec, {}))
        if given.all or any(known.get(name) != value for name, value in recorded.identity(study).items()):
            curves[spec] = recorded.play(study)
            recorded.write(curves)
            print(f"{spec}: regret {curves[spec]['regret'][-1]:,.1f}", flush=True)
    recorded.write(curves)


if __name__ == "__main__":
    main()
