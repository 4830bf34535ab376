"""Primitive classes, ``ops.ReLU()(x)``: the constructor takes attributes, the call takes inputs and
then the attributes that MindSpore passes there. Most are made from the table's primitive column."""

from __future__ import annotations

import functools
from typing import Any

from .. import _core
from .._core import Tensor, op_table
from ..common.parameter import Parameter
from . import basic, composite, layers, place

__all__: list[str] = ["Primitive"]

# Attributes given at the call, by primitive; the others belong to the constructor.
_AT_CALL = {
    "Cast": ("dtype",),
    "CumSum": ("axis",),
    "CumProd": ("dim",),
    "ExpandDims": ("axis",),
    "FillV2": ("shape",),
    "FullLike": (),
    "Gather": ("axis",),
    "GatherD": ("dim",),
    "LinSpace": ("num",),
    "Ones": ("shape", "dtype"),
    "ReduceAll": ("axis",),
    "ReduceAny": ("axis",),
    "ReduceMax": ("axis",),
    "ReduceMean": ("axis",),
    "ReduceMin": ("axis",),
    "ReduceProd": ("axis",),
    "ReduceSum": ("axis",),
    "Reshape": ("shape",),
    "Slice": ("begin", "size"),
    "StridedSlice": ("begin", "end", "strides"),
    "Tile": ("reps",),
    "TopK": ("k",),
    "Transpose": ("input_perm",),
    "UnsortedSegmentSum": ("num_segments",),
    "Zeros": ("shape", "dtype"),
}
# Constructor arguments in MindSpore's order and under its names, where the row has others.
_AT_START = {
    "Concat": ("axis",),
    "Gather": ("batch_dims",),
    "MatMul": ("transpose_a", "transpose_b"),
    "StridedSlice": ("begin_mask", "end_mask"),
}


class Primitive:
    """Base of the classes: an op with its attributes fixed."""

    _op: Any
    _start: tuple[str, ...]  # attributes of the constructor
    _call: tuple[str, ...]  # attributes of the call, after the inputs
    _inputs: int  # -1: a list of tensors, or several

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        if len(args) > len(self._start):
            raise TypeError(f"{name} takes {len(self._start)} settings, {len(args)} were given")
        settings = dict(zip(self._start, args, strict=False))
        for key, value in kwargs.items():
            if key not in self._start:
                known = ", ".join(self._start) or "none"
                raise TypeError(f"{name} has no setting '{key}'; its settings: {known}")
            if key in settings:
                raise TypeError(f"{name}: setting '{key}' is given twice")
            settings[key] = value
        self._settings = settings

    @property
    def name(self) -> str:
        """The class name."""
        return type(self).__name__

    def __call__(self, *args: Any) -> Any:
        op, n = type(self)._op, self._inputs  # read from the class: ops bind to instances
        if n < 0:
            return op(args[0] if isinstance(args[0], tuple | list) else args, **self._settings)
        late = args[n:]
        if len(late) > len(self._call):
            raise TypeError(
                f"{type(self).__name__} takes at most {n + len(self._call)} arguments, "
                f"{len(args)} were given"
            )
        return op(*args[:n], **dict(zip(self._call, late, strict=False)), **self._settings)

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v!r}" for k, v in self._settings.items())
        return f"{type(self).__name__}({settings})"


def _make(name: str, op: Any) -> type:
    inputs = [s for s in op.slots if s[1] in ("tensor", "tensors", "optional", "number")]
    attributes = [s[0] for s in op.slots[len(inputs) :]]
    call = tuple(a for a in _AT_CALL.get(name, ()) if a in attributes)
    start = _AT_START.get(name, tuple(a for a in attributes if a not in call))
    is_list = any(s[1] == "tensors" for s in inputs)
    body = {
        "_op": op,
        "_start": start,
        "_call": call,
        "_inputs": -1 if is_list else len(inputs),
        "__doc__": f"``ops.{op.__name__}`` as a primitive.\n\n{op.summary}",
        "__module__": "diptych.ops",
    }
    return type(name, (Primitive,), body)


for _op in op_table.values():
    if _op.primitive and not _op.hidden:
        globals()[_op.primitive] = _make(_op.primitive, _op)
        __all__.append(_op.primitive)


class _Wrapped(Primitive):
    """A primitive over a Python function: settings go to it by keyword, the call positionally."""

    _function: Any

    def __call__(self, *args: Any) -> Any:
        return type(self)._function(*args, **self._settings)


def wrapped(name: str, target: Any, *start: str) -> type:
    """The primitive class ``name``: arguments named in ``start`` go to its constructor."""
    body = {
        "_function": staticmethod(target),
        "_start": start,
        "__doc__": f"``ops.{target.__name__}`` as a primitive.",
        "__module__": "diptych.ops",
    }
    return type(name, (_Wrapped,), body)


def _wrap(name: str, target: Any, *start: str) -> None:
    globals()[name] = wrapped(name, target, *start)
    __all__.append(name)


def _with_index(name: str) -> Any:
    def run(x: Tensor, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        values, index = op_table[name](x, axis, keep_dims)
        return index, values

    run.__name__ = name
    return run


def _arg(name: str) -> Any:
    def run(x: Tensor, axis: int = -1, output_type: Any = None) -> Tensor:
        kind = _core.int32 if output_type is None else output_type
        return op_table[name](x, axis, False).astype(kind)

    run.__name__ = name
    return run


def _split(x: Tensor, axis: int = 0, output_num: int = 1) -> tuple[Tensor, ...]:
    n = x.shape[axis]
    if output_num <= 0 or n % output_num:
        raise ValueError(f"Split: output_num is {output_num}; it must divide the size {n}")
    return op_table["split"](x, n // output_num, axis)


def one_hot(
    indices: Tensor, depth: int, on_value: Any = 1, off_value: Any = 0, axis: int = -1
) -> Tensor:
    """off_value everywhere but on_value at the index, along a new axis; of on_value's dtype.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.one_hot(ms.Tensor([1, 0]), 3))
    [[0 1 0]
     [1 0 0]]
    """
    if isinstance(on_value, Tensor):
        dtype = on_value.dtype
    else:
        dtype = _core.float32 if isinstance(on_value, float) else _core.int64
    return op_table["one_hot"](indices, depth, float(on_value), float(off_value), axis, dtype)


def _one_hot(
    indices: Tensor, depth: int, on_value: Any, off_value: Any, axis: int = -1
) -> Tensor:
    return one_hot(indices, depth, on_value, off_value, axis)


def _fill(dtype: Any, shape: Any, value: Any) -> Tensor:
    return op_table["cast"](op_table["full"](shape, value), dtype)


def _conv2d(
    x: Tensor, weight: Tensor, out_channel: int = 0, kernel_size: Any = 0, mode: int = 1,
    pad_mode: str = "valid", pad: Any = 0, stride: Any = 1, dilation: Any = 1, group: int = 1,
) -> Tensor:
    if mode != 1:
        raise ValueError(f"Conv2D: mode is {mode}; only 1 (cross-correlation) exists")
    if out_channel and weight.shape[0] != out_channel:
        raise ValueError(f"Conv2D: out_channel is {out_channel}, the weight has {weight.shape[0]}")
    return layers.conv2d(x, weight, None, stride, pad_mode, pad, dilation, group)


def _conv2d_transpose(
    x: Tensor, weight: Tensor, input_size: Any = None, out_channel: int = 0, kernel_size: Any = 0,
    pad_mode: str = "valid", pad: Any = 0, stride: Any = 1, dilation: Any = 1, group: int = 1,
) -> Tensor:
    if pad_mode == "same":
        raise NotImplementedError("Conv2DTranspose: pad_mode 'same'; give 'pad' and the numbers")
    return layers.conv2d_transpose(
        x, weight, None, stride, pad if pad_mode == "pad" else 0, 0, group, dilation
    )


def _dense(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.ndim != 1:
        return op_table["dense"](x, weight, bias)
    bias = None if bias is None else bias.reshape((1,))
    return op_table["squeeze"](op_table["dense"](x, weight.expand_dims(0), bias), -1)


def _conv2d_input(
    dout: Tensor, weight: Tensor, input_size: Any, out_channel: int = 0, kernel_size: Any = 0,
    pad_mode: str = "valid", pad: Any = 0, pad_list: Any = None, mode: int = 1, stride: Any = 1,
    dilation: Any = 1, group: int = 1,
) -> Tensor:
    op = "Conv2DBackpropInput"
    if mode != 1:
        raise ValueError(f"{op}: mode is {mode}; only 1 (cross-correlation) exists")
    if len(input_size) != 4 or weight.ndim != 4:
        raise ValueError(
            f"{op}: input_size is {input_size}, weight has shape {weight.shape}; both must have 4 "
            "sizes"
        )
    sizes = tuple(input_size)[2:]
    pads = pad if pad_list is None else pad_list
    cut = layers.padding_of(op, pad_mode, pads, sizes, weight.shape[2:], stride, dilation)
    return op_table["conv_input_grad"](dout, weight, stride, cut, dilation, group, sizes)


def _batch_norm(
    x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor,
    is_training: bool = False, epsilon: float = 1e-5, momentum: float = 0.1,
) -> tuple[Tensor, ...]:
    if not is_training:
        out = op_table["batch_norm_infer"](x, mean, variance, scale, bias, epsilon)
        return out, mean, variance, mean, variance
    out, batch_mean, batch_variance = op_table["batch_norm_train"](x, scale, bias, epsilon)
    layers.move_statistics(x, mean, variance, batch_mean, batch_variance, momentum)
    return out, batch_mean, batch_variance, batch_mean, batch_variance


def _pad(x: Tensor, paddings: Any) -> Tensor:
    if len(paddings) != x.ndim:
        raise ValueError(f"Pad: {len(paddings)} pairs for a tensor of {x.ndim} axes")
    return op_table["pad"](x, [n for pair in reversed(paddings) for n in pair])


def _resize(mode: str) -> Any:
    def run(
        x: Tensor, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
    ) -> Tensor:
        if mode == "bilinear" and not (align_corners or half_pixel_centers):
            raise NotImplementedError(
                "ResizeBilinear: coordinates without half_pixel_centers or align_corners"
            )
        return op_table["interpolate"](x, tuple(size), mode, align_corners)

    run.__name__ = "interpolate"
    return run


def _grid_sampler(
    input_x: Tensor, grid: Tensor, interpolation_mode: str = "bilinear",
    padding_mode: str = "zeros", align_corners: bool = False,
) -> Tensor:
    return op_table["grid_sample"](input_x, grid, interpolation_mode, padding_mode, align_corners)


def _embedding_lookup(input_params: Tensor, input_indices: Tensor, offset: int) -> Tensor:
    """Rows input_indices - offset; zeros where there is no such row."""
    rows, n = input_indices - offset, input_params.shape[0]
    inside = op_table["logical_and"](rows >= 0, rows < n)
    found = op_table["gather"](input_params, op_table["clamp"](rows, 0, n - 1), 0)
    mask = inside.reshape((*inside.shape, *(1,) * (input_params.ndim - 1)))
    return op_table["where"](mask, found, op_table["zeros_like"](found))


def _einsum(inputs: Any, equation: str) -> Tensor:
    return op_table["einsum"](inputs, equation)


def _partial(func: Any, *args: Any) -> Any:
    return functools.partial(func, *args)


def _sparse_cross_entropy(logits: Tensor, labels: Tensor, is_grad: bool = False) -> Tensor:
    return composite.sparse_softmax_cross_entropy_with_logits(logits, labels, is_grad)


def _softmax_cross_entropy(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    loss = composite.softmax_cross_entropy_with_logits(logits, labels)
    return loss, op_table["softmax"](logits) - labels


def _to_tensor(x: Any, dtype: Any = None) -> Tensor:
    return Tensor(x, dtype)


def _inverse_permutation(x: Any) -> tuple[int, ...]:
    return tuple(sorted(range(len(x)), key=list(x).__getitem__))


def _l2_loss(x: Tensor) -> Tensor:
    return (x * x).sum() / 2


def _dropout(x: Tensor, keep_prob: float = 0.5, Seed0: int = 0, Seed1: int = 0) -> Any:
    kept = op_table["dropout"](op_table["ones_like"](_core.copy_object(x)), 1 - keep_prob)
    return x * kept, kept


def _pool(target: Any) -> Any:
    def run(
        x: Tensor, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid",
        data_format: str = "NCHW",
    ) -> Any:
        if data_format != "NCHW":
            raise ValueError(f"data_format is {data_format!r}; only 'NCHW' exists")
        return target(x, kernel_size, strides, pad_mode=pad_mode.lower())

    run.__name__ = target.__name__
    return run


def assign(variable: Parameter, value: Any) -> Parameter:
    """The parameter (or tensor) takes over the value; returns it.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> p = ms.Parameter(ms.Tensor([1.0, 2.0]))
    >>> print(ops.assign(p, ms.Tensor([3.0, 4.0])).value())
    [3. 4.]
    """
    if isinstance(variable, Parameter):
        return variable.set_data(value)
    return _core.repoint(variable, value if isinstance(value, Tensor) else Tensor(value))


def assign_add(variable: Parameter, value: Any) -> Parameter:
    """variable += value; returns it.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> p = ms.Parameter(ms.Tensor([1.0, 2.0]))
    >>> print(ops.assign_add(p, ms.Tensor([3.0, 4.0])).value())
    [4. 6.]
    """
    variable += value
    return variable


def assign_sub(variable: Parameter, value: Any) -> Parameter:
    """variable -= value; returns it.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> p = ms.Parameter(ms.Tensor([1.0, 2.0]))
    >>> print(ops.assign_sub(p, ms.Tensor([3.0, 4.0])).value())
    [-2. -2.]
    """
    variable -= value
    return variable


__all__ += ["assign", "assign_add", "assign_sub", "one_hot"]

_wrap("Assign", assign)
_wrap("AssignAdd", assign_add)
_wrap("AssignSub", assign_sub)
_wrap("Depend", basic.depend)
_wrap("StopGradient", basic.stop_gradient)
_wrap("Identity", basic.identity)
_wrap("Shape", basic.shape)
_wrap("Size", basic.size)
_wrap("Rank", basic.rank)
_wrap("DType", lambda x: x.dtype)
_wrap("Split", _split, "axis", "output_num")
_wrap("OneHot", _one_hot, "axis")
_wrap("Fill", _fill)
_wrap("Argmax", _arg("argmax"), "axis", "output_type")
_wrap("Argmin", _arg("argmin"), "axis", "output_type")
_wrap("ArgMaxWithValue", _with_index("max_with_index"), "axis", "keep_dims")
_wrap("ArgMinWithValue", _with_index("min_with_index"), "axis", "keep_dims")
_wrap("BatchMatMul", op_table["matmul"], "transpose_a", "transpose_b")
_wrap("Conv2D", _conv2d, "out_channel", "kernel_size", "mode", "pad_mode", "pad", "stride",
      "dilation", "group")
_wrap("Dense", _dense)
_wrap("Conv2DBackpropInput", _conv2d_input, "out_channel", "kernel_size", "pad_mode", "pad",
      "pad_list", "mode", "stride", "dilation", "group")
_wrap("MaxPool", _pool(layers.max_pool2d), "kernel_size", "strides", "pad_mode", "data_format")
_wrap("AvgPool", _pool(layers.avg_pool2d), "kernel_size", "strides", "pad_mode", "data_format")
_wrap("Pad", _pad, "paddings")
_wrap("Conv2DTranspose", _conv2d_transpose, "out_channel", "kernel_size", "pad_mode", "pad",
      "stride", "dilation", "group")
_wrap("BatchNorm", _batch_norm, "is_training", "epsilon", "momentum")
_wrap("BiasAdd", composite.bias_add, "data_format")
_wrap("Dropout", _dropout, "keep_prob", "Seed0", "Seed1")
_wrap("SoftmaxCrossEntropyWithLogits", _softmax_cross_entropy)
_wrap("SparseSoftmaxCrossEntropyWithLogits", _sparse_cross_entropy, "is_grad")
_wrap("SigmoidCrossEntropyWithLogits", composite.sigmoid_cross_entropy_with_logits)
_wrap("KLDivLoss", op_table["kl_div"], "reduction")
_wrap("L2Normalize", composite.l2_normalize, "axis", "epsilon")
_wrap("L2Loss", _l2_loss)
_wrap("ResizeBilinear", _resize("bilinear"), "size", "align_corners", "half_pixel_centers")
_wrap("ResizeNearestNeighbor", _resize("nearest"), "size", "align_corners")
_wrap("ResizeBilinearV2", _resize("bilinear"), "align_corners", "half_pixel_centers")
_wrap("AdaptiveAvgPool2D", layers.adaptive_avg_pool2d, "output_size")
_wrap("GridSampler2D", _grid_sampler, "interpolation_mode", "padding_mode", "align_corners")
_wrap("EmbeddingLookup", _embedding_lookup)
_wrap("Einsum", _einsum, "equation")
_wrap("Partial", _partial)
_wrap("AddN", composite.addn)
_wrap("AccumulateNV2", composite.addn)
_wrap("Meshgrid", composite.meshgrid, "indexing")
_wrap("ScatterNdUpdate", place.scatter_nd_update)
_wrap("ScatterUpdate", place.scatter_update)
_wrap("ScatterAdd", place.scatter_add)
_wrap("UnsortedSegmentSum", place.unsorted_segment_sum)
_wrap("Unique", composite.unique)
_wrap("GatherD", composite.gather_d)
_wrap("GeLU", op_table["gelu_tanh"])
_wrap("Elu", op_table["elu"], "alpha")
_wrap("PReLU", op_table["prelu"])
_wrap("Tril", op_table["tril"], "diagonal")
_wrap("Triu", op_table["triu"], "diagonal")
_wrap("TupleToArray", _to_tensor)
_wrap("ScalarToTensor", _to_tensor)
_wrap("ScalarToArray", _to_tensor)
_wrap("ScalarCast", lambda x, dtype: Tensor(x, dtype).item())
_wrap("InvertPermutation", _inverse_permutation)
_wrap("Div", op_table["div"])
_wrap("Mod", op_table["remainder"])
