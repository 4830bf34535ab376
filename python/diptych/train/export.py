"""``export``: the graph that a Cell becomes, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import _core
from .._core import Tensor
from ..nn.cell import Cell
from ..stage.stage import stage

__all__ = ["export"]


def export(net: Cell, *inputs: Any, file_name: str, file_format: str) -> None:
    """Writes the graph of ``net(*inputs)`` to a file, as the text that ``dip-opt`` and
    ``dip_graph_text`` know (docs/graph-mode.md). Lines before it name the parameters among its
    inputs, whose values a checkpoint holds; after the results the graph returns what the call
    leaves in parameters.

    Args:
        net: the Cell.
        inputs: what it is called with; tensors count by dtype and shape.
        file_name: path of the file; ".graph" is appended where it lacks that.
        file_format: "GRAPH"; MindSpore's "MINDIR", "ONNX" and "AIR" do not exist here.

    Raises:
        ValueError: another format. TypeError: net is no Cell. GraphError: it cannot become a graph.

    >>> import diptych as ms, tempfile, os
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "net.graph")
    >>> ms.export(ms.nn.Dense(3, 2), ms.ops.ones((1, 3)), file_name=path, file_format="GRAPH")
    >>> print(open(path).read().splitlines()[0])
    # %2 is the parameter weight
    """
    if file_format != "GRAPH":
        raise ValueError(f"export: file_format is {file_format!r}; it must be 'GRAPH'")
    if not isinstance(net, Cell):
        raise TypeError(f"export: net is of type {type(net).__name__}; it must be a Cell")
    lines: list[str] = []

    def note(graph: Any, _inputs: list[Tensor], _outputs: list[Tensor]) -> list[Tensor]:
        for parameter, _, _ in graph.params():
            number = _core.symbol(graph.entry(parameter)[1])
            lines.append(f"# %{number} is the parameter {parameter.name}")
        return []

    staged = stage(net, inputs, records=False, seal=note)
    path = Path(file_name)
    if path.suffix != ".graph":
        path = path.with_name(path.name + ".graph")
    path.write_text("\n".join([*lines, staged.graph.text()]))
