"""Finding the source of lambdas that stand inside one another (stage/source.py)."""

import ast

from diptych.stage.source import find


def test_the_innermost_lambda_is_found() -> None:
    outer = lambda x: (lambda y: y + 1)(x) * 2  # noqa: E731
    seen = find(outer.__code__), find(outer.__code__.co_consts[1])
    assert [ast.unparse(s.node) for s in seen] == ["lambda x: (lambda y: y + 1)(x) * 2",
                                                   "lambda y: y + 1"]
