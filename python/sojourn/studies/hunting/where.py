"""The condition of a hunt: `p99(sojourn) > 10 * target`, in terms of our tables and of scenario files.

It is parsed as Python, restricted to comparisons, arithmetic, `and`, `or` and `not`. Every number has a unit, and
incompatible comparisons are rejected before anything runs.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isnan, log

from sojourn.base.errors import InputError
from sojourn.base.inputs import MAX_DEPTH
from sojourn.studies.hunting.words import Runs, Term, Vocabulary

EXAMPLE = '"p99(sojourn) > 10 * target" or "goodput(B) < 0.8 * goodput(A)"'


@dataclass(frozen=True)
class Comparison:
    """A comparison of two terms."""

    text: str
    left: Term
    right: Term
    greater: bool
    strict: bool

    def margin(self, runs: Runs) -> float:
        """Margin by which the comparison is true: positive if it is.

        The logarithm of the ratio of both sides if these are positive. NaN on either side, such as the delay without
        packets, makes it false.
        """
        left, right = self.left.value(runs), self.right.value(runs)
        if isnan(left) or isnan(right):
            return -inf
        large, small = (left, right) if self.greater else (right, left)
        if large == small:
            return -TINY if self.strict else TINY
        if large > 0 and small > 0:
            return log(large / small)
        # No ratio exists for values of zero or less: use the difference, relative to the size of both.
        return (large - small) / max(abs(large), abs(small))

    def sides(self, runs: Runs) -> tuple[float, float]:
        """Values of both sides."""
        return self.left.value(runs), self.right.value(runs)


MAX_SHOWN = 200
"""Maximum characters of a condition shown in an error."""
TINY = 1e-12
"""Margin of equal sides."""


@dataclass(frozen=True)
class Condition:
    """The condition that a scenario must satisfy."""

    text: str
    comparisons: tuple[Comparison, ...]
    margin: Callable[[Runs], float]
    """Margin by which it is true; positive if it is."""


def parse_condition(text: str, words: Vocabulary) -> Condition:
    """Parse a condition; `words` resolves its names. Raises `InputError` if it is invalid."""
    try:
        tree = ast.parse(_as_python(text.strip()), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise InputError(f'--where: "{_short(text)}" is not a condition; write e.g. {EXAMPLE}') from None
    if _is_deeper(tree, MAX_DEPTH):
        raise InputError(f'--where: "{_short(text)}" is nested more than {MAX_DEPTH} deep; write a shorter condition')
    found: list[Comparison] = []
    margin = _truth(tree, words, found)
    return Condition(text.strip(), tuple(found), margin)


def _is_deeper(tree: ast.expr, most: int) -> bool:
    """Whether expressions are nested deeper than `most`."""
    level: list[ast.AST] = [tree]
    for _ in range(most):
        level = [child for node in level for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return bool(level)


def _short(text: str) -> str:
    """Start of a condition, for an error."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _truth(node: ast.expr, words: Vocabulary, found: list[Comparison]) -> Callable[[Runs], float]:
    """Margin function of an expression; appends every comparison in it to `found`."""
    if isinstance(node, ast.BoolOp):
        parts = [_truth(one, words, found) for one in node.values]
        choose = min if isinstance(node.op, ast.And) else max
        return lambda runs: choose(part(runs) for part in parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _truth(node.operand, words, found)
        return lambda runs: -inner(runs)
    if not isinstance(node, ast.Compare):
        raise InputError(f'--where: "{_shown(node)}" is neither true nor false; compare it, e.g. {EXAMPLE}')
    pairs = list(_comparisons(node, words))
    found += pairs
    return lambda runs: min(pair.margin(runs) for pair in pairs)


def _comparisons(node: ast.Compare, words: Vocabulary) -> Iterator[Comparison]:
    terms = [_term(one, words) for one in (node.left, *node.comparators)]
    for left, kind, right in zip(terms, node.ops, terms[1:], strict=False):
        if type(kind) not in SIGNS:
            raise InputError(f'--where: "{_shown(node)}": compare with >, >=, < or <=')
        sign, greater, strict = SIGNS[type(kind)]
        _same_unit(left, sign, right)
        yield Comparison(f"{left.text} {sign} {right.text}", left, right, greater, strict)


def _term(node: ast.expr, words: Vocabulary) -> Term:
    """A number with its unit."""
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        return _combined(_term(node.left, words), type(node.op), _term(node.right, words), _shown(node))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _term(node.operand, words)
        return Term(_shown(node), inner.unit, lambda runs: -inner.value(runs))
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return _constant(_shown(node), "", float(node.value))
    if isinstance(node, ast.Name):
        return words.plain(node.id)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id == _QUANTITY:
            text = str(_string(node))
            return _constant(text, *words.quantity(text))
        if node.func.id == _KEY:
            return words.key(str(_string(node)))
        return words.about(_shown(node), node.func.id, [_argument(one) for one in node.args])
    raise InputError(f'--where: "{_shown(node)}" is not a number; write e.g. {EXAMPLE}')


def _combined(left: Term, kind: type[ast.operator], right: Term, text: str) -> Term:
    sign, calculate = ARITHMETIC[kind]
    if sign in "+-":
        _same_unit(left, sign, right)
        unit = left.unit
    elif sign == "*" and not (left.unit and right.unit):
        unit = left.unit or right.unit
    elif sign == "/" and right.unit in ("", left.unit):
        unit = "" if right.unit else left.unit
    else:
        raise InputError(f'--where: "{text}": {left.unit or "a number"} {sign} {right.unit} is not a supported unit')
    return Term(text, unit, lambda runs: calculate(left.value(runs), right.value(runs)))


def _divide(left: float, right: float) -> float:
    return left / right if right else float("nan")


def _same_unit(left: Term, sign: str, right: Term) -> None:
    if left.unit != right.unit:
        about = [f"{one.text} is {f'in {one.unit}' if one.unit else 'a plain number'}" for one in (left, right)]
        raise InputError(f'--where: "{left.text} {sign} {right.text}": {about[0]}, {about[1]}; write both in one unit')


def _constant(text: str, unit: str, number: float) -> Term:
    return Term(text, unit, lambda _runs: number)


def _argument(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _KEY:
        return _string(node)
    raise InputError(f'--where: "{_shown(node)}" is not a name; write e.g. p99(sojourn, B) or goodput(flows.0)')


def _string(node: ast.Call) -> str:
    [value] = node.args
    assert isinstance(value, ast.Constant)
    return str(value.value)


def _as_python(text: str) -> str:
    """Rewrite quantities, dotted keys and quantiles such as p99.9 so that Python can parse them."""
    text = _PATH.sub(lambda match: f'{_KEY}("{match[0]}")', text)
    text = _NUMBER.sub(lambda match: f'{_QUANTITY}("{match[1]} {match[2]}")', text)
    return _FINE.sub(r"p\1_\2(", text)


def _shown(node: ast.expr) -> str:
    """Original text of a part of the condition."""
    text = ast.unparse(node)
    text = re.sub(rf"(?:{_QUANTITY}|{_KEY})\('([^']*)'\)", r"\1", text)
    return re.sub(r"\bp(\d+)_(\d+)\(", r"p\1.\2(", text)


_QUANTITY, _KEY = "_quantity", "_key"
_PATH = re.compile(r"\b(?:link|reverse|links|flows)(?:\.\w+)+")
_NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*([kMG]?bit/s|[num]?s|min|[kMG]?B|[KMG]iB|packets?|%)(?![\w/])")
_FINE = re.compile(r"\bp(\d+)\.(\d+)\(")
SIGNS: Mapping[type[ast.cmpop], tuple[str, bool, bool]] = {
    ast.Gt: (">", True, True),
    ast.GtE: (">=", True, False),
    ast.Lt: ("<", False, True),
    ast.LtE: ("<=", False, False),
}
"""Text, whether the left side must be greater, and whether the comparison is strict."""
ARITHMETIC: Mapping[type[ast.operator], tuple[str, Callable[[float, float], float]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", _divide),
}
