#pragma once

#include <filesystem>

namespace stepcast {

/// Whether a scenario's file has comments, which are lost when it is written from a document. Of a file that cannot be
/// read, nothing is lost.
bool has_comments(const std::filesystem::path& file);

}  // namespace stepcast
