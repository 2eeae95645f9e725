#include "calibration/importers/slurm_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/importers/text_file.hpp"
#include "calibration/importers/yaml_text.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

namespace {

bool is_true(const Json& topology, const char* key) {
  const auto found = topology.find(key);
  return found != topology.end() && found->is_boolean() && found->get<bool>();
}

class YamlReader {
 public:
  YamlReader(const Json& document, SlurmDefinitions& out) : document_(document), out_(out) {}

  void read() {
    if (!document_.is_array() || document_.empty())
      return fault("", "expected a list of topologies", "a topology.yaml of Slurm begins with \"- topology: NAME\"");
    for (std::size_t i = 0; i < document_.size(); ++i) check_topology(i);
    if (!out_.ok()) return;
    const auto chosen = std::find_if(document_.begin(), document_.end(),
                                     [](const Json& one) { return is_true(one, "cluster_default"); });
    std::size_t taken = chosen == document_.end() ? 0 : static_cast<std::size_t>(chosen - document_.begin());
    // A flat default shows no switches; the only topology beside it that does is what there is to import.
    const auto shown_ones = std::count_if(document_.begin(), document_.end(), shows_switches);
    const bool beside = !shows_switches(document_[taken]) && shown_ones == 1;
    if (beside)
      taken = static_cast<std::size_t>(std::find_if(document_.begin(), document_.end(), shows_switches) -
                                       document_.begin());
    if (document_.size() > 1)
      out_.note(fmt::format("of {} topologies {} was taken, {}", document_.size(),
                            word(document_[taken].at("topology")),
                            beside ? "the only one with switches" : "the cluster's default"));
    read_topology(document_[taken], fmt::format("/{}", taken));
  }

 private:
  static bool shows_switches(const Json& one) { return one.contains("tree") || one.contains("block"); }

  void check_topology(std::size_t i) {
    const std::string at = fmt::format("/{}", i);
    if (!known(document_[i], at, {"topology", "cluster_default", "tree", "block", "flat", "ring", "torus3d"})) return;
    if (!document_[i].contains("topology")) fault(at, "has no topology: NAME");
  }

  void read_topology(const Json& topology, const std::string& at) {
    if (topology.contains("tree")) return read_tree(topology.at("tree"), at + "/tree");
    if (topology.contains("block")) return read_block(topology.at("block"), at + "/block");
    if (topology.contains("ring")) return out_.refuse_plugin({0, at + "/ring"}, "rings", "ring");
    if (topology.contains("torus3d"))
      return out_.refuse_plugin({0, at + "/torus3d"}, "tori", "torus3d",
                                "write it as a fabric of preset torus-3d with its dimensions");
    fault(at, fmt::format("topology {} is flat: it shows no switches", shown(word(topology.at("topology")))),
          "expected a topology with tree or block");
  }

  void read_tree(const Json& tree, const std::string& at) {
    for_each(tree, at, "switches", {"switch", "children", "nodes"}, [&](const Json& one, const SlurmPlace& place) {
      out_.add_switch(place, text(one, "switch").value_or(""), text(one, "nodes"), text(one, "children"));
    });
  }

  void read_block(const Json& block, const std::string& at) {
    for_each(block, at, "blocks", {"block", "nodes"}, [&](const Json& one, const SlurmPlace& place) {
      out_.add_block(place, text(one, "block").value_or(""), text(one, "nodes"));
    });
    if (!out_.ok() || !block.contains("block_sizes")) return;
    const Json& sizes = block.at("block_sizes");
    for (std::size_t i = 0; i < sizes.size() && sizes.is_array(); ++i)
      out_.add_block_size({0, fmt::format("{}/block_sizes/{}", at, i)}, word(sizes[i]));
    if (!sizes.is_array()) out_.add_block_size({0, at + "/block_sizes"}, word(sizes));
  }

  /// Each mapping of the list under `key`.
  void for_each(const Json& section, const std::string& at, const char* key, const std::vector<std::string>& keys,
                const auto& take) {
    std::vector<std::string> sections{key};
    if (std::string_view(key) == "blocks") sections.emplace_back("block_sizes");
    if (!known(section, at, sections)) return;
    const auto found = section.find(key);
    if (found == section.end() || !found->is_array())
      return fault(child_pointer(at, key), fmt::format("is no list, expected the {} of the topology", key));
    for (std::size_t i = 0; i < found->size(); ++i) {
      const std::string place = fmt::format("{}/{}/{}", at, key, i);
      if (known((*found)[i], place, keys) && are_words((*found)[i], place)) take((*found)[i], SlurmPlace{0, place});
    }
  }

  /// Whether a value is a mapping with these keys alone.
  bool known(const Json& value, const std::string& at, const std::vector<std::string>& keys) {
    if (!value.is_object()) return fault(at, fmt::format("found {}, expected a mapping", describe(value))), false;
    bool all = true;
    for (const auto& item : value.items()) {
      if (std::find(keys.begin(), keys.end(), item.key()) != keys.end()) continue;
      fault(child_pointer(at, item.key()), fmt::format("unknown key, {}", expected_one_of(keys)),
            did_you_mean(item.key(), keys));
      all = false;
    }
    return all;
  }

  /// Whether each value of a mapping is a word, or a list of words.
  bool are_words(const Json& mapping, const std::string& at) {
    for (const auto& item : mapping.items())
      for (const Json& one : item.value().is_array() ? item.value() : Json::array({item.value()}))
        if (one.is_structured())
          return fault(child_pointer(at, item.key()),
                       fmt::format("found {}, expected a name or a host list", describe(one))),
                 false;
    return true;
  }

  /// A host list, which may also stand as a list of them.
  static std::optional<std::string> text(const Json& mapping, const char* key) {
    const auto found = mapping.find(key);
    if (found == mapping.end() || found->is_null()) return std::nullopt;
    if (!found->is_array()) return word(*found);
    std::string out;
    for (const Json& one : *found) out += (out.empty() ? "" : ",") + word(one);
    return out;
  }

  /// Names may be numbers.
  static std::string word(const Json& value) {
    std::string out = value.is_string() ? value.get<std::string>() : value.dump();
    std::erase(out, ' ');
    return out;
  }

  void fault(const std::string& at, const std::string& message, std::string suggestion = {}) {
    out_.fault({0, at}, message, std::move(suggestion));
  }

  const Json& document_;
  SlurmDefinitions& out_;
};

}  // namespace

bool is_slurm_yaml(std::string_view text) {
  for (const std::string_view raw : lines_of(text)) {
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.starts_with("#") || line.starts_with("%")) continue;
    return line.starts_with("---") || line.starts_with("[") ||
           (line.starts_with("-") && (line.size() == 1 || line.find(':') != std::string_view::npos));
  }
  return false;
}

void read_slurm_yaml(std::string_view text, SlurmDefinitions& definitions) {
  const Json document = parse_yaml(text, definitions.diagnostics());
  if (definitions.ok()) YamlReader(document, definitions).read();
}

}  // namespace stepcast
