#pragma once

#include <map>

#include "calibration/importers/models/huggingface.hpp"

namespace stepcast {

/// Reads an ONNX model as a compact network (docs/formats/imports.md). `dimensions`: sizes that its inputs leave open,
/// by name; the first of an input is samples. ONNX's own library infers the sizes between operators, in a process of
/// its own (stepcast-onnx-graph). Throws InputError with every fault, EnvironmentError where that program cannot run.
ImportedModel import_onnx(const std::filesystem::path& file, const std::map<std::string, int>& dimensions);

}  // namespace stepcast
