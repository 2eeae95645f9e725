#pragma once

#include <filesystem>
#include <string>

namespace stepcast {

/// What a file holds; nothing of one that cannot be read.
std::string text_of_file(const std::filesystem::path& file);

/// Whether a scenario's file has comments, which are lost when it is written from a document. Of a file that cannot be
/// read, nothing is lost.
bool has_comments(const std::filesystem::path& file);

}  // namespace stepcast
