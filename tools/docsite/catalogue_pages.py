"""A page for every policy, oracle and world, from its docstrings, what is registered of it, and a drawing."""

import sys
from collections.abc import Mapping

import numpy as np

from driftwise.cli.docstrings import parameter_rows, sections_of, text_of
from driftwise.core.family import ANY, FAMILIES, words_of
from driftwise.core.types import About
from driftwise.core.verbs import ABOUT
from driftwise.families import ORACLES, POLICIES, WORLDS
from driftwise.study.plots.drift import drift_of
from driftwise.study.study import Study
from tools.docsite import recorded
from tools.docsite.docstrings import cell, link_pages, markdown, summary_of
from tools.docsite.drawing import Line, chart

Pages = dict[str, str]
TITLES = {
    ANY: "For every problem",
    "multi-armed": "Bare arms",
    "contextual": "Features",
    "slate": "Slates",
    "knapsack": "Budgets",
    "contextual-knapsack": "Budgets and features",
    "convex": "Points of a convex set",
    "restless": "Restless arms",
}
MOST_LINES = 12
WORLD_HORIZON = 2000


def family_of_kind(kind: type) -> str:
    """The family that a class of policies or worlds is registered for."""
    family: str = ABOUT[kind].family if kind in ABOUT else kind().problem().family
    return family


def by_family(table: Mapping[str, type]) -> dict[str, list[str]]:
    """Names by the title of their family, families in the order of TITLES."""
    homes = {name: family_of_kind(kind) for name, kind in table.items()}
    groups = {title: [name for name in table if homes[name] == family] for family, title in TITLES.items()}
    return {title: names for title, names in groups.items() if names}


def policy_pages() -> Pages:
    """A page per policy and oracle, and the list of all."""
    table, curves = POLICIES | ORACLES, recorded.read()
    pages = {f"policies/{name}.md": _policy_page(name, kind, curves) for name, kind in table.items()}
    intro = (
        "What `driftwise policies` lists, a page each: the formula, what the policy must know in advance, its "
        "guarantee, its source, its cost and its regret in one simulated world. When you do not know which to take, "
        "take [`auto`](auto.md), or read [choosing a policy](../choosing.md). Oracles know the world in advance: they "
        "are for comparison only."
    )
    return {"policies/index.md": _list("Policies", intro, table), **pages}


def world_pages() -> Pages:
    """A page per world, and the list of all."""
    pages = {f"worlds/{name}.md": _world_page(name, kind) for name, kind in WORLDS.items()}
    intro = (
        "What `driftwise worlds` lists: simulated worlds that drift, to try policies in. A world draws everything "
        "random before a policy plays, so that all policies of a study meet the same world. "
        "[Write your own](../studies.md#a-world-of-your-own)."
    )
    return {"worlds/index.md": _list("Worlds", intro, WORLDS), **pages}


def _list(title: str, intro: str, table: Mapping[str, type]) -> str:
    lines = [f"# {title}", intro]
    for family, names in by_family(table).items():
        rows = [f"| [`{name}`]({name}.md) | {cell(summary_of(text_of(table[name])))} |" for name in names]
        lines.append("\n".join([f"## {family}\n", "| name | |", "|---|---|", *rows]))
    return "\n\n".join(lines)


def _policy_page(name: str, kind: type, curves: Mapping[str, recorded.Curve]) -> str:
    module, about, oracle = text_of(sys.modules[kind.__module__]), ABOUT[kind], name in ORACLES
    facts = {
        "Family": _family(about.family),
        "Must know in advance": "the world itself" if oracle else cell(about.needs),
        "Guarantee": cell(about.bound) + ("" if about.drifts else "; assumes a world that does not drift"),
        "Source": link_pages(cell(about.paper), 1),
        "Cost": _cost(name, kind, about, curves),
    }
    return "\n\n".join(
        [
            f"# {name}",
            cell(summary_of(text_of(kind))),
            _table(facts),
            _regret_figure(name, about, curves),
            f"## How it works\n\n{markdown(module, 1)}",
            _parameters(kind),
            _usage(name, kind, oracle, about.family),
        ]
    )


def _family(family: str) -> str:
    return "every kind of problem" if family == ANY else f"{family}: chooses {FAMILIES[family].chooses}"


def _simplest(family: str) -> str:
    return recorded.STANDARDS["multi-armed" if family == ANY else family].simplest


def _cost(name: str, kind: type, about: About, curves: Mapping[str, recorded.Curve]) -> str:
    own, simplest = curves[name], _simplest(about.family)
    cost = f"about {own['nanoseconds']:,.0f} ns a round in the simulation below"
    if simplest != name:
        cost += f", {own['nanoseconds'] / curves[simplest]['nanoseconds']:.2g} times `{simplest}`"
    return cost


def _table(facts: Mapping[str, str]) -> str:
    return "\n".join(["| | |", "|---|---|", *(f"| **{name}** | {text} |" for name, text in facts.items())])


def _regret_figure(name: str, about: About, curves: Mapping[str, recorded.Curve]) -> str:
    own, simplest = curves[name], _simplest(about.family)
    words = words_of(recorded.study_of(name).worlds[own["world"]])
    lines = [_line(spec, curves[spec], look) for spec, look in ((simplest, "chart-other"), (name, "chart-main"))]
    lines = lines[1:] if simplest == name else lines
    page, against = own["world"].partition(":")[0], "" if simplest == name else f", against `{simplest}`"
    caption = (
        f"Regret over time in [`{own['world']}`](../worlds/{page}.md), the mean of {own['runs']} runs with default "
        f"parameters{against}. Regret is what {words.comparator} would have earned more; less is better."
    )
    return _figure(chart(lines, title=f"Regret of {name} over time", across="round", up="regret", zero=True), caption)


def _line(spec: str, curve: recorded.Curve, look: str) -> Line:
    step = curve["horizon"] // recorded.POINTS
    return Line(spec, range(0, curve["horizon"] + 1, step), [0.0, *curve["regret"]], look)


def _figure(drawing: str, caption: str) -> str:
    return f'<figure markdown="block">\n{drawing}\n<figcaption markdown="1">{caption}</figcaption>\n</figure>'


def _parameters(kind: type) -> str:
    rest = sections_of(text_of(kind))[0].partition("\n\n")[2]
    rows = [f"| `{name}` | `{default}` | {cell(text)} |" for name, default, text in parameter_rows(kind)]
    table = "\n".join(["| parameter | default | |", "|---|---|---|", *rows]) if rows else "It has no parameters."
    return f"## Parameters\n\n{table}" + (f"\n\n{markdown(rest, 1)}" if rest else "")


def _usage(name: str, kind: type, oracle: bool, family: str) -> str:
    world = recorded.STANDARDS["multi-armed" if family == ANY else family].world
    rival = "" if _simplest(family) == name else f" --policy {_simplest(family)}"
    uses = f'In a program `dw.{kind.__name__}()`, in a deployment `"policy": "{name}"`, and in a study:'
    return _usage_section(
        "Oracles play in studies only:" if oracle else uses,
        f"driftwise simulate --world {world} --policy {name}{rival}",
    )


def _usage_section(sentence: str, command: str) -> str:
    return f"## Use it\n\n{sentence}\n\n```\n{command}\n```"


def _world_page(name: str, kind: type) -> str:
    module, family = text_of(sys.modules[kind.__module__]), family_of_kind(kind)
    sentence = f"In a study `dw.worlds.{kind.__name__}()`, and on the command line:"
    return "\n\n".join(
        [
            f"# {name}",
            cell(summary_of(text_of(kind))),
            _table({"Family": _family(family)}),
            _drift_figure(name, kind),
            f"## What it is\n\n{markdown(module, 1)}",
            _parameters(kind),
            _usage_section(sentence, f"driftwise simulate --world {name} --policy auto"),
        ]
    )


def _drift_figure(name: str, kind: type) -> str:
    world, nobody = kind(), {"auto": POLICIES["auto"]()}
    drift = drift_of(Study(name=name, worlds={name: world}, policies=nobody, horizon=WORLD_HORIZON, runs=1), world)
    count = drift.lines.shape[1]
    shown = range(count) if count <= MOST_LINES else range(0, count, -(-count // MOST_LINES))
    labels = drift.labels if len(shown) <= 5 else [""] * count
    rounds, path = [*drift.rounds.tolist(), WORLD_HORIZON], np.vstack([drift.lines, drift.lines[-1]])
    lines = [
        Line(labels[k], rounds, path[:, k].tolist(), f"chart-{i % 6}", steps=bool(drift.changes))
        for i, k in enumerate(shown)
    ]
    some = "" if len(shown) == count else f", {len(shown)} of {count}"
    what = drift.words.lines[0].upper() + drift.words.lines[1:]
    caption = f"{what}{some}, in one run of {WORLD_HORIZON:,} rounds with default parameters."
    return _figure(chart(lines, title=f"Drift of {name}", across="round", up=""), caption)
