#include "calibration/collectives/nccl_settings.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "calibration/validation/stated_words.hpp"
#include "fields/plain_text.hpp"
#include "models/collectives/algorithm_table.hpp"

namespace stepcast {

namespace {

/// What stands behind a variable's name and "=", up to a blank or the next variable; null where the text has none.
std::optional<std::string> value_of(const std::string& text, std::string_view variable) {
  const std::string name = std::string(variable) + "=";
  const std::size_t at = text.find(name);
  if (at == std::string::npos) return std::nullopt;
  std::string value = text.substr(at + name.size());
  value = value.substr(0, value.find_first_of(" \t;"));
  if (const std::size_t next = value.find('='); next != std::string::npos)
    value = value.substr(0, value.find_last_of(',', next));
  const auto is_mark = [](char c) { return c == ',' || c == '"' || c == '\'' || c == '.' || c == ')'; };
  while (!value.empty() && is_mark(value.back())) value.pop_back();
  while (!value.empty() && is_mark(value.front())) value.erase(0, 1);
  return value;
}

bool is_set(const std::string& text, std::string_view variable, std::string_view to) {
  const std::optional<std::string> value = value_of(text, variable);
  return value && squashed(*value) == squashed(to);
}

struct NamedAlgorithm {
  std::string_view name;
  CollectiveAlgorithm algorithm;
};
// Names of NCCL 2.28 (src/graph/tuning.cc, ncclAlgoStr); both kinds of CollNet add in the network's switches.
constexpr std::array kAlgorithms{NamedAlgorithm{"Ring", CollectiveAlgorithm::ring},
                                 NamedAlgorithm{"Tree", CollectiveAlgorithm::tree},
                                 NamedAlgorithm{"CollnetDirect", CollectiveAlgorithm::collnet},
                                 NamedAlgorithm{"CollnetChain", CollectiveAlgorithm::collnet},
                                 NamedAlgorithm{"NVLS", CollectiveAlgorithm::nvls},
                                 NamedAlgorithm{"NVLSTree", CollectiveAlgorithm::nvls_tree},
                                 NamedAlgorithm{"PAT", CollectiveAlgorithm::pat}};

struct NamedProtocol {
  std::string_view name;
  CollectiveProtocol protocol;
};
constexpr std::array kProtocolNames{NamedProtocol{"Simple", CollectiveProtocol::simple},
                                    NamedProtocol{"LL", CollectiveProtocol::ll},
                                    NamedProtocol{"LL128", CollectiveProtocol::ll128}};

template <class Table>
std::vector<std::string> choices_of(const Table& table) {
  std::vector<std::string> out;
  for (const auto& one : table) out.emplace_back(one.name);
  return out;
}

std::string setting_refused(std::string_view variable, const std::string& value, const std::string& why) {
  return fmt::format("config: {}={}: {}", variable, value, why);
}

void read_algorithm(NcclSettings& out, const std::string& remarks) {
  const std::optional<std::string> value = value_of(remarks, "NCCL_ALGO");
  if (!value) return;
  const std::string word = squashed(*value);
  // Between rings and trees the library still chooses, without the switches.
  const bool listed = contains(*value, ",");
  if ((listed && (word == "ringtree" || word == "treering")) || *value == "^NVLS" || *value == "^NVLS,NVLSTree") {
    out.switch_sums = false;
    return;
  }
  const auto named = std::find_if(kAlgorithms.begin(), kAlgorithms.end(),
                                  [&](const NamedAlgorithm& one) { return squashed(one.name) == word; });
  if (named != kAlgorithms.end() && value->front() != '^')
    out.algorithm = named->algorithm;
  else
    out.refusal = not_understood("config: NCCL_ALGO", *value, choices_of(kAlgorithms));
}

void read_protocol(NcclSettings& out, const std::string& remarks) {
  const std::optional<std::string> value = value_of(remarks, "NCCL_PROTO");
  if (!value) return;
  const auto named = std::find_if(kProtocolNames.begin(), kProtocolNames.end(),
                                  [&](const NamedProtocol& one) { return squashed(one.name) == squashed(*value); });
  if (named != kProtocolNames.end() && value->front() != '^')
    out.protocol = named->protocol;
  else
    out.refusal = not_understood("config: NCCL_PROTO", *value, choices_of(kProtocolNames));
}

/// Ways of sending that have no constants.
std::string unknown_way(const std::string& remarks, const StatedCall& call) {
  const bool meet = std::min(call.group.per_node, call.group.size) > 1;
  if (meet && is_set(remarks, "NCCL_P2P_DISABLE", "1"))
    return setting_refused("NCCL_P2P_DISABLE", "1", "no constants of copies between devices through the host's memory");
  const NetworkKind network = call.machine.network;
  const bool rdma = network != NetworkKind::ethernet_tcp && call.group.nodes() > 1;
  const std::string why = fmt::format("no constants of sockets over {}", name_of(network));
  if (rdma && is_set(remarks, "NCCL_NET", "Socket")) return setting_refused("NCCL_NET", "Socket", why);
  const bool verbs = network == NetworkKind::infiniband || network == NetworkKind::ethernet_rdma;
  if (rdma && verbs && is_set(remarks, "NCCL_IB_DISABLE", "1")) return setting_refused("NCCL_IB_DISABLE", "1", why);
  return {};
}

/// Why the machine cannot run what is forced.
std::string unavailable(const NcclSettings& settings, const StatedCall& call) {
  const bool forced =
      settings.algorithm != CollectiveAlgorithm::automatic || settings.protocol != CollectiveProtocol::automatic;
  if (!forced) return {};
  const bool sums =
      settings.algorithm == CollectiveAlgorithm::nvls || settings.algorithm == CollectiveAlgorithm::nvls_tree;
  if (sums && !settings.switch_sums) return "config: NCCL_ALGO asks for NVLS, and NCCL_NVLS_ENABLE=0 has none";
  const bool has_it = algorithms::entry_of(settings.algorithm).kinds.has(call.kind);
  const CollectiveAlgorithm asked = has_it ? settings.algorithm : CollectiveAlgorithm::automatic;
  const auto reason = unavailable_reason(call.kind, asked, settings.protocol, call.group, call.machine);
  return reason ? "config: " + *reason : std::string();
}

}  // namespace

NcclSettings nccl_settings(const std::string& remarks, const StatedCall& call) {
  NcclSettings out;
  out.refusal = unknown_way(remarks, call);
  if (is_set(remarks, "NCCL_NVLS_ENABLE", "0")) out.switch_sums = false;
  if (out.refusal.empty()) read_algorithm(out, remarks);
  if (out.refusal.empty()) read_protocol(out, remarks);
  if (!out.refusal.empty()) return out;
  // Messages between peers take LL or Simple by their size.
  if (call.kind == CollectiveKind::all_to_all || call.kind == CollectiveKind::send_recv)
    out.protocol = CollectiveProtocol::automatic;
  out.refusal = unavailable(out, call);
  return out;
}

void leave_out_switch_sums(Interconnect& net) {
  net.switch_sums = {};
  net.tuner.nvls = 0;
}

}  // namespace stepcast
