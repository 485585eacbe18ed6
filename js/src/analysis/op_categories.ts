// What an op type does, in six words: the colours of charts and timeline go by it.

/** The categories, and the custom property that has the colour of each. */
export const CATEGORIES = [
  "matrix product, convolution",
  "gradient, update",
  "elementwise, reduction",
  "memory, layout",
  "input",
  "other",
] as const;
export const CATEGORY_COLOURS = [
  "--op-product",
  "--op-gradient",
  "--op-elementwise",
  "--op-layout",
  "--op-input",
  "--op-other",
] as const;

const OTHER = CATEGORIES.length - 1;

/** A pattern a category, in the order in which they are tried: a Conv2DBackpropFilter is a gradient first. */
const PATTERNS: readonly (readonly [category: number, pattern: RegExp])[] = [
  [
    4,
    /Iterator|Dataset|Queue|Reader|Decode|Example|ReadFile|^Placeholder|^_(Device)?Arg$|^_?Feed|^(Un)?[Ss]tage$|Infeed|^(Parallel)?Map(AndBatch|V2)?$|^Prefetch$|^TensorSlice$|^Shuffle|Repeat$/,
  ],
  // Ops of XLA and JAX, which are written in small letters; fusions are named after what is in them.
  [
    3,
    /^(loop_|input_|wrapped_)?(copy|async|send|recv|all[-_]|reduce[-_]scatter|collective|psum|ppermute|transpose|reshape|bitcast|broadcast|gather|scatter|slice|dynamic|concat|pad|iota|squeeze|expand|convert|rev)/,
  ],
  [0, /^(loop_|input_|wrapped_)?(dot|conv|cudnn|cublas|gemm)|attn/],
  [
    2,
    /^(loop_|input_|wrapped_)?(add|sub|mul|div|neg|abs|sign|exp|log|tanh|sin|cos|r?sqrt|square|max|min|reduce|arg|cum|pow|integer_pow|compare|eq|ne|[lg][te]|select|clamp|and|or|not|xor|floor|ceil|round|erf|rng|random|threefry|sort|top_k)(?![a-z])/,
  ],
  [3, /^(Stop|Prevent)Gradient$|Matrix(Diag|SetDiag|BandPart)/],
  [1, /Grad|Backprop|^(Resource)?(Sparse)?Apply|Accumulator/],
  [
    0,
    /Conv(?!ert)|MatMul|Dot|Einsum|RNN|LSTM|GRU|Gemm|Attention|^(Batch)?Matrix|Cholesky|Svd$|^Qr$|^Lu$|FFT/,
  ],
  [
    3,
    /Concat|[Pp]ack$|Reshape|Transpose|Slice|Pad|Split|Gather|Scatter|Tile|ExpandDims|Squeeze|Relayout|Layout/,
  ],
  [
    3,
    /Identity|Cast|Fill$|sLike$|Copy|Memcpy|MEMCPY|Memset|MEMSET|Send|Recv|Nccl|Collective|Variable|VarHandle|Assign/,
  ],
  [
    3,
    /Const$|Reverse|Broadcast|Shape|Stitch|Partition(?!ed)|TensorArray|TensorList|InvertPermutation|SpaceTo|ToSpace/,
  ],
  [3, /OneHot|Where|Roll|Snapshot|MklToTf|SparseToDense/],
  [
    2,
    /Add|Sub|Mul|Div|Pow|[Ss]qrt|Square|Exp|Log|Relu|Elu|Selu|Sigmoid|Tanh|Soft|Swish|Mish|Neg|Abs|Sign|Erf/,
  ],
  [
    2,
    /Max|Min|Mean|Sum(?!mary)|Prod|All$|Any$|Mod|Floor|Ceil|Round|Rint|Equal|Less|Greater|Select|Clip|Is(Nan|Inf|Finite)/,
  ],
  [
    2,
    /Bias|Norm|Pool|L[Rr][Nn]|Sin|Cos|Tan|Inv|Reciprocal|Conj|AccumulateN|Cum|TopK|L2Loss|Random|Dropout|Range|LinSpace/,
  ],
  [2, /Quantize|Resize|CrossEntropy|UnaryOps/],
];

/** The index in CATEGORIES of what an op type does. */
export function categoryOf(op: string): number {
  return PATTERNS.find(([, pattern]) => pattern.test(op))?.[0] ?? OTHER;
}
