"""Count bare `Any` in the signatures of the package; fail above a limit.

Arguments of kernels do not count: numba finds out their types, and a class of a tape or state is all a reader needs.

    python tools/any_in_signatures.py
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "driftwise"
LIMIT = 0.03  # of all annotations in signatures
WORST = 10  # files to name


def main() -> int:
    """Print the share and the worst files; 1 if the share is above the limit."""
    total = 0
    loose: Counter[str] = Counter()
    for path in sorted(SOURCE.rglob("*.py")):
        annotations = list(annotations_in(ast.parse(path.read_text(encoding="utf-8"))))
        total += len(annotations)
        loose[str(path.relative_to(SOURCE))] = annotations.count("Any")
    share = loose.total() / total
    print(f"Any is {loose.total()} of {total} annotations in signatures, {share:.1%}; the limit is {LIMIT:.0%}")
    if share <= LIMIT:
        return 0
    for name, count in loose.most_common(WORST):
        print(f"{count:5}  {name}")
    return 1


def annotations_in(tree: ast.AST) -> Iterator[str]:
    """The annotations of arguments and results, of all functions that are no kernels."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_kernel(node):
            arguments = node.args
            optional = [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
            for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *optional]:
                if argument.annotation is not None:
                    yield ast.unparse(argument.annotation)
            if node.returns is not None:
                yield ast.unparse(node.returns)


def is_kernel(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is decorated with @kernel or @kernel(...)."""
    return any("kernel" in ast.unparse(decorator) for decorator in function.decorator_list)


if __name__ == "__main__":
    sys.exit(main())
