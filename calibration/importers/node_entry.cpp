#include "calibration/importers/node_entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "calibration/importers/like_node.hpp"
#include "calibration/importers/pci_devices.hpp"
#include "calibration/importers/text_file.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// The entry while it is put together: every figure with its source and evidence.
class EntryWriter {
 public:
  EntryWriter(std::string id, std::string source) : source_(std::move(source)) {
    document_["id"] = std::move(id);
    evidence_["all"] = "measured";
    sources_["all"] = source_;
  }

  /// A figure that the wiring shows.
  void told(const std::string& key, Json value) { document_[key] = std::move(value); }
  /// A figure that it does not show, and where it is from.
  void assumed(const std::string& key, Json value, const std::string& from) {
    document_[key] = std::move(value);
    explain(key, from);
  }
  void explain(const std::string& key, const std::string& from) {
    sources_[key] = from;
    evidence_[key] = "estimated";
  }
  Json finish(const std::vector<std::string>& notes) {
    document_["sources"] = std::move(sources_);
    document_["evidence"] = std::move(evidence_);
    if (!notes.empty()) document_["note"] = fmt::format("{}", fmt::join(notes, ". "));
    return std::move(document_);
  }

 private:
  std::string source_;
  Json document_ = Json::object(), sources_ = Json::object(), evidence_ = Json::object();
};

class NodeBuilder {
 public:
  NodeBuilder(const Wiring& wiring, const NodeHints& hints, const std::string& file, const Catalog& catalog)
      : wiring_(wiring),  // a copy: what it does not tell is filled in
        hints_(hints),
        catalog_(catalog),
        diagnostics_(file),
        entry_(hints.id, wiring.source),
        notes_(wiring.notes) {}

  Imported build() {
    choose();
    diagnostics_.throw_if_faulty();
    write_accelerators();
    write_host();
    write_interconnect();
    write_nics();
    write_rest();
    diagnostics_.throw_if_faulty();
    Imported out;
    out.document = entry_.finish(notes_);
    out.notes = std::move(notes_);
    out.name = "nodes/" + hints_.id + ".json";
    out.summary = summary_;
    return out;
  }

 private:
  [[nodiscard]] int count() const { return static_cast<int>(wiring_.accelerators.size()); }

  void choose() {
    if (count() == 0 && wiring_.untold_functions > 0) fill_in_functions();
    if (!diagnostics_.ok()) return;
    if (count() == 0) return diagnostics_.error("", "shows no accelerator", "a node needs one at least");
    if (!hints_.like.empty()) like_ = catalog_.find<Node>(hints_.like, "--like", diagnostics_);
    if (!hints_.accelerator.empty()) {
      accelerator_ = catalog_.find<Accelerator>(hints_.accelerator, "--accelerator", diagnostics_);
      if (!like_ && accelerator_) like_ = node_like(wiring_, {accelerator_}, catalog_);
      return;
    }
    if (like_) return take_accelerator_of_like();
    take_accelerator_of_wiring();
  }

  /// A file that lists PCI functions without classes, to be completed on the machine itself: a node that has as many
  /// accelerators and NICs as there are functions says which they are.
  void fill_in_functions() {
    const Node* node =
        hints_.like.empty() ? node_of_platform(wiring_.platform, catalog_) : catalog_.find<Node>(hints_.like);
    int functions = 0;
    if (node)
      for (const Nic& nic : node->nics) functions += nic.count;
    functions += node ? node->accelerator_count : 0;
    if (!node || !node->has_accelerators())
      return diagnostics_.error(
          "",
          fmt::format(
              "{} PCI functions without a class: which are accelerators, and which, is read on the machine itself",
              wiring_.untold_functions),
          "name a node of the catalogue that it is like with --like");
    // AWS's file for g5 lists the accelerators alone.
    const bool accelerators_alone = node->accelerator_count == wiring_.untold_functions;
    if (functions != wiring_.untold_functions && !accelerators_alone)
      return diagnostics_.error(
          "",
          fmt::format("{} PCI functions without a class, but node {} has {} accelerators and NICs",
                      wiring_.untold_functions, node->id, functions),
          "name a node that has as many with --like");
    wiring_.accelerators.resize(static_cast<std::size_t>(node->accelerator_count));
    like_ = node;
    notes_.push_back(
        fmt::format("the {} PCI functions have no class; {} names node {}, which has {} accelerators and {} NICs",
                    wiring_.untold_functions, hints_.like.empty() ? "a comment" : "--like", node->id,
                    node->accelerator_count, functions - node->accelerator_count));
  }

  void take_accelerator_of_like() {
    if (!like_->has_accelerators())
      return diagnostics_.error("--like", fmt::format("node \"{}\" has no accelerators", like_->id));
    accelerator_ = catalog_.find<Accelerator>(like_->accelerator);
    accelerator_from_ = fmt::format("that of node {}, {}", like_->id,
                                    hints_.like.empty() ? "whose platform the file names" : "as asked for");
  }

  void take_accelerator_of_wiring() {
    if (!wiring_.models.empty())
      return diagnostics_.error("", fmt::format("names several accelerators: {}", fmt::join(wiring_.models, ", ")),
                                "say which one the node has with --accelerator");
    const std::vector<const Accelerator*> allowed = accelerators_allowed(wiring_, catalog_);
    if (allowed.empty())
      return diagnostics_.error("", fmt::format("no accelerator of the catalogue is what this shows: {}", facts()),
                                nearest_model() + "name the nearest one with --accelerator");
    like_ = node_of_platform(wiring_.platform, catalog_);
    if (!like_ || like_->accelerator_count != count()) like_ = node_like(wiring_, allowed, catalog_);
    if (allowed.size() > 1 && (!like_ || tells_nothing())) return ask_for_accelerator(allowed);
    // Those that hang on a Grace have as many links: GH200 with either memory, GB200, GB300.
    const bool told = like_ && !wiring_.coherent.value_or(false) && meet_alike(*like_);
    if (like_ && allowed.size() > 1 && !told) return ask_for_accelerator(allowed);
    accelerator_ = like_ ? catalog_.find<Accelerator>(like_->accelerator) : allowed.front();
    if (allowed.size() == 1 && accelerator_ == allowed.front()) return note_only_one();
    accelerator_from_ = fmt::format("that of node {}, the nearest to this wiring", like_->id);
    notes_.push_back(fmt::format(
        "which accelerator it is cannot be told; taken as {}, as in node {}, the nearest to this wiring (--accelerator "
        "chooses; {} fit)",
        accelerator_->id, like_->id,
        allowed.size() > 6 ? fmt::format("{} others", allowed.size() - 1) : names(allowed)));
  }

  /// Of cards that meet over PCIe, without a name, any fits, and what another node has is no reason to take one.
  [[nodiscard]] bool tells_nothing() const {
    const WiredAccelerator& one = wiring_.accelerators.front();
    return one.model.empty() && one.pci.size() <= 5 && one.sm == 0 && one.gcn.empty() && one.switch_links == 0 &&
           wiring_.links.empty() && wiring_.platform.empty();
  }

  /// The only one that the wiring allows is sure where the file says more of it than its links.
  void note_only_one() {
    const WiredAccelerator& one = wiring_.accelerators.front();
    if (!one.model.empty() || one.pci.size() > 5 || one.sm > 0 || !one.gcn.empty()) return;
    accelerator_from_ = "the only one of the catalogue that meets so";
    notes_.push_back(fmt::format(
        "which accelerator it is, links alone tell: of the catalogue only {} meets so (--accelerator chooses)",
        accelerator_->id));
  }

  /// The id that a model's name is spelt nearest to; short names are near to too many.
  [[nodiscard]] std::string nearest_model() const {
    constexpr std::size_t kShort = 6;
    std::string name;
    for (const std::string_view word : words_of(wiring_.accelerators.front().model))
      if (word != "NVIDIA" && word != "AMD" && word != "Tesla" && word != "GeForce" && word != "Instinct")
        name += (name.empty() ? "" : "-") + lower_case(word);
    const std::string meant = name.size() < kShort ? "" : did_you_mean(name, catalog_.ids("accelerators"));
    return meant.empty() ? meant : meant + " ";
  }

  void ask_for_accelerator(const std::vector<const Accelerator*>& allowed) {
    diagnostics_.error(
        "", fmt::format("does not tell which of {} accelerators it has: {}", allowed.size(), facts()),
        fmt::format("name it with --accelerator: {}; or a node that it is like with --like", names(allowed)));
  }

  /// Whether a node's accelerators meet as the wiring shows; one that meets otherwise tells nothing about which they
  /// are.
  [[nodiscard]] bool meet_alike(const Node& node) const {
    const auto* accelerator = catalog_.find<Accelerator>(node.accelerator);
    const int links = accelerator && accelerator->interconnect ? accelerator->interconnect->links : 0;
    if (wiring_.links.empty()) return true;
    const NodeInterconnect shape = interconnect_of_wiring(wiring_, links);
    const NodeInterconnect& other = node.interconnect;
    return shape.kind == other.kind && shape.links_per_accelerator == other.links_per_accelerator &&
           shape.links_per_pair == other.links_per_pair && shape.links.size() == other.links.size();
  }

  [[nodiscard]] std::string facts() const {
    const WiredAccelerator& one = wiring_.accelerators.front();
    std::string out = fmt::format("{} accelerators", count());
    if (!one.model.empty()) out += fmt::format(", model \"{}\"", one.model);
    if (one.pci.size() > 5) out += fmt::format(", PCI id {}", one.pci);
    if (one.sm > 0 && one.gcn.empty()) out += fmt::format(", compute capability {}", one.sm);
    if (!one.gcn.empty()) out += fmt::format(", {}", one.gcn);
    return out;
  }

  static std::string names(const std::vector<const Accelerator*>& accelerators) {
    std::vector<std::string> ids;
    ids.reserve(accelerators.size());
    for (const Accelerator* one : accelerators) ids.push_back(one->id);
    return expected_one_of(ids).substr(std::string_view("expected one of ").size());
  }

  void write_accelerators() {
    if (accelerator_from_.empty()) {
      entry_.told("accelerator", accelerator_->id);
    } else {
      entry_.assumed("accelerator", accelerator_->id, accelerator_from_);
    }
    entry_.told("accelerator_count", count());
    summary_ = fmt::format("node \"{}\", {} × {}", hints_.id, count(), accelerator_->id);
  }

  void write_host() {
    if (like_) {
      const std::string from = fmt::format("node {}, which is like it", like_->id);
      if (!like_->cpu.empty() && (wiring_.cpu_vendor.empty() || cpu_is_of(like_->cpu, wiring_.cpu_vendor, catalog_))) {
        entry_.assumed("cpu", like_->cpu, from);
        entry_.assumed("cpu_count", like_->cpu_count, from);
        if (like_->cpu_link) entry_.assumed("cpu_link", HostLink::fields().write(*like_->cpu_link), from);
      }
      entry_.assumed("memory_GB", like_->memory.in(1_GB), from);
      entry_.assumed("memory_bandwidth_GBps", like_->memory_bandwidth.in(1_GBps), from);
      notes_.push_back(fmt::format("host memory and price are those of node {}, the nearest to it", like_->id));
      return;
    }
    const TypicalHost typical = typical_host(catalog_);
    const std::string from = "median of the catalogue's nodes, per accelerator";
    entry_.assumed("memory_GB",
                   std::round((accelerator_->memory * count() * typical.memory_over_accelerators).in(1_GB)), from);
    entry_.assumed("memory_bandwidth_GBps", std::round((typical.bandwidth_per_accelerator * count()).in(1_GBps)), from);
    notes_.emplace_back(
        "no node of the catalogue has as many such accelerators; host memory is the catalogue's median");
  }

  void write_interconnect() {
    const int links_of_one = accelerator_->interconnect ? accelerator_->interconnect->links : 0;
    NodeInterconnect shape = interconnect_of_wiring(wiring_, links_of_one);
    const bool native = shape.kind != NodeTopology::pcie && shape.kind != NodeTopology::single;
    if (!native && !wiring_.links_told && count() > 1) return write_untold_interconnect(shape);
    if (native) complete(shape);
    const bool of_nvidia_smi = wiring_.accelerators.front().pci == "10de:";
    if (!native && of_nvidia_smi && count() > 1 && accelerator_->interconnect && !by_bridges())
      notes_.push_back(fmt::format(
          "no native link is shown, though {} has them; nvidia-smi topo -mp leaves them out, topo -m does not",
          accelerator_->id));
    if (shape.kind == NodeTopology::pcie && shape.pcie_gen == 0) shape.pcie_gen = accelerator_->pcie_gen;
    note_rack(shape);
    entry_.told("interconnect", as_json(shape));
    if (native) entry_.explain("interconnect.link_bandwidth_GBps", links_from_ + ", as wiring tells no rates");
    describe(shape);
  }

  /// One host's file shows no links to others: of an accelerator that is switched in racks alone, the host is a part.
  void note_rack(const NodeInterconnect& shape) {
    if (shape.kind != NodeTopology::nvswitch || wiring_.hosts > 1) return;
    const auto is_host = [](const Node& node) { return node.interconnect.kind == NodeTopology::nvswitch; };
    const auto is_rack = [&](const Node& node) {
      return hosts_of(node) > 1 && node.accelerator_count == count() * hosts_of(node);
    };
    const Node* rack = node_with(*accelerator_, wiring_, is_rack, catalog_);
    if (!rack || node_with(*accelerator_, wiring_, is_host, catalog_)) return;
    notes_.push_back(fmt::format(
        "native links of {} go on to other hosts, which the file of one does not show: {} of these are a {} of the "
        "catalogue; in this entry they end at the host",
        accelerator_->id, hosts_of(*rack), rack->id));
  }

  /// The file names no native link: what NCCL asks the driver for (NVLink) is the accelerator's and the like node's.
  void write_untold_interconnect(NodeInterconnect shape) {
    const bool linked = like_ && like_->accelerator == accelerator_->id &&
                        like_->interconnect.kind != NodeTopology::pcie && !lacks_bridges();
    if (linked) {
      entry_.assumed("interconnect", as_json(like_->interconnect), fmt::format("node {}, which is like it", like_->id));
      notes_.push_back(fmt::format("native links are not in the file; taken from node {}", like_->id));
      return describe(like_->interconnect);
    }
    if (accelerator_->interconnect && !by_bridges()) {
      shape = NodeInterconnect{};
      shape.kind = NodeTopology::nvswitch;
      shape.links_per_accelerator = accelerator_->interconnect->links;
      shape.per_link = accelerator_->interconnect->per_link;
      shape.generation = accelerator_->interconnect->kind;
      notes_.emplace_back("native links are not in the file; taken as all into switches");
      entry_.assumed("interconnect", as_json(shape), fmt::format("accelerator {}", accelerator_->id));
      return describe(shape);
    }
    if (shape.pcie_gen == 0) shape.pcie_gen = accelerator_->pcie_gen;
    entry_.told("interconnect", as_json(shape));
    notes_.emplace_back("native links are not in the file; taken as none");
    describe(shape);
  }

  /// Native links of a PCIe card are bridges that a machine may do without.
  [[nodiscard]] bool by_bridges() const {
    return accelerator_->interconnect && accelerator_->interconnect->kind.find("bridge") != std::string::npos;
  }

  /// A dump describes its accelerators, with the bridges that there are.
  [[nodiscard]] bool lacks_bridges() const { return by_bridges() && wiring_.accelerators.front().sm > 0; }

  /// Rate and generation of native links.
  void complete(NodeInterconnect& shape) {
    const auto linked = [](const Node& node) { return node.interconnect.per_link.value() > 0; };
    if (accelerator_->interconnect) {
      shape.per_link = accelerator_->interconnect->per_link;
      shape.generation = accelerator_->interconnect->kind;
      links_from_ = fmt::format("accelerator {}", accelerator_->id);
    } else if (const Node* node =
                   like_ && linked(*like_) ? like_ : node_with(*accelerator_, wiring_, linked, catalog_)) {
      shape.per_link = node->interconnect.per_link;
      shape.generation = node->interconnect.generation;
      links_from_ = fmt::format("node {}, which has {}", node->id, node->accelerator);
    }
    if (shape.per_link.value() <= 0)
      diagnostics_.error("/interconnect", fmt::format("the rate of {}'s native links is not known", accelerator_->id),
                         "name a node that has such links with --like");
    check_links(shape);
  }

  void check_links(const NodeInterconnect& shape) {
    const int has = accelerator_->interconnect ? accelerator_->interconnect->links : 0;
    int most = std::max(shape.links_per_accelerator, shape.links_per_pair * (count() - 1));
    std::vector<int> of(static_cast<std::size_t>(count()));
    for (const std::vector<int>& link : shape.links)
      for (const int end : {link[0], link[1]}) most = std::max(most, of[static_cast<std::size_t>(end)] += link[2]);
    if (has > 0 && most > has)
      notes_.push_back(fmt::format("an accelerator shows {} native links, {} has {}", most, accelerator_->id, has));
    if (has > 0 && shape.links_per_accelerator > 0 && shape.links_per_accelerator < has)
      notes_.push_back(fmt::format("{} of {} native links of an accelerator are up", shape.links_per_accelerator, has));
  }

  void describe(const NodeInterconnect& shape) {
    summary_ += fmt::format(", {}", name_of(shape.kind));
    if (shape.links_per_accelerator > 0) summary_ += fmt::format(" ({} links each)", shape.links_per_accelerator);
    if (shape.links_per_pair > 0) summary_ += fmt::format(" ({} links a pair)", shape.links_per_pair);
    if (!shape.links.empty()) summary_ += fmt::format(" ({} linked pairs)", shape.links.size());
  }

  static Json as_json(const NodeInterconnect& shape) {
    Json out{{"kind", name_of(shape.kind)}};
    if (!shape.generation.empty()) out["generation"] = shape.generation;
    if (shape.per_link.value() > 0) out["link_bandwidth_GBps"] = shape.per_link.in(1_GBps);
    if (shape.links_per_accelerator > 0) out["links_per_accelerator"] = shape.links_per_accelerator;
    if (shape.links_per_pair > 0) out["links_per_pair"] = shape.links_per_pair;
    if (!shape.links.empty()) out["links"] = shape.links;
    if (shape.switches > 0) out["switches"] = shape.switches;
    if (shape.pcie_gen > 0) out["pcie_gen"] = shape.pcie_gen;
    if (!shape.note.empty()) out["note"] = shape.note;
    return out;
  }

  /// NICs of equal rate, kind, part and use are one line of the entry.
  void write_nics() {
    if (wiring_.nics.empty()) return write_untold_nics();
    const std::vector<bool> training = training_nics_of(wiring_);
    training_count_ = static_cast<int>(std::count(training.begin(), training.end(), true));
    std::vector<Nic> out;
    for (std::size_t i = 0; i < wiring_.nics.size(); ++i) {
      const WiredNic& seen = wiring_.nics[i];
      Nic nic;
      nic.count = 1;
      nic.bandwidth = rate_of(seen, training[i]);
      nic.kind = seen.kind.value_or(like_kind(seen));
      nic.training = training[i];
      nic.name = seen.part;
      const auto same = [&](const Nic& other) {
        return other.bandwidth == nic.bandwidth && other.kind == nic.kind && other.training == nic.training &&
               other.name == nic.name;
      };
      if (const auto found = std::find_if(out.begin(), out.end(), same); found != out.end()) {
        ++found->count;
      } else {
        out.push_back(nic);
      }
    }
    Json list = Json::array();
    for (const Nic& nic : out) {
      list.push_back(as_json(nic));
      summary_ += fmt::format(", {} × {:g} Gb/s {}{}", nic.count, nic.bandwidth.in(1_Gbps), name_of(nic.kind),
                              nic.training ? "" : " (storage)");
    }
    entry_.told("nics", std::move(list));
    if (!rates_from_.empty()) {
      entry_.explain("nics", rates_from_);
      notes_.push_back("rates of NICs are not in the file; " + rates_from_);
    }
  }

  /// A file that shows no NIC may have been written where none was visible.
  void write_untold_nics() {
    if (wiring_.untold_functions > 0 && like_ && !like_->nics.empty()) {
      Json list = Json::array();
      for (const Nic& nic : like_->nics) list.push_back(as_json(nic));
      return entry_.assumed("nics", std::move(list), fmt::format("node {}, which is like it", like_->id));
    }
    entry_.told("nics", Json::array());
    notes_.emplace_back("no NIC is shown; add them to `nics` before more than one node is simulated");
  }

  BytesPerSecond rate_of(const WiredNic& nic, bool training) {
    if (nic.bandwidth) return *nic.bandwidth;
    if (hints_.nic_bandwidth) return rates_from_ = "--nic-Gbps", *hints_.nic_bandwidth;
    // Of another node with the accelerator only an adapter that this may be.
    const auto may_be = [&](const Nic& one) {
      return nic.kind ? one.kind == *nic.kind : nic_name_allows(nic.name, one.kind);
    };
    const auto has_such = [&](const Node& node) { return std::any_of(node.nics.begin(), node.nics.end(), may_be); };
    const bool of_like = like_ && !like_->nics.empty();
    const Node* node = of_like ? like_ : node_with(*accelerator_, wiring_, has_such, catalog_);
    if (of_like && training && like_->training_nics() != training_count_) {
      const auto has_as_many = [&](const Node& other) {
        return other.training_nics() == training_count_ && has_such(other);
      };
      if (const Node* alike = node_with(*accelerator_, wiring_, has_as_many, catalog_)) node = alike;
    }
    const Nic* other = nullptr;
    if (node)
      for (const Nic& one : node->nics)
        if ((of_like || may_be(one)) && (!other || (one.training == training && other->training != training)))
          other = &one;
    if (other) {
      rates_from_ = fmt::format("taken from node {}, which {}", node->id,
                                node == like_ ? "is like it" : "has " + accelerator_->id);
      return shared_rate(*node, *other);
    }
    if (!rate_missing_)
      diagnostics_.error("/nics", fmt::format("the rate of NIC \"{}\" is not told and cannot be guessed", nic.name),
                         "give it with --nic-Gbps");
    rate_missing_ = true;
    return BytesPerSecond(1);
  }

  /// Of several times as many NICs each is a port of a card, or a card of half the rate: they reach what the other
  /// node's reach together.
  BytesPerSecond shared_rate(const Node& node, const Nic& nic) {
    const int there = node.training_nics();
    if (!nic.training || there == 0 || training_count_ <= there || training_count_ % there != 0) return nic.bandwidth;
    rates_from_ += fmt::format(" and has {} NICs of {:g} Gb/s, whose rate the {} here are taken to share", there,
                               nic.bandwidth.in(1_Gbps), training_count_);
    return nic.bandwidth * (static_cast<double>(there) / training_count_);
  }

  /// Of a NIC whose kind is not told: that of the like node, where the NIC's name allows it.
  [[nodiscard]] NetworkKind like_kind(const WiredNic& seen) const {
    if (like_)
      for (const Nic& one : like_->nics)
        if (nic_name_allows(seen.name, one.kind)) return one.kind;
    return NetworkKind::infiniband;
  }

  static Json as_json(const Nic& nic) {
    Json out{{"count", nic.count}, {"bandwidth_Gbps", nic.bandwidth.in(1_Gbps)}, {"kind", name_of(nic.kind)}};
    if (!nic.training) out["training"] = false;
    if (!nic.name.empty()) out["name"] = nic.name;
    return out;
  }

  void write_rest() {
    if (like_ && like_->price) {
      entry_.assumed("price_like", like_->id, "the node of the catalogue nearest to this wiring");
    } else if (like_ && !like_->price_like.empty()) {
      entry_.assumed("price_like", like_->price_like, "as of node " + like_->id + ", which is like it");
    }
    if (const std::string tree = pcie_tree_text(wiring_); !tree.empty())
      entry_.told("labels", Json{{"pcie_tree", tree}});
  }

  Wiring wiring_;
  const NodeHints& hints_;
  const Catalog& catalog_;
  Diagnostics diagnostics_;
  EntryWriter entry_;
  std::vector<std::string> notes_;
  const Accelerator* accelerator_ = nullptr;
  const Node* like_ = nullptr;
  std::string accelerator_from_, links_from_, rates_from_, summary_;
  int training_count_ = 0;  ///< NICs for training
  bool rate_missing_ = false;
};

}  // namespace

Imported node_entry(const Wiring& wiring, const NodeHints& hints, const std::string& file, const Catalog& catalog) {
  return NodeBuilder(wiring, hints, file, catalog).build();
}

std::string id_of_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool kept = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' || c == '+';
    out += kept ? c : '-';
  }
  while (!out.empty() && (out.front() == '.' || out.front() == '-')) out.erase(out.begin());
  return out.empty() ? "imported" : out.substr(0, 200);
}

}  // namespace stepcast
