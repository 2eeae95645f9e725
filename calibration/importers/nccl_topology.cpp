#include "calibration/importers/nccl_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <utility>

#include "calibration/importers/pci_devices.hpp"
#include "calibration/importers/text_file.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

constexpr int kDeepestElement = 64;
constexpr std::size_t kMostElements = 20000;
/// Twenty times a ConnectX-8's, so that adapters that NCCL merges into one are within it, too.
constexpr double kMostNic_Mbps = 16e6;
/// NCCL's link target where the driver does not show the switch (virtual machines): `fffffff:ffff:ff`, later
/// `fffffff:ff:ff.0`.
bool is_hidden_switch(std::string_view target) { return target.starts_with("fffffff:"); }

// PCI base classes and subclasses (PCI Code and ID Assignment Specification), as the upper 16 bits of the class code.
constexpr unsigned kVga = 0x0300, k3d = 0x0302, kDisplay = 0x0380, kAccelerator = 0x1200, kBridge = 0x0604,
                   kOtherBridge = 0x0680, kEthernet = 0x0200, kInfiniband = 0x0207, kNetworkBase = 0x02;
constexpr unsigned kNvSwitchClass = 0x068000, kPowerCpuClass = 0x068001;

/// `00000000:07:00.0`, as the driver's library writes it, is `0000:07:00.0`.
std::string plain_address(std::string_view address) {
  std::string out = lower_case(address);
  while (out.find(':') > 4 && out.find(':') != std::string::npos && out.front() == '0') out.erase(0, 1);
  return out;
}

/// Domain, bus, device and function in hexadecimal.
bool is_address(std::string_view address) {
  const auto hex = [&](std::size_t least, std::size_t most) {
    std::size_t digits = 0;
    while (digits < address.size() && std::isxdigit(static_cast<unsigned char>(address[digits])) != 0) ++digits;
    address.remove_prefix(digits);
    return digits >= least && digits <= most;
  };
  const auto next = [&](char c) {
    if (address.empty() || address.front() != c) return false;
    address.remove_prefix(1);
    return true;
  };
  return hex(4, 8) && next(':') && hex(2, 4) && next(':') && hex(2, 2) && next('.') && hex(1, 1) && address.empty();
}

/// A link as one end states it.
struct StatedLink {
  int from;
  std::string target;
  int count;
  unsigned target_class;
  std::string where;
};

class TopologyReader {
 public:
  TopologyReader(std::string_view xml, Diagnostics& diagnostics) : xml_(xml), diagnostics_(diagnostics) {}

  Wiring read() {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed =
        document.load_buffer(xml_.data(), xml_.size(), pugi::parse_default | pugi::parse_comments | pugi::parse_doctype,
                             pugi::encoding_utf8);
    if (!parsed) {
      diagnostics_.error(
          "", fmt::format("{}: not valid XML: {}", line_and_column(xml_, static_cast<std::size_t>(parsed.offset)),
                          parsed.description()));
      return {};
    }
    read_document(document);
    if (diagnostics_.ok()) join_links();
    if (diagnostics_.ok()) note_slow_path();
    return std::move(wiring_);
  }

 private:
  void read_document(const pugi::xml_document& document) {
    pugi::xml_node root;
    bool typed = false;
    for (const pugi::xml_node node : document.children()) {
      if (node.type() == pugi::node_comment) note_platform(node.value());
      typed = typed || node.type() == pugi::node_doctype;
      if (node.type() != pugi::node_element) continue;
      if (root) return fault(node, fmt::format("a second root element {}", named(node)));
      root = node;
    }
    if (std::string_view(root.name()) != "system")
      return fault(root, fmt::format("found the root element {}, expected <system>", named(root)),
                   what_else_it_is(root.name()));
    if (typed) return diagnostics_.error("", "declares a document type, which no topology has", "remove <!DOCTYPE …>");
    if (!within_limits(root)) return;
    for (const pugi::xml_node child : elements_of(root)) read_cpu(child);
    if (hosts_.size() > 1) {
      wiring_.hosts = static_cast<int>(hosts_.size());
      wiring_.notes.push_back(fmt::format("{} machines with native links between them are one node", hosts_.size()));
    }
    for (const auto& [name, count] : unknown_elements_)
      wiring_.notes.push_back(fmt::format("{} elements <{}> are of an unknown kind and were left out", count, name));
    if (!virtual_.empty())
      wiring_.notes.push_back(
          fmt::format("interfaces of the operating system alone were left out: {}", fmt::join(virtual_, ", ")));
    if (other_functions_ > 0)
      wiring_.notes.push_back(fmt::format("{} PCI functions are neither accelerators nor NICs", other_functions_));
  }

  /// Files that stand beside topologies, by their root.
  static std::string what_else_it_is(std::string_view root) {
    if (root == "graphs") return "this is a file of NCCL_GRAPH_DUMP_FILE; the topology is that of NCCL_TOPO_DUMP_FILE";
    if (root == "topology") return "this is a file of hwloc (lstopo); the topology is that of NCCL_TOPO_DUMP_FILE";
    if (root == "algo") return "this is an algorithm of MSCCL; the topology is that of NCCL_TOPO_DUMP_FILE";
    return "";
  }

  // Not by recursion: what is too deep for it is what is looked for.
  bool within_limits(pugi::xml_node root) {
    std::size_t elements = 0;
    int depth = 1;
    for (pugi::xml_node at = root; at;) {
      if (++elements > kMostElements) return fault(at, fmt::format("more than {} elements", kMostElements)), false;
      if (depth > kDeepestElement) return fault(at, fmt::format("nested more than {} deep", kDeepestElement)), false;
      if (at.first_child()) {
        at = at.first_child();
        ++depth;
        continue;
      }
      while (at != root && !at.next_sibling()) {
        at = at.parent();
        --depth;
      }
      at = at == root ? pugi::xml_node() : at.next_sibling();
    }
    return true;
  }

  void read_cpu(pugi::xml_node cpu) {
    if (std::string_view(cpu.name()) != "cpu") return unknown(cpu);
    check_attributes(cpu);
    int numa = integer(cpu, "numaid", -1, 4096).value_or(-1);
    host_ = text(cpu, "host_hash");
    if (!host_.empty() && hosts_.insert(host_).second) first_numa_ = next_numa_;
    // Nodes of memory are numbered on, from one machine to the next.
    if (numa >= 0) next_numa_ = std::max(next_numa_, (numa += first_numa_) + 1);
    note_vendor(text(cpu, "vendor"), text(cpu, "arch"));
    for (const pugi::xml_node child : elements_of(cpu)) {
      const std::string_view name = child.name();
      if (name == "pci") {
        read_pci(child, {numa, -1, {}});
      } else if (name == "nic") {
        read_nic(child, {}, {numa, -1, {}});
      } else {
        unknown(child);
      }
    }
  }

  /// A PCIe link by what it carries, and how its file states it.
  struct PcieLink {
    double lanes = 0;  ///< of generation 1 that are as fast; 0: not told
    std::string stated;
  };

  struct Place {
    int numa, bridge;
    PcieLink slowest;  ///< from the processor on
  };

  void read_pci(pugi::xml_node pci, Place place) {
    check_attributes(pci);
    const std::string address = read_address(pci);
    if (const PcieLink own = pcie_link(pci); own.lanes > 0)
      if (place.slowest.lanes == 0 || own.lanes < place.slowest.lanes) place.slowest = own;
    bool inner = false, whole = false;
    for (const pugi::xml_node child : elements_of(pci)) {
      const std::string_view name = child.name();
      inner = true;
      if (name == "pci") {
        if (place.bridge < 0) place.bridge = bridges_++;
        read_pci(child, place);
      } else if (name == "gpu") {
        if (std::exchange(whole, true))
          fault(child,
                fmt::format("a second <gpu> of {}: parts of one accelerator, which a node does not have", named(pci)),
                "the topology of accelerators that are not partitioned");
        read_gpu(child, pci, address, place);
      } else if (name == "nic") {
        read_nic(child, pci, place);
      } else {
        unknown(child);
      }
    }
    if (!inner) read_function(pci, address, place);
  }

  /// Each generation is twice as fast as the one before; a width that is not told is 16 (NCCL's kvDictPciGen and
  /// ncclTopoAddPci, graph/topo.cc).
  PcieLink pcie_link(pugi::xml_node pci) {
    constexpr int kUsualWidth = 16, kWidest = 32;
    const int gen = generation(pci);
    int width = integer(pci, "link_width", 0, 255).value_or(0);
    if (width == 0 || width > kWidest) width = kUsualWidth;
    if (gen == 0) return {};
    return {std::ldexp(width, gen - 1),
            fmt::format("{}, {} lanes of {}", shown(text(pci, "busid")), width, text(pci, "link_speed"))};
  }

  /// 16 lanes of which are as fast as a link, or the next that are no faster; 1 below that.
  static int generation_of(const PcieLink& link) {
    constexpr int kLanes = 16;
    return link.lanes == 0 ? 0 : std::max(1, static_cast<int>(std::floor(std::log2(link.lanes / kLanes))) + 1);
  }

  /// Of accelerators that meet over PCIe, what a node says of it, where their own links are not what counts.
  void note_slow_path() {
    const auto linked = [](const WiredAccelerator& one) { return one.switch_links > 0; };
    const bool other = std::any_of(wiring_.accelerators.begin(), wiring_.accelerators.end(),
                                   [](const WiredAccelerator& one) { return one.path_gen != one.pcie_gen; });
    if (!other || !wiring_.links.empty() || wiring_.accelerators.size() < 2 ||
        std::any_of(wiring_.accelerators.begin(), wiring_.accelerators.end(), linked))
      return;
    const int gen = generation_of(slowest_);
    wiring_.notes.push_back(
        fmt::format("PCIe to accelerators is as fast as its slowest link, {}: taken as 16 lanes of generation {}, {}",
                    slowest_.stated, gen,
                    std::ldexp(16, gen - 1) == slowest_.lanes  ? "which are as fast"
                    : std::ldexp(16, gen - 1) < slowest_.lanes ? "the next that are no faster"
                                                               : "the slowest that there are"));
  }

  std::string read_address(pugi::xml_node pci) {
    const std::string stated = text(pci, "busid");
    if (!pci.attribute("busid")) return fault(pci, "<pci> has no busid"), std::string();
    if (!is_address(stated))
      return fault(pci, fmt::format("busid {} is no PCI address", shown(stated)), "expected one as 0000:10:1c.0"),
             std::string();
    std::string address = host_ + plain_address(stated);
    if (!addresses_.insert(address).second) fault(pci, fmt::format("busid {} is given twice", shown(stated)));
    return address;
  }

  /// A function without inner elements: NCCL would ask the machine about it; here its class must do.
  void read_function(pugi::xml_node pci, const std::string& address, const Place& place) {
    const std::optional<unsigned> code = hexadecimal(pci, "class");
    if (!code) {
      if (!pci.attribute("class")) ++wiring_.untold_functions;
      return;
    }
    const unsigned kind = *code >> 8;
    if (is_accelerator(kind, pci)) {
      add_accelerator(pci, address, place);
    } else if (kind >> 8 == kNetworkBase) {
      add_nic(pci, address, {}, place);
    } else if (*code == kNvSwitchClass && text(pci, "vendor") == "0x10de") {
      ++wiring_.native_switches;
    } else if (kind != kBridge && kind != kOtherBridge) {
      ++other_functions_;
    }
  }

  /// Display controllers of others (a board's management VGA) are none.
  static bool is_accelerator(unsigned kind, pugi::xml_node pci) {
    const std::string vendor = lower_case(pci.attribute("vendor").value());
    const bool of_maker = vendor.empty() || vendor == "0x10de" || vendor == "0x1002" || vendor == "0x1da3";
    return (kind == kVga || k3d == kind || kind == kDisplay || kind == kAccelerator) && of_maker;
  }

  WiredAccelerator& add_accelerator(pugi::xml_node pci, const std::string& address, const Place& place) {
    WiredAccelerator one;
    one.name = address;
    one.pci = ids(pci);
    one.numa = place.numa;
    one.bridge = place.bridge;
    one.pcie_gen = generation(pci);
    one.path_gen = generation_of(place.slowest);
    if (place.slowest.lanes > 0 && (slowest_.lanes == 0 || place.slowest.lanes < slowest_.lanes))
      slowest_ = place.slowest;
    if (!wiring_.accelerators.empty() && wiring_.accelerators.front().pci != one.pci)
      fault(pci, fmt::format("accelerators of two kinds, {} and {}", wiring_.accelerators.front().pci, one.pci),
            "a node of the catalogue has one kind");
    index_of_[address] = static_cast<int>(wiring_.accelerators.size());
    wiring_.accelerators.push_back(std::move(one));
    return wiring_.accelerators.back();
  }

  void read_gpu(pugi::xml_node gpu, pugi::xml_node pci, const std::string& address, const Place& place) {
    check_attributes(gpu);
    const int index = static_cast<int>(wiring_.accelerators.size());
    WiredAccelerator& one = add_accelerator(pci, address, place);
    one.sm = integer(gpu, "sm", 0, 10000).value_or(0);
    if (const std::string gcn = text(gpu, "gcn"); !gcn.empty()) one.gcn = architecture(gcn);
    static_cast<void>(integer(gpu, "dev", 0, 65535));
    static_cast<void>(integer(gpu, "rank", -1, 1 << 30));
    for (const pugi::xml_node child : elements_of(gpu)) {
      const std::string_view name = child.name();
      if (name == "nvlink" || name == "xgmi") {
        read_link(child, index);
      } else if (name == "c2c") {
        wiring_.coherent = true;
      } else if (name != "pcilink") {  // NCCL's note of a path without switch, nothing of its own
        unknown(child);
      }
    }
  }

  /// `gfx942` of `942` (older RCCL) and of `gfx942:sramecc+:xnack-`; 910 is how RCCL once wrote gfx90a.
  static std::string architecture(const std::string& gcn) {
    const std::string plain = gcn.substr(0, gcn.find(':'));
    if (plain == "910") return "gfx90a";
    return plain.starts_with("gfx") ? plain : "gfx" + plain;
  }

  void read_link(pugi::xml_node link, int from) {
    check_attributes(link);
    // A GPU without links is asked about by NCCL itself (xml.cc, ncclTopoGetXmlFromGpu): their absence tells nothing.
    wiring_.links_told = true;
    const std::string target = text(link, "target");
    if (target.empty()) return fault(link, fmt::format("{} has no target", named(link)));
    if (!is_hidden_switch(target) && !is_address(target))
      return fault(link, fmt::format("target {} is no PCI address", shown(target)), "expected one as 0000:10:1c.0");
    const std::optional<int> count = integer(link, "count", 1, 1024);
    if (!link.attribute("count")) return fault(link, fmt::format("{} has no count", named(link)));
    if (count)
      links_.push_back({from, is_hidden_switch(target) ? target : host_ + plain_address(target), *count,
                        hexadecimal(link, "tclass").value_or(0), where(link)});
  }

  void read_nic(pugi::xml_node nic, pugi::xml_node pci, const Place& place) {
    check_attributes(nic);
    for (const pugi::xml_node net : elements_of(nic)) {
      if (std::string_view(net.name()) != "net") {
        unknown(net);
        continue;
      }
      check_attributes(net);
      const std::string name = text(net, "name");
      if (!pci && is_virtual_interface(name)) {
        virtual_.insert(name);
        continue;
      }
      // What hangs on no PCI function stands at every processor.
      if (!pci && !interfaces_.insert(host_ + name + text(net, "dev")).second) continue;
      add_nic(pci, name, net, place);
    }
  }

  void add_nic(pugi::xml_node pci, std::string name, pugi::xml_node net, const Place& place) {
    WiredNic nic;
    nic.numa = place.numa;
    nic.bridge = place.bridge;
    if (const PciNic* known = find_pci_nic(ids(pci))) {
      nic.part = known->part;
      nic.kind = known->ethernet;
      if (known->Gbps > 0) nic.bandwidth = 1_Gbps * known->Gbps;
    }
    // An adapter's sockets are named as Ethernet's, whatever it can do besides.
    if (const auto named_kind = network_of_nic_name(name); named_kind && (!nic.kind || net)) nic.kind = named_kind;
    const unsigned pci_class = hexadecimal(pci, "class").value_or(0) >> 8;
    if (pci_class == kInfiniband) nic.kind = NetworkKind::infiniband;
    if (pci_class == kEthernet && !nic.kind && !nic_name_allows(name, NetworkKind::ethernet_tcp))
      nic.kind = NetworkKind::ethernet_rdma;
    if (const auto speed = number(net, "speed", -1, 1e9); speed && *speed > 0) take_speed(*speed, nic);
    nic.name = std::move(name);
    wiring_.nics.push_back(std::move(nic));
  }

  /// Mb/s, but plugins have written kb/s (the one of Slingshot's adapters): what no adapter reaches is not taken.
  void take_speed(double stated_Mbps, WiredNic& nic) {
    if (stated_Mbps <= kMostNic_Mbps) return void(nic.bandwidth = 1_Gbps * (stated_Mbps / 1e3));
    const std::string note =
        fmt::format("a NIC's speed of {:g} Gb/s is none that a NIC has, and was not taken", stated_Mbps / 1e3);
    if (std::find(wiring_.notes.begin(), wiring_.notes.end(), note) == wiring_.notes.end())
      wiring_.notes.push_back(note);
  }

  /// Pairs the statements of both ends.
  void join_links() {
    std::map<std::pair<int, int>, std::pair<int, std::string>> stated;
    std::set<std::string> switches, absent;
    for (const StatedLink& link : links_) {
      const auto found = index_of_.find(link.target);
      if (found != index_of_.end()) {
        auto& [count, first] = stated[{link.from, found->second}];
        if (count > 0)
          return diagnostics_.error(
              "", fmt::format("{}: links to {} are given twice, first at {}", link.where, link.target, first));
        count = link.count;
        first = link.where;
      } else if (link.target_class == kNvSwitchClass || is_hidden_switch(link.target) || link.target_class == 0) {
        wiring_.accelerators[static_cast<std::size_t>(link.from)].switch_links += link.count;
        if (!is_hidden_switch(link.target)) switches.insert(link.target);
      } else if (link.target_class == kPowerCpuClass) {
        to_cpu_ += link.count;
      } else {
        absent.insert(link.target);
      }
    }
    for (const auto& [ends, link] : stated) join(ends, link, stated);
    if (to_itself_ > 0)
      wiring_.notes.push_back(fmt::format("links of {} accelerators to themselves were left out", to_itself_));
    if (!switches.empty()) wiring_.native_switches = static_cast<int>(switches.size());
    check_switch_links();
    for (const std::string& target : absent)
      wiring_.notes.push_back(fmt::format("links to {}, which is not in the file, were left out", target));
    if (to_cpu_ > 0) wiring_.notes.emplace_back("native links to the processor are not kept: a node has none");
    if (wiring_.coherent)
      wiring_.notes.emplace_back("the coherent link to the processor is the accelerator's (cpu_link)");
  }

  void join(std::pair<int, int> ends, const std::pair<int, std::string>& link, const auto& stated) {
    const auto [from, to] = ends;
    if (from == to) return void(++to_itself_);  // ports that loop back, as those of a card without its bridge
    const auto back = stated.find({to, from});
    if (back != stated.end() && back->second.first != link.first && from < to)
      return diagnostics_.error("", fmt::format("{}: {} links, but the other end counts {} at {}", link.second,
                                                link.first, back->second.first, back->second.second));
    if (from < to || back == stated.end())
      wiring_.links.push_back({std::min(from, to), std::max(from, to), link.first});
  }

  void check_switch_links() {
    std::set<int> counts;
    for (const WiredAccelerator& one : wiring_.accelerators) counts.insert(one.switch_links);
    if (counts.size() < 2) return;
    std::vector<std::string> each;
    for (const WiredAccelerator& one : wiring_.accelerators)
      each.push_back(fmt::format("{} {}", one.name, one.switch_links));
    wiring_.notes.push_back(fmt::format(
        "accelerators have different numbers of links into switches, taken as the highest: {}", fmt::join(each, ", ")));
  }

  // What an element says.

  static std::vector<pugi::xml_node> elements_of(pugi::xml_node node) {
    std::vector<pugi::xml_node> out;
    for (const pugi::xml_node child : node.children())
      if (child.type() == pugi::node_element) out.push_back(child);
    return out;
  }

  static std::string text(pugi::xml_node node, const char* attribute) { return node.attribute(attribute).value(); }

  std::optional<int> integer(pugi::xml_node node, const char* attribute, int least, int most) {
    const std::string stated = text(node, attribute);
    if (!node.attribute(attribute)) return std::nullopt;
    int value = 0;
    const auto [end, error] = std::from_chars(stated.data(), stated.data() + stated.size(), value);
    if (error == std::errc{} && end == stated.data() + stated.size() && value >= least && value <= most) return value;
    fault(node, fmt::format("{} {} of {}, expected a whole number from {} to {}", attribute, shown(stated), named(node),
                            least, most));
    return std::nullopt;
  }

  std::optional<double> number(pugi::xml_node node, const char* attribute, double least, double most) {
    const std::string stated = text(node, attribute);
    if (!node.attribute(attribute)) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(stated.data(), stated.data() + stated.size(), value);
    if (error == std::errc{} && end == stated.data() + stated.size() && value >= least && value <= most) return value;
    fault(node, fmt::format("{} {} of {}, expected a number from {} to {:g}", attribute, shown(stated), named(node),
                            least, most));
    return std::nullopt;
  }

  std::optional<unsigned> hexadecimal(pugi::xml_node node, const char* attribute) {
    const std::string stated = text(node, attribute);
    if (!node.attribute(attribute)) return std::nullopt;
    unsigned value = 0;
    const bool prefixed = stated.size() > 2 && stated[0] == '0' && (stated[1] == 'x' || stated[1] == 'X');
    const char* start = stated.data() + (prefixed ? 2 : 0);
    const auto [end, error] = std::from_chars(start, stated.data() + stated.size(), value, 16);
    if (error == std::errc{} && end == stated.data() + stated.size()) return value;
    fault(node,
          fmt::format("{} {} of {}, expected hexadecimal digits as 0x030200", attribute, shown(stated), named(node)));
    return std::nullopt;
  }

  /// `10de:20b0`; empty without both.
  static std::string ids(pugi::xml_node pci) {
    const auto digits = [&](const char* attribute) {
      const std::string stated = lower_case(pci.attribute(attribute).value());
      return stated.substr(0, 2) == "0x" ? stated.substr(2) : stated;
    };
    const std::string vendor = digits("vendor"), device = digits("device");
    return vendor.empty() || device.empty() || vendor == "ffff" ? "" : vendor + ":" + device;
  }

  /// From `16 GT/s`, `16.0 GT/s PCIe`; 0 for `Unknown`. Source: the PCI Express Base Specification's rates.
  int generation(pugi::xml_node pci) {
    const std::string stated = text(pci, "link_speed");
    double rate = 0;
    std::from_chars(stated.data(), stated.data() + stated.size(), rate);
    constexpr std::array kRates{2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
    const auto found = std::find(kRates.begin(), kRates.end(), rate);
    return found == kRates.end() ? 0 : static_cast<int>(found - kRates.begin()) + 1;
  }

  void check_attributes(pugi::xml_node node) {
    std::set<std::string_view> seen;
    for (const pugi::xml_attribute attribute : node.attributes())
      if (!seen.insert(attribute.name()).second)
        fault(node, fmt::format("{} gives {} twice", named(node), shown(attribute.name())));
  }

  void note_vendor(const std::string& vendor, const std::string& arch) {
    if (vendor.find("Intel") != std::string::npos) wiring_.cpu_vendor = "GenuineIntel";
    if (vendor.find("AMD") != std::string::npos) wiring_.cpu_vendor = "AuthenticAMD";
    if (arch == "arm64") wiring_.cpu_vendor = "ARM";
  }

  /// Clouds say in a comment what the file is for: "for `p4d.24xlarge` platform type".
  void note_platform(std::string_view comment) {
    if (!wiring_.platform.empty() || comment.find("platform") == std::string_view::npos) return;
    const auto start = comment.find('`');
    const auto end = start == std::string_view::npos ? start : comment.find('`', start + 1);
    if (end != std::string_view::npos && end - start < 100)
      wiring_.platform = comment.substr(start + 1, end - start - 1);
  }

  void unknown(pugi::xml_node node) { ++unknown_elements_[shown(node.name())]; }

  [[nodiscard]] std::string where(pugi::xml_node node) const {
    return line_and_column(xml_, static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, node.offset_debug())));
  }
  static std::string named(pugi::xml_node node) {
    return fmt::format("<{}>", std::string_view(node.name()).substr(0, 60));
  }
  void fault(pugi::xml_node node, const std::string& message, std::string suggestion = {}) {
    diagnostics_.error("", fmt::format("{}: {}", where(node), message), std::move(suggestion));
  }

  std::string_view xml_;
  Diagnostics& diagnostics_;
  Wiring wiring_;
  std::vector<StatedLink> links_;
  std::map<std::string, int> index_of_;
  std::string host_;  ///< of the processor being read: addresses are its own
  std::set<std::string> addresses_, hosts_, interfaces_, virtual_;
  std::map<std::string, int> unknown_elements_;
  int first_numa_ = 0, next_numa_ = 0;  ///< of the machine being read, and of the next
  PcieLink slowest_;                    ///< between any accelerator and its processor
  int bridges_ = 0, other_functions_ = 0, to_cpu_ = 0, to_itself_ = 0;
};

}  // namespace

Wiring read_nccl_topology(std::string_view xml, Diagnostics& diagnostics) {
  return TopologyReader(xml, diagnostics).read();
}

}  // namespace stepcast
