import { describe, expect, test } from "vitest";
import { CATEGORIES, categoryOf } from "./op_categories.ts";

describe("categoryOf", () => {
  test.each([
    ["Conv2D", "matrix product, convolution"],
    ["_MklNativeFusedConv2D", "matrix product, convolution"],
    ["DepthwiseConv2dNative", "matrix product, convolution"],
    ["BatchMatMulV2", "matrix product, convolution"],
    ["Einsum", "matrix product, convolution"],
    ["Conv2DBackpropFilter", "gradient, update"],
    ["ReluGrad", "gradient, update"],
    ["FusedBatchNormGradV3", "gradient, update"],
    ["ResourceApplyAdam", "gradient, update"],
    ["Relu", "elementwise, reduction"],
    ["AddV2", "elementwise, reduction"],
    ["BiasAdd", "elementwise, reduction"],
    ["FusedBatchNormV3", "elementwise, reduction"],
    ["MaxPool", "elementwise, reduction"],
    ["Softmax", "elementwise, reduction"],
    ["ConcatV2", "memory, layout"],
    ["Reshape", "memory, layout"],
    ["StopGradient", "memory, layout"],
    ["ReadVariableOp", "memory, layout"],
    ["AssignSubVariableOp", "memory, layout"],
    ["MEMCPYHtoD", "memory, layout"],
    ["Const", "memory, layout"],
    ["IteratorGetNext", "input"],
    ["Iterator::Root::Map", "input"],
    ["ParallelMapDatasetV2", "input"],
    ["DecodeJpeg", "input"],
    ["Placeholder", "input"],
    ["Unpack", "memory, layout"],
    ["MatrixDiagV3", "memory, layout"],
    ["Rsqrt", "elementwise, reduction"],
    ["WriteSummary", "other"],
    ["NoOp", "other"],
    ["PartitionedCall", "other"],
    ["", "other"],
  ])("%s: %s", (op, category) => {
    expect(CATEGORIES[categoryOf(op)]).toBe(category);
  });
});
