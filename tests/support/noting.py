"""Record the functions of the package that are called: each records itself, so that no other code gets slower."""

from __future__ import annotations

import ast
import builtins
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

NOTE = "__called__"


class _Noting(ast.NodeTransformer):
    """Lambdas record the function that contains them, as in mutants."""

    def __init__(self, file: str) -> None:
        self.file, self.inside = file, ""

    def _note(self) -> ast.expr:
        call = ast.parse(f"{NOTE}({f'{self.file} {self.inside}'!r})", mode="eval").body
        assert isinstance(call, ast.Call)
        return call

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._within(node, node.name)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        around = self.inside
        self.inside = f"{around}.{node.name}" if around else node.name
        note = ast.fix_missing_locations(ast.copy_location(ast.Expr(self._note()), node.body[0]))
        self.inside = around
        self._within(node, node.name)
        is_told = ast.get_docstring(node, clean=False) is not None
        node.body.insert(1 if is_told else 0, note)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        note = ast.copy_location(self._note(), node.body)
        node.body = ast.fix_missing_locations(ast.copy_location(ast.BoolOp(ast.Or(), [note, node.body]), node.body))
        return node

    def _within(self, node: Any, name: str) -> ast.AST:
        around, self.inside = self.inside, f"{self.inside}.{name}" if self.inside else name
        self.generic_visit(node)
        self.inside = around
        return node  # type: ignore[no-any-return]


def compiled(root: Path) -> dict[str, CodeType]:
    """Compile the files of the package so that each of their functions records itself as `file function`."""
    paths = sorted((root / "branded").rglob("*.py"))
    trees = {str(p): _Noting(str(p.relative_to(root))).visit(ast.parse(p.read_text())) for p in paths}
    return {path: compile(tree, path, "exec", dont_inherit=True) for path, tree in trees.items()}


def install(codes: dict[str, CodeType], called: set[str]) -> None:
    """Import these files from now on, and add the functions that are called."""
    setattr(builtins, NOTE, called.add)
    get_code = SourceFileLoader.get_code

    def noting(self: SourceFileLoader, fullname: str) -> CodeType | None:
        return codes.get(self.path) or get_code(self, fullname)

    SourceFileLoader.get_code = noting  # type: ignore[assignment, method-assign]
