#pragma once

/// Numbers of cudnn_graph.h (cuDNN 9): the backend API tells kinds of descriptors, attributes and values by number.
/// Where cuDNN's headers are installed the tests compare them (tests/cluster/cudnn_test.cpp).
namespace stepcast::probes::cudnn {

// cudnnBackendDescriptorType_t
inline constexpr int kPointwise = 0, kEngineConfig = 3, kHeuristic = 4, kPlan = 5, kPointwiseOperation = 13,
                     kGraph = 15, kVariantPack = 16, kTensor = 17, kProduct = 18, kProductOperation = 19,
                     kReduction = 21, kReductionOperation = 22, kReshapeOperation = 31;

// cudnnBackendAttributeType_t
inline constexpr int kHandleValue = 0, kDataTypeValue = 1, kFlagValue = 2, kIntegerValue = 3, kPointerValue = 6,
                     kHeuristicModeValue = 8, kPointwiseModeValue = 14, kDescriptorValue = 15, kReductionValue = 18;

// cudnnBackendAttributeName_t
inline constexpr int kPointwiseMode = 0, kPointwisePrecision = 1, kPointwiseAxis = 9;
inline constexpr int kHeuristicModeOf = 200, kHeuristicGraph = 201, kHeuristicResults = 202;
inline constexpr int kPlanHandle = 400, kPlanConfig = 401, kPlanWorkspace = 402;
inline constexpr int kPointwiseOf = 750, kPointwiseX = 751, kPointwiseB = 752, kPointwiseY = 753, kPointwiseT = 758;
inline constexpr int kGraphHandle = 800, kGraphOperations = 801;
inline constexpr int kTensorAlignment = 900, kTensorType = 901, kTensorSizes = 902, kTensorStrides = 903,
                     kTensorNumber = 906, kTensorVirtual = 907, kTensorByValue = 908;
inline constexpr int kPackNumbers = 1000, kPackPointers = 1001, kPackWorkspace = 1003;
inline constexpr int kProductPrecision = 1500, kProductA = 1520, kProductB = 1521, kProductC = 1522, kProductOf = 1523;
inline constexpr int kReductionKind = 1600, kReductionPrecision = 1601, kReductionX = 1610, kReductionY = 1611,
                     kReductionOf = 1612;
inline constexpr int kReshapeX = 2200, kReshapeY = 2201;

// cudnnDataType_t
inline constexpr int kFloat32 = 0, kFloat16 = 2, kInt32 = 4, kBfloat16 = 9, kBoolean = 11;

// cudnnPointwiseMode_t, cudnnReduceTensorOp_t, cudnnBackendHeurMode_t
inline constexpr int kAdd = 0, kMultiply = 1, kDivide = 6, kSubtract = 9, kExponential = 13, kLogarithm = 15,
                     kIdentity = 21, kNotLess = 303, kIndex = 501, kSelect = 601;
inline constexpr int kSum = 0, kLargest = 3;
inline constexpr int kModeA = 3, kModeFallback = 2;

}  // namespace stepcast::probes::cudnn
