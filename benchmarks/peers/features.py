"""What each library can do, and what shows it: ``python -m benchmarks.peers.features`` checks all and prints the table.

A tick of ours is a test; the check finds it by its name. A tick of a peer is a name of its public interface, resolved
by import in the peer's own environment (``module:name``, or ``module:name(parameter)``), or words of a command line
that Vowpal Wabbit accepts. The check fails, with exit code 1, where one of them is missing. A dot is what we did not
find in a library's interface.

The same file runs in the environments of the peers: ``features.py NAME ...`` prints those that cannot be resolved.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = "driftwise"
PEERS = (
    *("smpybandits", "pymab", "river", "mabwiser", "bayesianbandits"),
    *("contextualbandits", "vowpalwabbit", "obp", "markovianbandit"),
)

#: By feature, then by library, what shows that the library has it.
FEATURES: dict[str, dict[str, str]] = {
    "sliding windows or discounts": {
        OURS: "tests/families/multi_armed/test_twins_agree.py::test_policy_agrees_with_its_twin",
        "smpybandits": "SMPyBandits.Policies:SWUCB",
        "pymab": "pymab.policies:SlidingWindowUCBPolicy",
        "river": "river.bandit:LinUCBDisjoint(smoothing)",
        "bayesianbandits": "bayesianbandits:StabilizedForgetting",
        "vowpalwabbit": "--cb_explore_adf --power_t 0",
    },
    "policies that test for a change": {
        OURS: "tests/families/multi_armed/test_change_detection.py::test_an_alarm_restarts_the_arm_or_all_arms",
        "smpybandits": "SMPyBandits.Policies:BernoulliGLR_IndexPolicy",
        "pymab": "pymab.policies:PageHinkleyUCBPolicy",
    },
    "the speed of drift is learned, nothing to set": {
        OURS: "tests/families/multi_armed/test_filter_bank_ucb.py::test_it_learns_with_nothing_set",
    },
    "drift in a log or stream: whether, and when": {
        OURS: "tests/evaluate/test_diagnosis.py::test_steps_are_found_and_dated",
        "river": "river.drift:ADWIN",
    },
    "off-policy evaluation": {
        OURS: "tests/evaluate/test_evaluate.py::test_intervals_have_the_truth_of_fixed_policies",
        "pymab": "pymab:estimate_policy_value",
        "river": "river.bandit:evaluate_offline",
        "mabwiser": "mabwiser.simulator:Simulator",
        "contextualbandits": "contextualbandits.evaluation:evaluateDoublyRobust",
        "vowpalwabbit": "--cb_adf --cb_type dr",
        "obp": "obp.ope.estimators:DoublyRobust",
    },
    "estimators with shrinkage": {
        "obp": "obp.ope.estimators:DoublyRobustWithShrinkage",
    },
    "estimators for slates": {
        "obp": "obp.ope.estimators_slate:SlateStandardIPS",
    },
    "late, lost and repeated rewards, by decision": {
        OURS: "tests/families/multi_armed/test_pending.py::"
        "test_policy_agrees_with_its_twin_while_rewards_are_under_way",
    },
    "resume bit for bit, pending decisions included": {
        OURS: "tests/agent/test_agent.py::test_resume_with_named_arms_pending_and_counters",
    },
    "a model file of its own, no pickle": {
        OURS: "tests/families/composite/test_auto.py::test_an_agent_of_auto_is_saved_as_the_policy_that_plays",
        "vowpalwabbit": "vowpalwabbit:Workspace.save",
    },
    "budgets that are never overspent": {
        OURS: "tests/families/knapsack/test_overspending.py::test_nothing_is_ever_overspent",
    },
    "Whittle indices of known arms": {
        OURS: "tests/families/restless/test_whittle.py::test_as_the_reference_library_publishes",
        "markovianbandit": "markovianbandit.whittle_computation:compute_whittle_indices",
    },
    "restless arms whose transitions are learned": {
        OURS: "tests/families/restless/test_index_policies.py::test_what_a_user_gets_beats_taking_turns",
    },
    "several items at once": {
        OURS: "tests/families/slate/test_slates.py::test_takes_the_largest_and_among_equals_the_lowest",
        "bayesianbandits": "bayesianbandits:Agent.pull(top_k)",
        "contextualbandits": "contextualbandits.online:LinUCB.topN",
        "vowpalwabbit": "--ccb_explore_adf",
    },
    "contexts, linear": {
        OURS: "tests/families/contextual/test_agent.py::test_a_context_multiplies_the_features_of_an_arm",
        "pymab": "pymab.policies:LinUCBPolicy",
        "river": "river.bandit:LinUCBDisjoint",
        "mabwiser": "mabwiser.mab:LearningPolicy.LinUCB",
        "bayesianbandits": "bayesianbandits:ContextualAgent",
        "contextualbandits": "contextualbandits.online:LinUCB",
        "vowpalwabbit": "--cb_explore_adf -q sa",
    },
    "contexts, Gaussian processes": {
        OURS: "tests/families/contextual/test_gp.py::test_agrees_with_its_twin_whatever_rewards_do",
    },
    "contexts, trees, neighbours or any classifier": {
        "mabwiser": "mabwiser.mab:NeighborhoodPolicy.TreeBandit",
        "contextualbandits": "contextualbandits.online:BootstrappedUCB",
        "vowpalwabbit": "--cb_explore_adf --nn 3",
    },
    "many posteriors: gamma, GLM, empirical Bayes": {
        "bayesianbandits": "bayesianbandits:EmpiricalBayesGLM",
    },
    "hashed or sparse features, millions of them": {
        "bayesianbandits": "bayesianbandits:NormalRegressor(sparse)",
        "vowpalwabbit": "--cb_explore_adf -b 20",
    },
    "continuous actions from a context": {
        "vowpalwabbit": "--cats 4 --min_value 0 --max_value 1 --bandwidth 1",
    },
    "several players, collisions": {
        "smpybandits": "SMPyBandits.PoliciesMultiPlayers:rhoRand",
    },
    "best arm, found and proven": {
        "smpybandits": "SMPyBandits.Policies:SuccessiveElimination",
        "pymab": "pymab.policies:SuccessiveEliminationPolicy",
    },
    "decisions over HTTP": {
        OURS: "tests/service/test_service.py::test_decide_learn_explain",
    },
    "durable after kill -9": {
        OURS: "tests/service/test_crashes.py::test_kill_nine_under_load",
    },
    "several processes over one store, with takeovers": {
        OURS: "tests/service/test_members.py::test_takeovers_under_load",
    },
    "shadow policies, estimated and promoted": {
        OURS: "tests/service/test_shadows.py::test_a_promotion_is_a_change_of_policy_without_the_replay",
    },
    "Gymnasium environments": {
        OURS: "tests/adapters/test_gymnasium.py::test_every_world_of_a_family_is_an_environment",
        "river": "river.bandit.envs:GYM_INSTALLED",  # its environments appear where Gymnasium is installed
    },
    "drifting worlds to simulate": {
        OURS: "tests/families/multi_armed/test_worlds.py::test_blocks_join_to_the_same_bits",
        "smpybandits": "SMPyBandits.Environment:NonStationaryMAB",
        "pymab": "pymab:AbruptShift",
    },
    "whole simulations in compiled code": {
        OURS: "tests/benchmarks/test_c_twins.py::test_same_choices_and_rewards",
        "pymab": "pymab:Experiment",
    },
    "studies on several machines": {
        OURS: "tests/study/test_cluster.py::test_processes_of_this_machine_give_the_same_results",
    },
    "papers reproduced, with verdicts that can fail": {
        OURS: "tests/papers/test_contract.py::test_every_claim_can_fail",
    },
}


def table() -> str:
    """The features as a table in Markdown."""
    head = [f"| | {' | '.join((OURS, *PEERS))} |", "|---|" + ":-:|" * (1 + len(PEERS))]
    rows = [
        f"| {feature} | " + " | ".join("✓" if name in shown else "·" for name in (OURS, *PEERS)) + " |"
        for feature, shown in FEATURES.items()
    ]
    return "\n".join([*head, *rows]) + "\n"


def missing_tests() -> list[str]:
    """Ticks of ours whose test is not there."""
    return [shown[OURS] for shown in FEATURES.values() if OURS in shown and not _has_test(shown[OURS])]


def _has_test(name: str) -> bool:
    file, _, function = name.partition("::")
    path = ROOT / file
    return path.exists() and f"def {function}(" in path.read_text(encoding="utf-8")


def names_of(peer: str) -> list[str]:
    """What must be resolved in a peer's environment."""
    return [shown[peer] for shown in FEATURES.values() if peer in shown]


def unresolved(names: list[str]) -> list[str]:
    """Those of these names that this environment does not have."""
    return [name for name in names if not _resolves(name)]


def _resolves(name: str) -> bool:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            _resolve(name)
    except Exception:  # whatever a library raises for what it does not have
        return False
    return True


def _resolve(name: str) -> None:
    if name.startswith("--"):
        importlib.import_module("vowpalwabbit").Workspace(f"{name} --quiet").finish()
        return
    module, _, path = name.partition(":")
    if module.startswith("obp.") and "obp" not in sys.modules:
        importlib.import_module("obp_peer").load_estimators()  # its package wants torch, see there
    path, _, parameter = path.removesuffix(")").partition("(")
    found = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if parameter and parameter not in inspect.signature(found).parameters:  # type: ignore[arg-type]
        raise LookupError(parameter)


def missing_names(peer: str) -> list[str]:
    """Names of a peer that its environment does not have."""
    from benchmarks.peers.environments import python_of
    from benchmarks.peers.measure import environment_of_peers

    command = [str(python_of(peer)), str(Path(__file__).resolve()), *names_of(peer)]
    done = subprocess.run(command, env=environment_of_peers(), capture_output=True, text=True, check=True)
    missing: list[str] = json.loads(done.stdout.splitlines()[-1])
    return missing


def _check() -> int:
    """Check every tick, print the table."""
    missing = {OURS: missing_tests()} | {peer: missing_names(peer) for peer in PEERS}
    for library, names in missing.items():
        for name in names:
            print(f"features: {library} has no {name}", file=sys.stderr)
    print(table(), end="")
    return 1 if any(missing.values()) else 0


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(unresolved(sys.argv[1:])))
    else:
        sys.exit(_check())
