"""Says what an op type does, in six words: the colours of timelines go by it."""

from __future__ import annotations

import re
from functools import lru_cache

CATEGORIES = (
    "matrix product, convolution",
    "gradient, update",
    "elementwise, reduction",
    "memory, layout",
    "input",
    "other",
)
TRANSFER = "transfers"

PATTERNS: tuple[tuple[int, str], ...] = (
    (
        4,
        r"Iterator|Dataset|Queue|Reader|Decode|Example|ReadFile|^Placeholder|^_(Device)?Arg$|^_?Feed|"
        r"^(Un)?[Ss]tage$|Infeed|^(Parallel)?Map(AndBatch|V2)?$|^Prefetch$|^TensorSlice$|^Shuffle|Repeat$",
    ),
    # Ops of XLA and JAX, which are written in small letters; fusions are named after what is in them.
    (
        3,
        r"^(loop_|input_|wrapped_)?(copy|async|send|recv|all[-_]|reduce[-_]scatter|collective|psum|"
        r"ppermute|transpose|reshape|bitcast|broadcast|gather|scatter|slice|dynamic|concat|pad|iota|"
        r"squeeze|expand|convert|rev)",
    ),
    (0, r"^(loop_|input_|wrapped_)?(dot|conv|cudnn|cublas|gemm)|attn"),
    (
        2,
        r"^(loop_|input_|wrapped_)?(add|sub|mul|div|neg|abs|sign|exp|log|tanh|sin|cos|r?sqrt|square|max|"
        r"min|reduce|arg|cum|pow|integer_pow|compare|eq|ne|[lg][te]|select|clamp|and|or|not|xor|floor|"
        r"ceil|round|erf|rng|random|threefry|sort|top_k)(?![a-z])",
    ),
    (3, r"^(Stop|Prevent)Gradient$|Matrix(Diag|SetDiag|BandPart)"),
    (1, r"Grad|Backprop|^(Resource)?(Sparse)?Apply|Accumulator"),
    (0, r"Conv(?!ert)|MatMul|Dot|Einsum|RNN|LSTM|GRU|Gemm|Attention|^(Batch)?Matrix|Cholesky|Svd$|^Qr$|^Lu$|FFT"),
    (3, r"Concat|[Pp]ack$|Reshape|Transpose|Slice|Pad|Split|Gather|Scatter|Tile|ExpandDims|Squeeze|Relayout|Layout"),
    (
        3,
        r"Identity|Cast|Fill$|sLike$|Copy|Memcpy|MEMCPY|Memset|MEMSET|Send|Recv|Nccl|Collective|Variable|"
        r"VarHandle|Assign",
    ),
    (
        3,
        r"Const$|Reverse|Broadcast|Shape|Stitch|Partition(?!ed)|TensorArray|TensorList|InvertPermutation|"
        r"SpaceTo|ToSpace",
    ),
    (3, r"OneHot|Where|Roll|Snapshot|MklToTf|SparseToDense"),
    (2, r"Add|Sub|Mul|Div|Pow|[Ss]qrt|Square|Exp|Log|Relu|Elu|Selu|Sigmoid|Tanh|Soft|Swish|Mish|Neg|Abs|Sign|Erf"),
    (
        2,
        r"Max|Min|Mean|Sum(?!mary)|Prod|All$|Any$|Mod|Floor|Ceil|Round|Rint|Equal|Less|Greater|Select|"
        r"Clip|Is(Nan|Inf|Finite)",
    ),
    (
        2,
        r"Bias|Norm|Pool|L[Rr][Nn]|Sin|Cos|Tan|Inv|Reciprocal|Conj|AccumulateN|Cum|TopK|L2Loss|Random|"
        r"Dropout|Range|LinSpace",
    ),
    (2, r"Quantize|Resize|CrossEntropy|UnaryOps"),
)
"""The categories of names, in the order in which they are tried: a Conv2DBackpropFilter is a gradient first."""

_COMPILED = tuple((category, re.compile(pattern, re.ASCII)) for category, pattern in PATTERNS)


@lru_cache(maxsize=4096)
def category_of(op: str) -> str:
    """What an op type does.

    >>> category_of("_FusedMatMul"), category_of("ReluGrad"), category_of("IteratorGetNext")
    ('matrix product, convolution', 'gradient, update', 'input')
    """
    found = next((category for category, pattern in _COMPILED if pattern.search(op)), -1)
    return CATEGORIES[found]
