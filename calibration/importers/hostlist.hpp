#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// Most names that one topology may have in all.
inline constexpr std::size_t kMostHosts = 131072;

/// The names of a Slurm host list: `node[001-016,020]`, `rack[0-3]n[0-7]`, `a,b,c[1-2]`, in their order; numbers keep
/// their width. Throws std::invalid_argument that says what is wrong: brackets that do not match or lie inside others,
/// a range that falls, is no range of numbers, or makes more names than `most` (which is found without making them).
std::vector<std::string> expand_hostlist(std::string_view expression, std::size_t most = kMostHosts);

/// The shortest host list with these names in this order: runs of equal prefix and width are ranges.
std::string compress_hostlist(const std::vector<std::string>& names);

}  // namespace stepcast
