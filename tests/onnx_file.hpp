#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace stepcast {

/// Makes an ONNX file of a network in protobuf's text form. Throws std::runtime_error where protoc refuses it.
inline void make_onnx_file(const std::filesystem::path& text, const std::filesystem::path& file) {
  const std::string command = "protoc --encode=onnx.ModelProto -I /usr/include/onnx /usr/include/onnx/onnx.proto <" +
                              text.string() + " >" + file.string();
  if (std::system(command.c_str()) != 0) throw std::runtime_error("no ONNX file from " + text.string());
}

}  // namespace stepcast
