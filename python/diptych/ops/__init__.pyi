# ruff: noqa
"""Written by tools/stubs.py."""

from collections.abc import Sequence
from typing import Any

from .._core import Tensor, _DTypeLike, _Operand
from .._core import bfloat16 as bfloat16
from .._core import bool_ as bool_
from .._core import complex128 as complex128
from .._core import complex64 as complex64
from .._core import float16 as float16
from .._core import float32 as float32
from .._core import float64 as float64
from .._core import int16 as int16
from .._core import int32 as int32
from .._core import int64 as int64
from .._core import int8 as int8
from .._core import uint16 as uint16
from .._core import uint32 as uint32
from .._core import uint64 as uint64
from .._core import uint8 as uint8
from .algebra import addr as addr
from .algebra import batch_dot as batch_dot
from .algebra import block_diag as block_diag
from .algebra import cdist as cdist
from .algebra import cholesky_inverse as cholesky_inverse
from .algebra import complex as complex
from .algebra import corrcoef as corrcoef
from .algebra import cov as cov
from .algebra import cross as cross
from .algebra import ger as ger
from .algebra import kron as kron
from .algebra import mv as mv
from .algebra import trace as trace
from .algebra import vander as vander
from .arrange import argwhere as argwhere
from .arrange import atleast_1d as atleast_1d
from .arrange import atleast_2d as atleast_2d
from .arrange import atleast_3d as atleast_3d
from .arrange import column_stack as column_stack
from .arrange import diagflat as diagflat
from .arrange import dsplit as dsplit
from .arrange import dstack as dstack
from .arrange import fliplr as fliplr
from .arrange import flipud as flipud
from .arrange import hsplit as hsplit
from .arrange import hstack as hstack
from .arrange import moveaxis as moveaxis
from .arrange import movedim as movedim
from .arrange import msort as msort
from .arrange import ravel as ravel
from .arrange import rot90 as rot90
from .arrange import select_scatter as select_scatter
from .arrange import slice_scatter as slice_scatter
from .arrange import swapdims as swapdims
from .arrange import tril_indices as tril_indices
from .arrange import triu_indices as triu_indices
from .arrange import unique_consecutive as unique_consecutive
from .arrange import vsplit as vsplit
from .arrange import vstack as vstack
from .attention import flash_attention_score as flash_attention_score
from .basic import Print as Print
from .basic import argmax as argmax
from .basic import argmin as argmin
from .basic import bmm as bmm
from .basic import cat as cat
from .basic import clamp as clamp
from .basic import clip as clip
from .basic import clip_by_value as clip_by_value
from .basic import concat as concat
from .basic import control_depend as control_depend
from .basic import depend as depend
from .basic import div as div
from .basic import gelu as gelu
from .basic import grad as grad
from .basic import identity as identity
from .basic import is_tensor as is_tensor
from .basic import jvp as jvp
from .basic import max as max
from .basic import min as min
from .basic import mm as mm
from .basic import norm as norm
from .basic import numel as numel
from .basic import permute as permute
from .basic import print_ as print_
from .basic import promote_types as promote_types
from .basic import rank as rank
from .basic import select as select
from .basic import shape as shape
from .basic import size as size
from .basic import softmax as softmax
from .basic import stop_gradient as stop_gradient
from .basic import tensor_split as tensor_split
from .basic import true_divide as true_divide
from .basic import unbind as unbind
from .basic import unsqueeze as unsqueeze
from .basic import value_and_grad as value_and_grad
from .basic import vjp as vjp
from .basic import where as where
from .composite import GradOperation as GradOperation
from .composite import addbmm as addbmm
from .composite import addcdiv as addcdiv
from .composite import addcmul as addcmul
from .composite import addmm as addmm
from .composite import addmv as addmv
from .composite import addn as addn
from .composite import arange as arange
from .composite import baddbmm as baddbmm
from .composite import bias_add as bias_add
from .composite import clip_by_global_norm as clip_by_global_norm
from .composite import clip_by_norm as clip_by_norm
from .composite import constexpr as constexpr
from .composite import cosine_similarity as cosine_similarity
from .composite import dot as dot
from .composite import einsum as einsum
from .composite import eq as eq
from .composite import fill as fill
from .composite import full as full
from .composite import gather_d as gather_d
from .composite import gather_elements as gather_elements
from .composite import ge as ge
from .composite import gt as gt
from .composite import index_fill as index_fill
from .composite import index_select as index_select
from .composite import inner as inner
from .composite import interpolate as interpolate
from .composite import l2_normalize as l2_normalize
from .composite import le as le
from .composite import lt as lt
from .composite import meshgrid as meshgrid
from .composite import mod as mod
from .composite import ne as ne
from .composite import nonzero as nonzero
from .composite import outer as outer
from .composite import partial as partial
from .composite import repeat_elements as repeat_elements
from .composite import reverse as reverse
from .composite import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from .composite import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from .composite import sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits
from .composite import tensor_dot as tensor_dot
from .composite import tensordot as tensordot
from .composite import unique as unique
from .ctc import CTCGreedyDecoder as CTCGreedyDecoder
from .ctc import CTCLoss as CTCLoss
from .ctc import ctc_greedy_decoder as ctc_greedy_decoder
from .ctc import ctc_loss as ctc_loss
from .detect import AvgPool3D as AvgPool3D
from .detect import BoundingBoxDecode as BoundingBoxDecode
from .detect import BoundingBoxEncode as BoundingBoxEncode
from .detect import CheckValid as CheckValid
from .detect import Conv3D as Conv3D
from .detect import Conv3DTranspose as Conv3DTranspose
from .detect import DataFormatDimMap as DataFormatDimMap
from .detect import Dropout2D as Dropout2D
from .detect import Dropout3D as Dropout3D
from .detect import Invert as Invert
from .detect import LogUniformCandidateSampler as LogUniformCandidateSampler
from .detect import UniformCandidateSampler as UniformCandidateSampler
from .detect import blackman_window as blackman_window
from .detect import bounding_box_decode as bounding_box_decode
from .detect import bounding_box_encode as bounding_box_encode
from .detect import check_valid as check_valid
from .detect import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from .detect import uniform_candidate_sampler as uniform_candidate_sampler
from .layers import adaptive_avg_pool1d as adaptive_avg_pool1d
from .layers import adaptive_avg_pool2d as adaptive_avg_pool2d
from .layers import adaptive_avg_pool3d as adaptive_avg_pool3d
from .layers import adaptive_max_pool1d as adaptive_max_pool1d
from .layers import adaptive_max_pool2d as adaptive_max_pool2d
from .layers import adaptive_max_pool3d as adaptive_max_pool3d
from .layers import avg_pool1d as avg_pool1d
from .layers import avg_pool2d as avg_pool2d
from .layers import avg_pool3d as avg_pool3d
from .layers import batch_norm as batch_norm
from .layers import conv1d as conv1d
from .layers import conv1d_transpose as conv1d_transpose
from .layers import conv2d as conv2d
from .layers import conv2d_transpose as conv2d_transpose
from .layers import conv3d as conv3d
from .layers import conv3d_transpose as conv3d_transpose
from .layers import group_norm as group_norm
from .layers import layer_norm as layer_norm
from .layers import max_pool1d as max_pool1d
from .layers import max_pool2d as max_pool2d
from .layers import max_pool3d as max_pool3d
from .loss import cosine_embedding_loss as cosine_embedding_loss
from .loss import gaussian_nll_loss as gaussian_nll_loss
from .loss import hinge_embedding_loss as hinge_embedding_loss
from .loss import margin_ranking_loss as margin_ranking_loss
from .loss import multi_margin_loss as multi_margin_loss
from .loss import multilabel_margin_loss as multilabel_margin_loss
from .loss import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from .loss import soft_margin_loss as soft_margin_loss
from .loss import triplet_margin_loss as triplet_margin_loss
from .neural import bidense as bidense
from .neural import channel_shuffle as channel_shuffle
from .neural import dropout1d as dropout1d
from .neural import dropout2d as dropout2d
from .neural import dropout3d as dropout3d
from .neural import glu as glu
from .neural import lrn as lrn
from .neural import rrelu as rrelu
from .neural import softmin as softmin
from .numeric import absolute as absolute
from .numeric import allclose as allclose
from .numeric import aminmax as aminmax
from .numeric import approximate_equal as approximate_equal
from .numeric import arccos as arccos
from .numeric import arccosh as arccosh
from .numeric import arcsin as arcsin
from .numeric import arcsinh as arcsinh
from .numeric import arctan as arctan
from .numeric import arctan2 as arctan2
from .numeric import arctanh as arctanh
from .numeric import bincount as bincount
from .numeric import bucketize as bucketize
from .numeric import copysign as copysign
from .numeric import cumprod as cumprod
from .numeric import cumsum as cumsum
from .numeric import deg2rad as deg2rad
from .numeric import diff as diff
from .numeric import divide as divide
from .numeric import float_power as float_power
from .numeric import floor_mod as floor_mod
from .numeric import fmax as fmax
from .numeric import fmin as fmin
from .numeric import frac as frac
from .numeric import gumbel_softmax as gumbel_softmax
from .numeric import heaviside as heaviside
from .numeric import inv as inv
from .numeric import invert as invert
from .numeric import is_floating_point as is_floating_point
from .numeric import isclose as isclose
from .numeric import ldexp as ldexp
from .numeric import logaddexp as logaddexp
from .numeric import logaddexp2 as logaddexp2
from .numeric import logit as logit
from .numeric import multiply as multiply
from .numeric import nan_to_num as nan_to_num
from .numeric import nanquantile as nanquantile
from .numeric import nansum as nansum
from .numeric import negative as negative
from .numeric import polygamma as polygamma
from .numeric import positive as positive
from .numeric import quantile as quantile
from .numeric import rad2deg as rad2deg
from .numeric import renorm as renorm
from .numeric import signbit as signbit
from .numeric import sinc as sinc
from .numeric import std as std
from .numeric import std_mean as std_mean
from .numeric import subtract as subtract
from .numeric import trapz as trapz
from .numeric import var as var
from .numeric import var_mean as var_mean
from .older import Addcdiv as Addcdiv
from .older import Addcmul as Addcmul
from .older import ApproximateEqual as ApproximateEqual
from .older import Cdist as Cdist
from .older import CeLU as CeLU
from .older import CholeskyInverse as CholeskyInverse
from .older import Complex as Complex
from .older import ConjugateTranspose as ConjugateTranspose
from .older import Cross as Cross
from .older import DivNoNan as DivNoNan
from .older import HShrink as HShrink
from .older import Heaviside as Heaviside
from .older import Inv as Inv
from .older import IsClose as IsClose
from .older import MulNoNan as MulNoNan
from .older import NanToNum as NanToNum
from .older import Renorm as Renorm
from .older import Rint as Rint
from .older import Roll as Roll
from .older import ScatterDiv as ScatterDiv
from .older import ScatterMax as ScatterMax
from .older import ScatterMin as ScatterMin
from .older import ScatterMul as ScatterMul
from .older import ScatterNdAdd as ScatterNdAdd
from .older import ScatterSub as ScatterSub
from .older import SoftMarginLoss as SoftMarginLoss
from .older import SoftShrink as SoftShrink
from .older import SquaredDifference as SquaredDifference
from .older import Trace as Trace
from .older import TrilIndices as TrilIndices
from .older import TriuIndices as TriuIndices
from .older import UnsortedSegmentMax as UnsortedSegmentMax
from .older import UnsortedSegmentMin as UnsortedSegmentMin
from .older import UnsortedSegmentProd as UnsortedSegmentProd
from .older import UpdateCache as UpdateCache
from .older import Xdivy as Xdivy
from .older import xdivy as xdivy
from .place import scatter as scatter
from .place import scatter_add as scatter_add
from .place import scatter_div as scatter_div
from .place import scatter_max as scatter_max
from .place import scatter_min as scatter_min
from .place import scatter_mul as scatter_mul
from .place import scatter_nd_add as scatter_nd_add
from .place import scatter_nd_update as scatter_nd_update
from .place import scatter_sub as scatter_sub
from .place import scatter_update as scatter_update
from .place import unsorted_segment_max as unsorted_segment_max
from .place import unsorted_segment_min as unsorted_segment_min
from .place import unsorted_segment_prod as unsorted_segment_prod
from .place import unsorted_segment_sum as unsorted_segment_sum
from .primitive import Primitive as Primitive
from .primitive import assign as assign
from .primitive import assign_add as assign_add
from .primitive import assign_sub as assign_sub
from .primitive import one_hot as one_hot
from .random import bernoulli as bernoulli
from .random import dropout as dropout
from .random import gamma as gamma
from .random import laplace as laplace
from .random import multinomial as multinomial
from .random import normal as normal
from .random import rand as rand
from .random import rand_like as rand_like
from .random import randint as randint
from .random import randint_like as randint_like
from .random import randn as randn
from .random import randn_like as randn_like
from .random import randperm as randperm
from .random import shuffle as shuffle
from .random import standard_laplace as standard_laplace
from .random import standard_normal as standard_normal
from .random import uniform as uniform
from .recurrent import gru as gru
from .recurrent import lstm as lstm
from .recurrent import rnn as rnn
from .recurrent import scaled_dot_product_attention as scaled_dot_product_attention
from .sampling import CropAndResize as CropAndResize
from .sampling import DeformableOffsets as DeformableOffsets
from .sampling import crop_and_resize as crop_and_resize
from .sampling import deformable_conv2d as deformable_conv2d

print = print_

def abs(input: _Operand) -> Tensor: ...
def acos(input: _Operand) -> Tensor: ...
def acosh(input: _Operand) -> Tensor: ...
def adadelta(
    param: _Operand,
    accum: _Operand,
    accum_update: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    rho: _Operand = ...,
    eps: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
) -> tuple[Tensor, Tensor, Tensor]: ...
def adagrad(
    param: _Operand,
    accum: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    eps: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
    update_slots: bool = ...,
) -> tuple[Tensor, Tensor]: ...
def adam(
    param: _Operand,
    m: _Operand,
    v: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    step: _Operand = ...,
    beta1: _Operand = ...,
    beta2: _Operand = ...,
    eps: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
    use_nesterov: bool = ...,
) -> tuple[Tensor, Tensor, Tensor]: ...
def adam_amsgrad(
    param: _Operand,
    m: _Operand,
    v: _Operand,
    vmax: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    step: _Operand = ...,
    beta1: _Operand = ...,
    beta2: _Operand = ...,
    eps: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...
def adam_weight_decay(
    param: _Operand,
    m: _Operand,
    v: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    beta1: _Operand = ...,
    beta2: _Operand = ...,
    eps: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
) -> tuple[Tensor, Tensor, Tensor]: ...
def adamax(
    param: _Operand,
    m: _Operand,
    v: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    step: _Operand = ...,
    beta1: _Operand = ...,
    beta2: _Operand = ...,
    eps: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
) -> tuple[Tensor, Tensor, Tensor]: ...
def adamw(
    param: _Operand,
    m: _Operand,
    v: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    step: _Operand = ...,
    beta1: _Operand = ...,
    beta2: _Operand = ...,
    eps: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
) -> tuple[Tensor, Tensor, Tensor]: ...
def adaptive_avg_pool(input: _Operand, output_size: int | Sequence[int]) -> Tensor: ...
def adaptive_max_pool(
    input: _Operand,
    output_size: int | Sequence[int],
) -> tuple[Tensor, Tensor]: ...
def add(input: _Operand, other: _Operand) -> Tensor: ...
def all(
    input: _Operand,
    axis: int | Sequence[int] | None = ...,
    keep_dims: bool = ...,
) -> Tensor: ...
def amax(
    input: _Operand,
    axis: int | Sequence[int] | None = ...,
    keep_dims: bool = ...,
) -> Tensor: ...
def amin(
    input: _Operand,
    axis: int | Sequence[int] | None = ...,
    keep_dims: bool = ...,
) -> Tensor: ...
def any(
    input: _Operand,
    axis: int | Sequence[int] | None = ...,
    keep_dims: bool = ...,
) -> Tensor: ...
def argsort(input: _Operand, axis: int = ..., descending: bool = ...) -> Tensor: ...
def asgd(
    param: _Operand,
    average: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    step: _Operand = ...,
    lambd: _Operand = ...,
    alpha: _Operand = ...,
    t0: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
) -> tuple[Tensor, Tensor]: ...
def asin(input: _Operand) -> Tensor: ...
def asinh(input: _Operand) -> Tensor: ...
def atan(input: _Operand) -> Tensor: ...
def atan2(input: _Operand, other: _Operand) -> Tensor: ...
def atanh(input: _Operand) -> Tensor: ...
def avg_pool(
    input: _Operand,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = ...,
    padding: int | Sequence[int] = ...,
    ceil_mode: bool = ...,
    count_include_pad: bool = ...,
    divisor_override: int | None = ...,
) -> Tensor: ...
def batch_norm_infer(
    input: _Operand,
    mean: _Operand,
    variance: _Operand,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    epsilon: float = ...,
) -> Tensor: ...
def batch_norm_train(
    input: _Operand,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    epsilon: float = ...,
) -> tuple[Tensor, Tensor, Tensor]: ...
def binary_cross_entropy(
    logits: _Operand,
    labels: _Operand,
    weight: Tensor | None = ...,
    reduction: str = ...,
) -> Tensor: ...
def binary_cross_entropy_with_logits(
    logits: _Operand,
    label: _Operand,
    weight: Tensor | None = ...,
    pos_weight: Tensor | None = ...,
    reduction: str = ...,
) -> Tensor: ...
def bitwise_and(input: _Operand, other: _Operand) -> Tensor: ...
def bitwise_left_shift(input: _Operand, other: _Operand) -> Tensor: ...
def bitwise_not(input: _Operand) -> Tensor: ...
def bitwise_or(input: _Operand, other: _Operand) -> Tensor: ...
def bitwise_right_shift(input: _Operand, other: _Operand) -> Tensor: ...
def bitwise_xor(input: _Operand, other: _Operand) -> Tensor: ...
def broadcast_to(input: _Operand, shape: int | Sequence[int]) -> Tensor: ...
def cast(input: _Operand, dtype: _DTypeLike) -> Tensor: ...
def ceil(input: _Operand) -> Tensor: ...
def celu(input: _Operand, alpha: _Operand = ...) -> Tensor: ...
def cholesky(input_x: _Operand, upper: bool = ...) -> Tensor: ...
def chunk(input: _Operand, chunks: int, axis: int = ...) -> tuple[Tensor, ...]: ...
def conj(input: _Operand) -> Tensor: ...
def contiguous(input: _Operand) -> Tensor: ...
def conv(
    input: _Operand,
    weight: _Operand,
    bias: Tensor | None = ...,
    stride: int | Sequence[int] = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    groups: int = ...,
) -> Tensor: ...
def conv_transpose(
    input: _Operand,
    weight: _Operand,
    bias: Tensor | None = ...,
    stride: int | Sequence[int] = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    groups: int = ...,
    output_padding: int | Sequence[int] = ...,
) -> Tensor: ...
def cos(input: _Operand) -> Tensor: ...
def cosh(input: _Operand) -> Tensor: ...
def count_nonzero(
    input: _Operand,
    axis: int | Sequence[int] | None = ...,
    keep_dims: bool = ...,
) -> Tensor: ...
def cross_entropy(
    input: _Operand,
    target: _Operand,
    weight: Tensor | None = ...,
    ignore_index: int = ...,
    reduction: str = ...,
    label_smoothing: float = ...,
) -> Tensor: ...
def cummax(input: _Operand, axis: int) -> tuple[Tensor, Tensor]: ...
def cummin(input: _Operand, axis: int) -> tuple[Tensor, Tensor]: ...
def dense(input: _Operand, weight: _Operand, bias: Tensor | None = ...) -> Tensor: ...
def depth_to_space(input: _Operand, block_size: int) -> Tensor: ...
def diag(input: _Operand, diagonal: int = ...) -> Tensor: ...
def diag_embed(input: _Operand, offset: int = ..., dim1: int = ..., dim2: int = ...) -> Tensor: ...
def diagonal(input: _Operand, offset: int = ..., dim1: int = ..., dim2: int = ...) -> Tensor: ...
def digamma(input: _Operand) -> Tensor: ...
def elu(input: _Operand, alpha: _Operand = ...) -> Tensor: ...
def embedding(input: _Operand, weight: _Operand, padding_idx: int | None = ...) -> Tensor: ...
def equal(input: _Operand, other: _Operand) -> Tensor: ...
def erf(input: _Operand) -> Tensor: ...
def erfc(input: _Operand) -> Tensor: ...
def erfinv(input: _Operand) -> Tensor: ...
def exp(input: _Operand) -> Tensor: ...
def exp2(input: _Operand) -> Tensor: ...
def expand_dims(input: _Operand, axis: int) -> Tensor: ...
def expm1(input: _Operand) -> Tensor: ...
def exponential(
    shape: int | Sequence[int],
    lambd: float = ...,
    dtype: _DTypeLike = ...,
) -> Tensor: ...
def eye(n: int, m: int | None = ..., dtype: _DTypeLike = ...) -> Tensor: ...
def flash_attention(
    query: _Operand,
    key: _Operand,
    value: _Operand,
    attn_mask: Tensor | None = ...,
    scale: float = ...,
    is_causal: bool = ...,
) -> tuple[Tensor, Tensor]: ...
def flatten(input: _Operand, start_dim: int = ..., end_dim: int = ...) -> Tensor: ...
def flip(input: _Operand, dims: int | Sequence[int]) -> Tensor: ...
def floor(input: _Operand) -> Tensor: ...
def floor_div(input: _Operand, other: _Operand) -> Tensor: ...
def fmod(input: _Operand, other: _Operand) -> Tensor: ...
def fold(
    input: _Operand,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = ...,
    padding: int | Sequence[int] = ...,
    stride: int | Sequence[int] = ...,
) -> Tensor: ...
def ftrl(
    param: _Operand,
    accum: _Operand,
    linear: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    l1: _Operand = ...,
    l2: _Operand = ...,
    lr_power: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
) -> tuple[Tensor, Tensor, Tensor]: ...
def full_like(input: _Operand, fill_value: float, dtype: _DTypeLike | None = ...) -> Tensor: ...
def gather(
    input_params: _Operand,
    input_indices: _Operand,
    axis: int,
    batch_dims: int = ...,
) -> Tensor: ...
def gather_nd(input_x: _Operand, indices: _Operand) -> Tensor: ...
def gelu_erf(input: _Operand) -> Tensor: ...
def gelu_tanh(input: _Operand) -> Tensor: ...
def greater(input: _Operand, other: _Operand) -> Tensor: ...
def greater_equal(input: _Operand, other: _Operand) -> Tensor: ...
def grid_sample(
    input: _Operand,
    grid: _Operand,
    mode: str = ...,
    padding_mode: str = ...,
    align_corners: bool = ...,
) -> Tensor: ...
def hardshrink(input: _Operand, lambd: _Operand = ...) -> Tensor: ...
def hardsigmoid(input: _Operand) -> Tensor: ...
def hardswish(input: _Operand) -> Tensor: ...
def hardtanh(input: _Operand, min_val: _Operand = ..., max_val: _Operand = ...) -> Tensor: ...
def histc(input: _Operand, bins: int = ..., min: float = ..., max: float = ...) -> Tensor: ...
def huber_loss(
    input: _Operand,
    target: _Operand,
    reduction: str = ...,
    delta: float = ...,
) -> Tensor: ...
def hypot(input: _Operand, other: _Operand) -> Tensor: ...
def imag(input: _Operand) -> Tensor: ...
def index_add(x: _Operand, indices: _Operand, y: _Operand, axis: int) -> Tensor: ...
def index_get(
    input: _Operand,
    indices: Sequence[_Operand] | Tensor,
    axes: int | Sequence[int] | None = ...,
) -> Tensor: ...
def index_set(
    input: _Operand,
    value: _Operand,
    indices: Sequence[_Operand] | Tensor,
    axes: int | Sequence[int] | None = ...,
    reduction: str = ...,
) -> Tensor: ...
def instance_norm(
    input: _Operand,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    eps: float = ...,
) -> Tensor: ...
def isfinite(input: _Operand) -> Tensor: ...
def isinf(input: _Operand) -> Tensor: ...
def isnan(input: _Operand) -> Tensor: ...
def kl_div(
    logits: _Operand,
    labels: _Operand,
    reduction: str = ...,
    log_target: bool = ...,
) -> Tensor: ...
def l1_loss(input: _Operand, target: _Operand, reduction: str = ...) -> Tensor: ...
def lamb(
    param: _Operand,
    m: _Operand,
    v: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    step: _Operand = ...,
    beta1: _Operand = ...,
    beta2: _Operand = ...,
    eps: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
) -> tuple[Tensor, Tensor, Tensor]: ...
def leaky_relu(input: _Operand, alpha: _Operand = ...) -> Tensor: ...
def lerp(input: _Operand, end: _Operand, weight: _Operand) -> Tensor: ...
def less(input: _Operand, other: _Operand) -> Tensor: ...
def less_equal(input: _Operand, other: _Operand) -> Tensor: ...
def lgamma(input: _Operand) -> Tensor: ...
def linspace(start: float, end: float, steps: int, dtype: _DTypeLike = ...) -> Tensor: ...
def log(input: _Operand) -> Tensor: ...
def log10(input: _Operand) -> Tensor: ...
def log1p(input: _Operand) -> Tensor: ...
def log2(input: _Operand) -> Tensor: ...
def log_softmax(input: _Operand, axis: int = ...) -> Tensor: ...
def logcumsumexp(input: _Operand, axis: int) -> Tensor: ...
def logical_and(input: _Operand, other: _Operand) -> Tensor: ...
def logical_not(input: _Operand) -> Tensor: ...
def logical_or(input: _Operand, other: _Operand) -> Tensor: ...
def logical_xor(input: _Operand, other: _Operand) -> Tensor: ...
def logsigmoid(input: _Operand) -> Tensor: ...
def logspace(
    start: float,
    end: float,
    steps: int,
    base: float = ...,
    dtype: _DTypeLike = ...,
) -> Tensor: ...
def logsumexp(
    input: _Operand,
    axis: int | Sequence[int] | None = ...,
    keep_dims: bool = ...,
) -> Tensor: ...
def masked_fill(input_x: _Operand, mask: _Operand, value: _Operand) -> Tensor: ...
def masked_scatter(input: _Operand, mask: _Operand, source: _Operand) -> Tensor: ...
def masked_select(input: _Operand, mask: _Operand) -> Tensor: ...
def matmul(
    input: _Operand,
    other: _Operand,
    transpose_a: bool = ...,
    transpose_b: bool = ...,
) -> Tensor: ...
def max_pool(
    input: _Operand,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    ceil_mode: bool = ...,
) -> tuple[Tensor, Tensor]: ...
def max_with_index(
    input: _Operand,
    axis: int | None = ...,
    keep_dims: bool = ...,
) -> tuple[Tensor, Tensor]: ...
def maximum(input: _Operand, other: _Operand) -> Tensor: ...
def mean(
    input: _Operand,
    axis: int | Sequence[int] | None = ...,
    keep_dims: bool = ...,
) -> Tensor: ...
def median(input: _Operand, axis: int = ..., keep_dims: bool = ...) -> tuple[Tensor, Tensor]: ...
def min_with_index(
    input: _Operand,
    axis: int | None = ...,
    keep_dims: bool = ...,
) -> tuple[Tensor, Tensor]: ...
def minimum(input: _Operand, other: _Operand) -> Tensor: ...
def mish(input: _Operand) -> Tensor: ...
def momentum(
    param: _Operand,
    accum: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    momentum: _Operand = ...,
    dampening: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
    use_nesterov: bool = ...,
) -> tuple[Tensor, Tensor]: ...
def mse_loss(input: _Operand, target: _Operand, reduction: str = ...) -> Tensor: ...
def mul(input: _Operand, other: _Operand) -> Tensor: ...
def nadam(
    param: _Operand,
    m: _Operand,
    v: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    step: _Operand = ...,
    beta1: _Operand = ...,
    beta2: _Operand = ...,
    eps: _Operand = ...,
    momentum_decay: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
) -> tuple[Tensor, Tensor, Tensor]: ...
def narrow(input: _Operand, axis: int, start: int, length: int) -> Tensor: ...
def neg(input: _Operand) -> Tensor: ...
def nll_loss(
    input: _Operand,
    target: _Operand,
    weight: Tensor | None = ...,
    ignore_index: int = ...,
    reduction: str = ...,
    label_smoothing: float = ...,
) -> Tensor: ...
def not_equal(input: _Operand, other: _Operand) -> Tensor: ...
def ones(size: int | Sequence[int], dtype: _DTypeLike = ...) -> Tensor: ...
def ones_like(input: _Operand, dtype: _DTypeLike | None = ...) -> Tensor: ...
def pad(
    input_x: _Operand,
    padding: int | Sequence[int],
    mode: str = ...,
    value: float = ...,
) -> Tensor: ...
def pixel_shuffle(input: _Operand, upscale_factor: int) -> Tensor: ...
def pixel_unshuffle(input: _Operand, downscale_factor: int) -> Tensor: ...
def pow(input: _Operand, exponent: _Operand) -> Tensor: ...
def prelu(input: _Operand, weight: _Operand) -> Tensor: ...
def prod(
    input: _Operand,
    axis: int | Sequence[int] | None = ...,
    keep_dims: bool = ...,
    dtype: _DTypeLike | None = ...,
) -> Tensor: ...
def random_gamma(alpha: _Operand, shape: int | Sequence[int] = ...) -> Tensor: ...
def random_poisson(
    rate: _Operand,
    shape: int | Sequence[int] = ...,
    dtype: _DTypeLike = ...,
) -> Tensor: ...
def real(input: _Operand) -> Tensor: ...
def reciprocal(input: _Operand) -> Tensor: ...
def relu(input: _Operand) -> Tensor: ...
def relu6(input: _Operand) -> Tensor: ...
def remainder(input: _Operand, other: _Operand) -> Tensor: ...
def repeat_interleave(input: _Operand, repeats: int, axis: int | None = ...) -> Tensor: ...
def reshape(input: _Operand, shape: int | Sequence[int]) -> Tensor: ...
def resize_axis(
    input: _Operand,
    axis: int,
    size: int,
    mode: str = ...,
    align_corners: bool = ...,
    scale: float = ...,
) -> Tensor: ...
def rms_norm(
    input: _Operand,
    weight: Tensor | None = ...,
    eps: float = ...,
) -> tuple[Tensor, Tensor]: ...
def rmsprop(
    param: _Operand,
    mean_square: _Operand,
    moment: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    decay: _Operand = ...,
    momentum: _Operand = ...,
    eps: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
) -> tuple[Tensor, Tensor, Tensor]: ...
def rmsprop_centered(
    param: _Operand,
    mean_square: _Operand,
    mean: _Operand,
    moment: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    decay: _Operand = ...,
    momentum: _Operand = ...,
    eps: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...
def rnn_layer(
    input: _Operand,
    h0: _Operand,
    w_ih: _Operand,
    w_hh: _Operand,
    b_ih: Tensor | None = ...,
    b_hh: Tensor | None = ...,
    c0: Tensor | None = ...,
    seq_length: Tensor | None = ...,
    mode: str = ...,
    reverse: bool = ...,
) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...
def roll(
    input: _Operand,
    shifts: int | Sequence[int],
    dims: int | Sequence[int] | None = ...,
) -> Tensor: ...
def round(input: _Operand) -> Tensor: ...
def rprop(
    param: _Operand,
    prev: _Operand,
    size: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    step: _Operand = ...,
    eta_minus: _Operand = ...,
    eta_plus: _Operand = ...,
    size_min: _Operand = ...,
    size_max: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
) -> tuple[Tensor, Tensor, Tensor]: ...
def rsqrt(input: _Operand) -> Tensor: ...
def scatter_nd(indices: _Operand, updates: _Operand, shape: int | Sequence[int]) -> Tensor: ...
def searchsorted(sorted_sequence: _Operand, values: _Operand, right: bool = ...) -> Tensor: ...
def selu(input: _Operand) -> Tensor: ...
def sgd(
    param: _Operand,
    grad: _Operand,
    lr: _Operand = ...,
    weight_decay: _Operand = ...,
    grad_scale: _Operand = ...,
) -> Tensor: ...
def sigmoid(input: _Operand) -> Tensor: ...
def sign(input: _Operand) -> Tensor: ...
def silu(input: _Operand) -> Tensor: ...
def sin(input: _Operand) -> Tensor: ...
def sinh(input: _Operand) -> Tensor: ...
def slice(
    input: _Operand,
    begin: int | Sequence[int],
    size: int | Sequence[int],
    step: int | Sequence[int] | None = ...,
    drop: int | Sequence[int] = ...,
) -> Tensor: ...
def slice_set(
    input: _Operand,
    value: _Operand,
    begin: int | Sequence[int],
    size: int | Sequence[int],
    step: int | Sequence[int] | None = ...,
    drop: int | Sequence[int] = ...,
) -> Tensor: ...
def smooth_l1_loss(
    input: _Operand,
    target: _Operand,
    beta: float = ...,
    reduction: str = ...,
) -> Tensor: ...
def softplus(input: _Operand) -> Tensor: ...
def softshrink(input: _Operand, lambd: _Operand = ...) -> Tensor: ...
def softsign(input: _Operand) -> Tensor: ...
def solve_triangular(
    a: _Operand,
    b: _Operand,
    trans: bool = ...,
    lower: bool = ...,
    unit_diagonal: bool = ...,
) -> Tensor: ...
def sort(input_x: _Operand, axis: int = ..., descending: bool = ...) -> tuple[Tensor, Tensor]: ...
def space_to_depth(input: _Operand, block_size: int) -> Tensor: ...
def split(
    tensor: _Operand,
    split_size_or_sections: int | Sequence[int],
    axis: int = ...,
) -> tuple[Tensor, ...]: ...
def sqrt(input: _Operand) -> Tensor: ...
def square(input: _Operand) -> Tensor: ...
def squeeze(input: _Operand, axis: int | Sequence[int] | None = ...) -> Tensor: ...
def stack(tensors: Sequence[_Operand] | Tensor, axis: int = ...) -> Tensor: ...
def strided_slice(
    input: _Operand,
    begin: int | Sequence[int],
    end: int | Sequence[int],
    strides: int | Sequence[int] | None = ...,
    begin_mask: int = ...,
    end_mask: int = ...,
) -> Tensor: ...
def sub(input: _Operand, other: _Operand) -> Tensor: ...
def sum(
    input: _Operand,
    axis: int | Sequence[int] | None = ...,
    keep_dims: bool = ...,
    dtype: _DTypeLike | None = ...,
) -> Tensor: ...
def swapaxes(input: _Operand, axis0: int, axis1: int) -> Tensor: ...
def take(input: _Operand, indices: _Operand, axis: int | None = ...) -> Tensor: ...
def tan(input: _Operand) -> Tensor: ...
def tanh(input: _Operand) -> Tensor: ...
def tanhshrink(input: _Operand) -> Tensor: ...
def tensor_scatter_add(input_x: _Operand, indices: _Operand, updates: _Operand) -> Tensor: ...
def tensor_scatter_div(input_x: _Operand, indices: _Operand, updates: _Operand) -> Tensor: ...
def tensor_scatter_elements(
    input_x: _Operand,
    indices: _Operand,
    updates: _Operand,
    axis: int = ...,
    reduction: str = ...,
) -> Tensor: ...
def tensor_scatter_max(input_x: _Operand, indices: _Operand, updates: _Operand) -> Tensor: ...
def tensor_scatter_min(input_x: _Operand, indices: _Operand, updates: _Operand) -> Tensor: ...
def tensor_scatter_mul(input_x: _Operand, indices: _Operand, updates: _Operand) -> Tensor: ...
def tensor_scatter_sub(input_x: _Operand, indices: _Operand, updates: _Operand) -> Tensor: ...
def tensor_scatter_update(input_x: _Operand, indices: _Operand, updates: _Operand) -> Tensor: ...
def threshold(input: _Operand, threshold: _Operand, value: _Operand) -> Tensor: ...
def tile(input: _Operand, multiples: int | Sequence[int]) -> Tensor: ...
def topk(
    input: _Operand,
    k: int,
    dim: int = ...,
    largest: bool = ...,
    sorted: bool = ...,
) -> tuple[Tensor, Tensor]: ...
def transpose(input: _Operand, input_perm: int | Sequence[int] | None = ...) -> Tensor: ...
def tri(n: int, m: int | None = ..., k: int = ..., dtype: _DTypeLike = ...) -> Tensor: ...
def trigamma(input: _Operand) -> Tensor: ...
def tril(input: _Operand, diagonal: int = ...) -> Tensor: ...
def triu(input: _Operand, diagonal: int = ...) -> Tensor: ...
def trunc(input: _Operand) -> Tensor: ...
def trunc_div(input: _Operand, other: _Operand) -> Tensor: ...
def truncated_normal(
    shape: int | Sequence[int],
    mean: float = ...,
    stddev: float = ...,
    low: float = ...,
    high: float = ...,
    dtype: _DTypeLike = ...,
) -> Tensor: ...
def unfold(
    input: _Operand,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = ...,
    padding: int | Sequence[int] = ...,
    stride: int | Sequence[int] = ...,
) -> Tensor: ...
def unstack(input: _Operand, axis: int = ...) -> tuple[Tensor, ...]: ...
def xlogy(input: _Operand, other: _Operand) -> Tensor: ...
def zeros(size: int | Sequence[int], dtype: _DTypeLike = ...) -> Tensor: ...
def zeros_like(input: _Operand, dtype: _DTypeLike | None = ...) -> Tensor: ...

class ACos(Primitive):
    def __init__(self) -> None: ...
class Abs(Primitive):
    def __init__(self) -> None: ...
class AccumulateNV2(Primitive):
    def __init__(self) -> None: ...
class Acosh(Primitive):
    def __init__(self) -> None: ...
class AdaptiveAvgPool2D(Primitive):
    def __init__(self, output_size: Any = ...) -> None: ...
class Add(Primitive):
    def __init__(self) -> None: ...
class AddN(Primitive):
    def __init__(self) -> None: ...
class ArgMaxWithValue(Primitive):
    def __init__(self, axis: Any = ..., keep_dims: Any = ...) -> None: ...
class ArgMinWithValue(Primitive):
    def __init__(self, axis: Any = ..., keep_dims: Any = ...) -> None: ...
class Argmax(Primitive):
    def __init__(self, axis: Any = ..., output_type: Any = ...) -> None: ...
class Argmin(Primitive):
    def __init__(self, axis: Any = ..., output_type: Any = ...) -> None: ...
class Asin(Primitive):
    def __init__(self) -> None: ...
class Asinh(Primitive):
    def __init__(self) -> None: ...
class Assign(Primitive):
    def __init__(self) -> None: ...
class AssignAdd(Primitive):
    def __init__(self) -> None: ...
class AssignSub(Primitive):
    def __init__(self) -> None: ...
class Atan(Primitive):
    def __init__(self) -> None: ...
class Atan2(Primitive):
    def __init__(self) -> None: ...
class Atanh(Primitive):
    def __init__(self) -> None: ...
class AvgPool(Primitive):
    def __init__(
        self,
        kernel_size: Any = ...,
        strides: Any = ...,
        pad_mode: Any = ...,
        data_format: Any = ...,
    ) -> None: ...
class BCEWithLogitsLoss(Primitive):
    def __init__(self, reduction: Any = ...) -> None: ...
class BatchMatMul(Primitive):
    def __init__(self, transpose_a: Any = ..., transpose_b: Any = ...) -> None: ...
class BatchNorm(Primitive):
    def __init__(self, is_training: Any = ..., epsilon: Any = ..., momentum: Any = ...) -> None: ...
class Bernoulli(Primitive):
    def __init__(self) -> None: ...
class BiasAdd(Primitive):
    def __init__(self, data_format: Any = ...) -> None: ...
class BinaryCrossEntropy(Primitive):
    def __init__(self, reduction: Any = ...) -> None: ...
class BitwiseAnd(Primitive):
    def __init__(self) -> None: ...
class BitwiseOr(Primitive):
    def __init__(self) -> None: ...
class BitwiseXor(Primitive):
    def __init__(self) -> None: ...
class BroadcastTo(Primitive):
    def __init__(self, shape: Any = ...) -> None: ...
class CTCLossV2(Primitive):
    def __init__(
        self,
        blank: Any = ...,
        reduction: Any = ...,
        zero_infinity: Any = ...,
    ) -> None: ...
class Cast(Primitive):
    def __init__(self) -> None: ...
class Ceil(Primitive):
    def __init__(self) -> None: ...
class Cholesky(Primitive):
    def __init__(self, upper: Any = ...) -> None: ...
class Concat(Primitive):
    def __init__(self, axis: Any = ...) -> None: ...
class Conj(Primitive):
    def __init__(self) -> None: ...
class Conv2D(Primitive):
    def __init__(
        self,
        out_channel: Any = ...,
        kernel_size: Any = ...,
        mode: Any = ...,
        pad_mode: Any = ...,
        pad: Any = ...,
        stride: Any = ...,
        dilation: Any = ...,
        group: Any = ...,
    ) -> None: ...
class Conv2DBackpropInput(Primitive):
    def __init__(
        self,
        out_channel: Any = ...,
        kernel_size: Any = ...,
        pad_mode: Any = ...,
        pad: Any = ...,
        pad_list: Any = ...,
        mode: Any = ...,
        stride: Any = ...,
        dilation: Any = ...,
        group: Any = ...,
    ) -> None: ...
class Conv2DTranspose(Primitive):
    def __init__(
        self,
        out_channel: Any = ...,
        kernel_size: Any = ...,
        pad_mode: Any = ...,
        pad: Any = ...,
        stride: Any = ...,
        dilation: Any = ...,
        group: Any = ...,
    ) -> None: ...
class Cos(Primitive):
    def __init__(self) -> None: ...
class Cosh(Primitive):
    def __init__(self) -> None: ...
class CountNonZero(Primitive):
    def __init__(self, axis: Any = ..., keep_dims: Any = ...) -> None: ...
class CumProd(Primitive):
    def __init__(self, exclusive: Any = ..., reverse: Any = ..., dtype: Any = ...) -> None: ...
class CumSum(Primitive):
    def __init__(self, exclusive: Any = ..., reverse: Any = ..., dtype: Any = ...) -> None: ...
class Cummax(Primitive):
    def __init__(self, axis: Any = ...) -> None: ...
class Cummin(Primitive):
    def __init__(self, axis: Any = ...) -> None: ...
class DType(Primitive):
    def __init__(self) -> None: ...
class Dense(Primitive):
    def __init__(self) -> None: ...
class Depend(Primitive):
    def __init__(self) -> None: ...
class DepthToSpace(Primitive):
    def __init__(self, block_size: Any = ...) -> None: ...
class Digamma(Primitive):
    def __init__(self) -> None: ...
class Div(Primitive):
    def __init__(self) -> None: ...
class Dropout(Primitive):
    def __init__(self, keep_prob: Any = ..., Seed0: Any = ..., Seed1: Any = ...) -> None: ...
class Einsum(Primitive):
    def __init__(self, equation: Any = ...) -> None: ...
class Elu(Primitive):
    def __init__(self, alpha: Any = ...) -> None: ...
class EmbeddingLookup(Primitive):
    def __init__(self) -> None: ...
class Equal(Primitive):
    def __init__(self) -> None: ...
class Erf(Primitive):
    def __init__(self) -> None: ...
class Erfc(Primitive):
    def __init__(self) -> None: ...
class Erfinv(Primitive):
    def __init__(self) -> None: ...
class Exp(Primitive):
    def __init__(self) -> None: ...
class ExpandDims(Primitive):
    def __init__(self) -> None: ...
class Expm1(Primitive):
    def __init__(self) -> None: ...
class Eye(Primitive):
    def __init__(self, n: Any = ..., m: Any = ..., dtype: Any = ...) -> None: ...
class Fill(Primitive):
    def __init__(self) -> None: ...
class FillV2(Primitive):
    def __init__(self, size: Any = ..., fill_value: Any = ..., dtype: Any = ...) -> None: ...
class Flatten(Primitive):
    def __init__(self, start_dim: Any = ..., end_dim: Any = ...) -> None: ...
class Floor(Primitive):
    def __init__(self) -> None: ...
class FloorDiv(Primitive):
    def __init__(self) -> None: ...
class FloorMod(Primitive):
    def __init__(self) -> None: ...
class FullLike(Primitive):
    def __init__(self, fill_value: Any = ..., dtype: Any = ...) -> None: ...
class Gather(Primitive):
    def __init__(self, batch_dims: Any = ...) -> None: ...
class GatherD(Primitive):
    def __init__(self) -> None: ...
class GatherNd(Primitive):
    def __init__(self) -> None: ...
class GeLU(Primitive):
    def __init__(self) -> None: ...
class Greater(Primitive):
    def __init__(self) -> None: ...
class GreaterEqual(Primitive):
    def __init__(self) -> None: ...
class GridSampler2D(Primitive):
    def __init__(
        self,
        interpolation_mode: Any = ...,
        padding_mode: Any = ...,
        align_corners: Any = ...,
    ) -> None: ...
class GroupNorm(Primitive):
    def __init__(self, num_groups: Any = ..., eps: Any = ...) -> None: ...
class HSigmoid(Primitive):
    def __init__(self) -> None: ...
class HSwish(Primitive):
    def __init__(self) -> None: ...
class Hypot(Primitive):
    def __init__(self) -> None: ...
class Identity(Primitive):
    def __init__(self) -> None: ...
class Imag(Primitive):
    def __init__(self) -> None: ...
class IndexAdd(Primitive):
    def __init__(self, axis: Any = ...) -> None: ...
class IndexFill(Primitive):
    def __init__(self, axis: Any = ...) -> None: ...
class InstanceNorm(Primitive):
    def __init__(self, eps: Any = ...) -> None: ...
class InvertPermutation(Primitive):
    def __init__(self) -> None: ...
class IsFinite(Primitive):
    def __init__(self) -> None: ...
class IsInf(Primitive):
    def __init__(self) -> None: ...
class IsNan(Primitive):
    def __init__(self) -> None: ...
class KLDivLoss(Primitive):
    def __init__(self, reduction: Any = ...) -> None: ...
class L2Loss(Primitive):
    def __init__(self) -> None: ...
class L2Normalize(Primitive):
    def __init__(self, axis: Any = ..., epsilon: Any = ...) -> None: ...
class LayerNorm(Primitive):
    def __init__(self, normalized_shape: Any = ..., eps: Any = ...) -> None: ...
class LeakyReLU(Primitive):
    def __init__(self) -> None: ...
class Lerp(Primitive):
    def __init__(self) -> None: ...
class Less(Primitive):
    def __init__(self) -> None: ...
class LessEqual(Primitive):
    def __init__(self) -> None: ...
class Lgamma(Primitive):
    def __init__(self) -> None: ...
class LinSpace(Primitive):
    def __init__(
        self,
        start: Any = ...,
        end: Any = ...,
        steps: Any = ...,
        dtype: Any = ...,
    ) -> None: ...
class Log(Primitive):
    def __init__(self) -> None: ...
class Log10(Primitive):
    def __init__(self) -> None: ...
class Log1p(Primitive):
    def __init__(self) -> None: ...
class Log2(Primitive):
    def __init__(self) -> None: ...
class LogSigmoid(Primitive):
    def __init__(self) -> None: ...
class LogSoftmax(Primitive):
    def __init__(self, axis: Any = ...) -> None: ...
class LogSpace(Primitive):
    def __init__(
        self,
        start: Any = ...,
        end: Any = ...,
        steps: Any = ...,
        base: Any = ...,
        dtype: Any = ...,
    ) -> None: ...
class LogicalAnd(Primitive):
    def __init__(self) -> None: ...
class LogicalNot(Primitive):
    def __init__(self) -> None: ...
class LogicalOr(Primitive):
    def __init__(self) -> None: ...
class LogicalXor(Primitive):
    def __init__(self) -> None: ...
class LpNorm(Primitive):
    def __init__(self, axis: Any = ..., keep_dims: Any = ..., p: Any = ...) -> None: ...
class MaskedFill(Primitive):
    def __init__(self) -> None: ...
class MaskedScatter(Primitive):
    def __init__(self) -> None: ...
class MaskedSelect(Primitive):
    def __init__(self) -> None: ...
class MatMul(Primitive):
    def __init__(self, transpose_a: Any = ..., transpose_b: Any = ...) -> None: ...
class MaxPool(Primitive):
    def __init__(
        self,
        kernel_size: Any = ...,
        strides: Any = ...,
        pad_mode: Any = ...,
        data_format: Any = ...,
    ) -> None: ...
class Maximum(Primitive):
    def __init__(self) -> None: ...
class Median(Primitive):
    def __init__(self, axis: Any = ..., keep_dims: Any = ...) -> None: ...
class Meshgrid(Primitive):
    def __init__(self, indexing: Any = ...) -> None: ...
class Minimum(Primitive):
    def __init__(self) -> None: ...
class Mish(Primitive):
    def __init__(self) -> None: ...
class Mod(Primitive):
    def __init__(self) -> None: ...
class Mul(Primitive):
    def __init__(self) -> None: ...
class Multinomial(Primitive):
    def __init__(self, num_samples: Any = ..., replacement: Any = ...) -> None: ...
class NLLLoss(Primitive):
    def __init__(
        self,
        ignore_index: Any = ...,
        reduction: Any = ...,
        label_smoothing: Any = ...,
    ) -> None: ...
class Neg(Primitive):
    def __init__(self) -> None: ...
class NonZero(Primitive):
    def __init__(self) -> None: ...
class NotEqual(Primitive):
    def __init__(self) -> None: ...
class OneHot(Primitive):
    def __init__(self, axis: Any = ...) -> None: ...
class Ones(Primitive):
    def __init__(self, size: Any = ...) -> None: ...
class OnesLike(Primitive):
    def __init__(self, dtype: Any = ...) -> None: ...
class PReLU(Primitive):
    def __init__(self) -> None: ...
class Pad(Primitive):
    def __init__(self, paddings: Any = ...) -> None: ...
class PadV3(Primitive):
    def __init__(self, padding: Any = ..., mode: Any = ..., value: Any = ...) -> None: ...
class Partial(Primitive):
    def __init__(self) -> None: ...
class Pow(Primitive):
    def __init__(self) -> None: ...
class Range(Primitive):
    def __init__(
        self,
        start: Any = ...,
        end: Any = ...,
        step: Any = ...,
        dtype: Any = ...,
    ) -> None: ...
class Rank(Primitive):
    def __init__(self) -> None: ...
class ReLU(Primitive):
    def __init__(self) -> None: ...
class ReLU6(Primitive):
    def __init__(self) -> None: ...
class Real(Primitive):
    def __init__(self) -> None: ...
class RealDiv(Primitive):
    def __init__(self) -> None: ...
class Reciprocal(Primitive):
    def __init__(self) -> None: ...
class ReduceAll(Primitive):
    def __init__(self, keep_dims: Any = ...) -> None: ...
class ReduceAny(Primitive):
    def __init__(self, keep_dims: Any = ...) -> None: ...
class ReduceMax(Primitive):
    def __init__(self, keep_dims: Any = ...) -> None: ...
class ReduceMean(Primitive):
    def __init__(self, keep_dims: Any = ...) -> None: ...
class ReduceMin(Primitive):
    def __init__(self, keep_dims: Any = ...) -> None: ...
class ReduceProd(Primitive):
    def __init__(self, keep_dims: Any = ..., dtype: Any = ...) -> None: ...
class ReduceSum(Primitive):
    def __init__(self, keep_dims: Any = ..., dtype: Any = ...) -> None: ...
class Reshape(Primitive):
    def __init__(self) -> None: ...
class ResizeBilinear(Primitive):
    def __init__(
        self,
        size: Any = ...,
        align_corners: Any = ...,
        half_pixel_centers: Any = ...,
    ) -> None: ...
class ResizeBilinearV2(Primitive):
    def __init__(self, align_corners: Any = ..., half_pixel_centers: Any = ...) -> None: ...
class ResizeNearestNeighbor(Primitive):
    def __init__(self, size: Any = ..., align_corners: Any = ...) -> None: ...
class ReverseV2(Primitive):
    def __init__(self, dims: Any = ...) -> None: ...
class RmsNorm(Primitive):
    def __init__(self, eps: Any = ...) -> None: ...
class Round(Primitive):
    def __init__(self) -> None: ...
class Rsqrt(Primitive):
    def __init__(self) -> None: ...
class ScalarCast(Primitive):
    def __init__(self) -> None: ...
class ScalarToArray(Primitive):
    def __init__(self) -> None: ...
class ScalarToTensor(Primitive):
    def __init__(self) -> None: ...
class ScatterAdd(Primitive):
    def __init__(self) -> None: ...
class ScatterNd(Primitive):
    def __init__(self, shape: Any = ...) -> None: ...
class ScatterNdUpdate(Primitive):
    def __init__(self) -> None: ...
class ScatterUpdate(Primitive):
    def __init__(self) -> None: ...
class SeLU(Primitive):
    def __init__(self) -> None: ...
class SearchSorted(Primitive):
    def __init__(self, right: Any = ...) -> None: ...
class Select(Primitive):
    def __init__(self) -> None: ...
class Shape(Primitive):
    def __init__(self) -> None: ...
class SiLU(Primitive):
    def __init__(self) -> None: ...
class Sigmoid(Primitive):
    def __init__(self) -> None: ...
class SigmoidCrossEntropyWithLogits(Primitive):
    def __init__(self) -> None: ...
class Sign(Primitive):
    def __init__(self) -> None: ...
class Sin(Primitive):
    def __init__(self) -> None: ...
class Sinh(Primitive):
    def __init__(self) -> None: ...
class Size(Primitive):
    def __init__(self) -> None: ...
class Slice(Primitive):
    def __init__(self, step: Any = ..., drop: Any = ...) -> None: ...
class SmoothL1Loss(Primitive):
    def __init__(self, beta: Any = ..., reduction: Any = ...) -> None: ...
class Softmax(Primitive):
    def __init__(self, axis: Any = ...) -> None: ...
class SoftmaxCrossEntropyWithLogits(Primitive):
    def __init__(self) -> None: ...
class Softplus(Primitive):
    def __init__(self) -> None: ...
class Softsign(Primitive):
    def __init__(self) -> None: ...
class SolveTriangular(Primitive):
    def __init__(self, trans: Any = ..., lower: Any = ..., unit_diagonal: Any = ...) -> None: ...
class Sort(Primitive):
    def __init__(self, axis: Any = ..., descending: Any = ...) -> None: ...
class SpaceToDepth(Primitive):
    def __init__(self, block_size: Any = ...) -> None: ...
class SparseSoftmaxCrossEntropyWithLogits(Primitive):
    def __init__(self, is_grad: Any = ...) -> None: ...
class Split(Primitive):
    def __init__(self, axis: Any = ..., output_num: Any = ...) -> None: ...
class Sqrt(Primitive):
    def __init__(self) -> None: ...
class Square(Primitive):
    def __init__(self) -> None: ...
class Squeeze(Primitive):
    def __init__(self, axis: Any = ...) -> None: ...
class Stack(Primitive):
    def __init__(self, axis: Any = ...) -> None: ...
class StandardNormal(Primitive):
    def __init__(self, shape: Any = ..., dtype: Any = ...) -> None: ...
class StopGradient(Primitive):
    def __init__(self) -> None: ...
class StridedSlice(Primitive):
    def __init__(self, begin_mask: Any = ..., end_mask: Any = ...) -> None: ...
class Sub(Primitive):
    def __init__(self) -> None: ...
class Tan(Primitive):
    def __init__(self) -> None: ...
class Tanh(Primitive):
    def __init__(self) -> None: ...
class TensorScatterAdd(Primitive):
    def __init__(self) -> None: ...
class TensorScatterDiv(Primitive):
    def __init__(self) -> None: ...
class TensorScatterElements(Primitive):
    def __init__(self, axis: Any = ..., reduction: Any = ...) -> None: ...
class TensorScatterMax(Primitive):
    def __init__(self) -> None: ...
class TensorScatterMin(Primitive):
    def __init__(self) -> None: ...
class TensorScatterMul(Primitive):
    def __init__(self) -> None: ...
class TensorScatterSub(Primitive):
    def __init__(self) -> None: ...
class TensorScatterUpdate(Primitive):
    def __init__(self) -> None: ...
class Tile(Primitive):
    def __init__(self, multiples: Any = ...) -> None: ...
class TopK(Primitive):
    def __init__(self, dim: Any = ..., largest: Any = ..., sorted: Any = ...) -> None: ...
class Transpose(Primitive):
    def __init__(self) -> None: ...
class Tril(Primitive):
    def __init__(self, diagonal: Any = ...) -> None: ...
class Triu(Primitive):
    def __init__(self, diagonal: Any = ...) -> None: ...
class Trunc(Primitive):
    def __init__(self) -> None: ...
class TruncateDiv(Primitive):
    def __init__(self) -> None: ...
class TruncateMod(Primitive):
    def __init__(self) -> None: ...
class TruncatedNormal(Primitive):
    def __init__(
        self,
        shape: Any = ...,
        mean: Any = ...,
        stddev: Any = ...,
        low: Any = ...,
        high: Any = ...,
        dtype: Any = ...,
    ) -> None: ...
class TupleToArray(Primitive):
    def __init__(self) -> None: ...
class UniformInt(Primitive):
    def __init__(
        self,
        low: Any = ...,
        high: Any = ...,
        size: Any = ...,
        dtype: Any = ...,
    ) -> None: ...
class UniformReal(Primitive):
    def __init__(
        self,
        shape: Any = ...,
        minval: Any = ...,
        maxval: Any = ...,
        dtype: Any = ...,
    ) -> None: ...
class Unique(Primitive):
    def __init__(self) -> None: ...
class UnsortedSegmentSum(Primitive):
    def __init__(self) -> None: ...
class Unstack(Primitive):
    def __init__(self, axis: Any = ...) -> None: ...
class Xlogy(Primitive):
    def __init__(self) -> None: ...
class Zeros(Primitive):
    def __init__(self, size: Any = ...) -> None: ...
class ZerosLike(Primitive):
    def __init__(self, dtype: Any = ...) -> None: ...
