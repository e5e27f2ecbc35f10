"""A study over a grid of parameters: `Study.sweep` makes one, and `dw.run` plays it like any other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product

from driftwise.core.types import with_fields
from driftwise.errors import ParameterError
from driftwise.study.study import Study

MOST = 10_000  # policies in a grid


@dataclass(frozen=True, kw_only=True, repr=False)
class Sweep(Study):
    """A study whose policies are a grid. `grid` has for each label what it has of each parameter.

    `results.summary(sweep)` has a column for each parameter, and its `plot` draws regret by the first one.
    """

    grid: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def parameters_of(self, policy: str) -> Mapping[str, object]:
        """The parameters that were swept; None where a policy does not have one."""
        return self.grid[policy]


def sweep_of(study: Study, parameters: Mapping[str, Sequence[object]]) -> Sweep:
    """Every policy of a study in every combination of the parameters that it has."""
    for name, values in parameters.items():
        _check_values(study, name, values)
    if not parameters:
        raise ParameterError("nothing is swept: name a parameter and its values, such as sweep(window=[100, 1000])")
    policies, grid = {}, {}
    for label, policy in study.policies.items():
        own = [name for name in parameters if name in policy._fields]
        for values in product(*(parameters[name] for name in own)):
            changes = dict(zip(own, values, strict=True))
            text = " ".join([label, *(f"{name}={value}" for name, value in changes.items())])
            policies[text] = with_fields(policy, **changes)
            grid[text] = {name: changes.get(name) for name in parameters}
    if len(policies) > MOST:
        raise ParameterError(f"the grid has {len(policies):,} policies: sweep at most {MOST:,}")
    rest = {each.name: getattr(study, each.name) for each in fields(Study) if each.name != "policies"}
    return Sweep(policies=policies, grid=grid, **rest)


def _check_values(study: Study, name: str, values: object) -> None:
    if isinstance(values, str | bytes) or (not isinstance(values, Sequence | range) and not hasattr(values, "tolist")):
        raise ParameterError(f"{name}={values!r} is not a list of values to try")
    if not len(values):  # type: ignore[arg-type]  # a sequence, or an array
        raise ParameterError(f"{name} has no values to try")
    parameters = dict.fromkeys(each for policy in study.policies.values() for each in policy._fields)
    if name not in parameters:
        options = f"they have {', '.join(parameters)}" if parameters else "they have none"
        raise ParameterError(f"no policy of the study has a parameter {name!r}: {options}")
