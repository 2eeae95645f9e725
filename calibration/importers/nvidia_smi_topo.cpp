#include "calibration/importers/nvidia_smi_topo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "calibration/importers/log_prefix.hpp"
#include "calibration/importers/pci_devices.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kMostDevices = 512;

/// The number of a `GPU7`; nothing for other words.
std::optional<int> gpu_number(std::string_view word) {
  return word.starts_with("GPU") ? whole_number(word.substr(3)) : std::nullopt;
}

/// Words of a header, with the titles of several words as one.
std::vector<std::string_view> header_words(std::string_view line, std::vector<std::string_view>& titles) {
  constexpr std::array kTitles{std::string_view("CPU Affinity"), std::string_view("NUMA Affinity"),
                               std::string_view("GPU NUMA ID")};
  std::size_t devices_end = line.size();
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const std::string_view title : kTitles) {
    const auto at = line.find(title);
    if (at == std::string_view::npos) continue;
    found.emplace_back(at, title);
    devices_end = std::min(devices_end, at);
  }
  std::sort(found.begin(), found.end());
  for (const auto& [at, title] : found) titles.push_back(title);
  return words_of(line.substr(0, devices_end));
}

/// Whether `GPU 0` or `GPU 0,1,2` is what a line of nvidia-smi -L begins with.
bool is_number_list(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789,") == std::string_view::npos;
}

/// What nvidia-smi topo -p2p prints in the cells of another matrix: whether two devices may reach one another.
bool is_reachability(std::string_view word) {
  constexpr std::array kStates{std::string_view("OK"),  std::string_view("NS"),  std::string_view("CNS"),
                               std::string_view("GNS"), std::string_view("TNS"), std::string_view("DR"),
                               std::string_view("U")};
  return std::find(kStates.begin(), kStates.end(), word) != kStates.end();
}

/// How two devices meet: links (NV#), or how far apart, nearest first.
enum class Relation { self, native, pix, pxb, phb, node, sys };

struct Cell {
  Relation relation;
  int links = 0;
};

std::optional<Cell> parse_cell(std::string_view word) {
  if (word == "X") return Cell{Relation::self};
  if (word == "PIX") return Cell{Relation::pix};
  if (word == "PSB") return Cell{Relation::pix};  // one board's own switch, as of a K80
  if (word == "PXB") return Cell{Relation::pxb};
  if (word == "PHB") return Cell{Relation::phb};
  if (word == "NODE") return Cell{Relation::node};
  if (word == "SYS" || word == "SOC") return Cell{Relation::sys};  // SOC: before driver 384
  if (!word.starts_with("NV")) return std::nullopt;
  const std::optional<int> links = whole_number(word.substr(2));
  if (!links || *links < 1 || *links > 1024) return std::nullopt;
  return Cell{Relation::native, *links};
}

/// Models that a text names, each once: those of cut names count where no whole one is there.
class ListedModels {
 public:
  /// Of lines that state a device in one of the forms of nvidia-smi. `GPU 0: …` of -L is read apart, as it counts by
  /// itself.
  explicit ListedModels(const std::vector<std::string_view>& lines) {
    for (const std::string_view line : lines) {
      if (line.find('|') != std::string_view::npos)
        of_table(line);
      else if (const auto colon = line.find(" : "); trimmed(line).starts_with("Product Name"))
        add_known(colon == std::string_view::npos ? "" : trimmed(line.substr(colon + 3)));
      else
        of_query(line);
    }
  }

  [[nodiscard]] std::vector<std::string> names() const { return whole_.empty() ? cut_ : whole_; }

 private:
  /// `|   0  NVIDIA B200        On  | 00000000:9D:00.0 Off |`, as nvidia-smi without arguments prints: before the name
  /// the number, behind it the mode of persistence.
  void of_table(std::string_view line) {
    const std::string_view first = line.substr(line.find('|') + 1);
    const std::string_view cell = trimmed(first.substr(0, first.find('|')));
    const std::vector<std::string_view> words = words_of(cell);
    if (words.size() < 3 || !whole_number(words.front()) || (words.back() != "On" && words.back() != "Off")) return;
    const std::string_view behind = trimmed(cell.substr(words.front().size()));
    add(trimmed(behind.substr(0, behind.size() - words.back().size())));
  }

  /// `0, NVIDIA H200, 143771 MiB`, as --query-gpu prints: the column `name`, or what is known as a model.
  void of_query(std::string_view line) {
    std::vector<std::string_view> cells;
    for (std::string_view rest = line; !rest.empty();) {
      const auto comma = rest.find(',');
      cells.push_back(trimmed(rest.substr(0, comma)));
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
    const auto title = std::find_if(cells.begin(), cells.end(),
                                    [](std::string_view cell) { return cell == "name" || cell == "gpu_name"; });
    if (title != cells.end()) {
      columns_ = cells.size();
      name_column_ = static_cast<std::size_t>(title - cells.begin());
    } else if (columns_ > 1 && cells.size() == columns_) {
      add(cells[name_column_]);
    } else {
      columns_ = 0;
      for (const std::string_view cell : cells) add_known(cell);
    }
  }

  /// A name and nothing else: sentences name models, too.
  void add_known(std::string_view cell) {
    constexpr std::size_t kMostWords = 7;  // NVIDIA RTX PRO 6000 Blackwell Server Edition
    constexpr std::array kMakers{std::string_view("NVIDIA "), std::string_view("Tesla "), std::string_view("GeForce "),
                                 std::string_view("Quadro ")};
    const std::size_t words = words_of(cell).size();
    const bool begins = words == 1 || std::any_of(kMakers.begin(), kMakers.end(),
                                                  [&](std::string_view maker) { return cell.starts_with(maker); });
    if (begins && words <= kMostWords && !accelerator_of_model(cell).empty()) add(cell);
  }

  void add(std::string_view name) {
    std::vector<std::string>& list = name.ends_with("...") ? cut_ : whole_;
    const auto same = [&](const std::string& other) {
      const auto id = accelerator_of_model(name);
      return other == name || (!id.empty() && id == accelerator_of_model(other));
    };
    if (!name.empty() && std::none_of(list.begin(), list.end(), same)) list.emplace_back(name);
  }

  std::vector<std::string> whole_, cut_;
  std::size_t columns_ = 0, name_column_ = 0;
};

class MatrixReader {
 public:
  MatrixReader(std::string_view text, Diagnostics& diagnostics) : lines_(lines_of(text)), diagnostics_(diagnostics) {}

  Wiring read() {
    find_header();
    if (names_.empty())
      return diagnostics_.error("", "has no matrix: no line lists devices as GPU0 GPU1 …",
                                "expected what nvidia-smi topo -m prints"),
             Wiring{};
    if (!read_rows()) return {};
    check_mirror();
    if (!diagnostics_.ok()) return {};
    if (model_.empty()) take_listed_model();
    collect();
    return std::move(wiring_);
  }

 private:
  void find_header() {
    for (; line_ < lines_.size() && names_.empty(); ++line_) {
      std::vector<std::string_view> titles;
      const std::vector<std::string_view> words = header_words(lines_[line_], titles);
      note_model(lines_[line_]);
      // A row of the matrix starts with a device too, but a relation follows it.
      const bool header =
          !words.empty() && gpu_number(words.front()) && (words.size() == 1 ? !titles.empty() : !parse_cell(words[1]));
      if (!header) continue;
      names_.assign(words.begin(), words.end());
      titles_ = std::move(titles);
    }
    if (names_.size() > kMostDevices) {
      fault(line_, fmt::format("{} devices, more than {}", names_.size(), kMostDevices));
      names_.clear();
    }
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (!index_.emplace(names_[i], i).second)
        fault(line_, fmt::format("device {} is listed twice", shown(names_[i])));
  }

  /// `GPU 0: NVIDIA A100-SXM4-80GB (UUID: …)`, as nvidia-smi -L prints; reports of environments also write `GPU 0,1:
  /// …`.
  void note_model(std::string_view line) {
    line = trimmed(line);
    if (!line.starts_with("GPU ") || !model_.empty()) return;
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos || !is_number_list(line.substr(4, colon - 4))) return;
    model_ = trimmed(line.substr(colon + 2, line.find(" (UUID") - colon - 2));
  }

  void take_listed_model() {
    std::vector<std::string> names = ListedModels(lines_).names();
    if (names.size() == 1)
      model_ = names.front();
    else
      wiring_.models = std::move(names);
  }

  bool read_rows() {
    cells_.assign(names_.size(), {});
    for (; line_ < lines_.size(); ++line_) {
      const std::string_view line = trimmed(lines_[line_]);
      const std::vector<std::string_view> words = words_of(line);
      if (line.starts_with("Legend")) continue;
      if (line.starts_with("NIC Legend")) continue;
      if (words.empty()) continue;
      if (words.front().back() == ':') {
        read_legend(words);
        continue;
      }
      note_model(line);
      const auto found = index_.find(std::string(words.front()));
      if (found == index_.end()) {
        // `X = Self` and the rest of the legend, a prompt; but a row of a device that the header lacks is a fault.
        if (words.size() > 2 && gpu_number(words.front()) && parse_cell(words[1]))
          fault(line_ + 1, fmt::format("row {} has no column", shown(words.front())));
        continue;
      }
      read_row(found->second, words);
    }
    if (diagnostics_.ok()) mirror_nics();
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (cells_[i].empty() && diagnostics_.ok())
        diagnostics_.error("", fmt::format("device {} has a column and no row", shown(names_[i])),
                           "is the matrix cut off?");
    return diagnostics_.ok();
  }

  /// Where people paste the rows of GPUs alone, these tell how the NICs meet them; how NICs meet each other nobody
  /// asks.
  void mirror_nics() {
    const auto lacks = [&](std::size_t i) { return cells_[i].empty(); };
    bool any = false;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (lacks(i) && gpu_number(names_[i])) return;
      any = any || lacks(i);
    }
    if (!any) return;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!lacks(i)) continue;
      std::vector<Cell> row(names_.size(), Cell{Relation::sys});
      for (std::size_t j = 0; j < names_.size(); ++j)
        if (!lacks(j) && gpu_number(names_[j])) row[j] = cells_[j][i];
      row[i] = Cell{Relation::self};
      mirrored_.emplace_back(i, std::move(row));
    }
    for (auto& [i, row] : mirrored_) cells_[i] = std::move(row);
    for (const auto& [a, unused] : mirrored_)
      for (std::size_t b = 0; b < names_.size(); ++b)
        if (!gpu_number(names_[b])) cells_[b][a] = cells_[a][b];
    wiring_.notes.emplace_back("NICs have no rows of their own; the rows of GPUs tell how they meet");
  }

  [[nodiscard]] bool has_all_rows() const {
    return std::none_of(cells_.begin(), cells_.end(), [](const auto& row) { return row.empty(); });
  }

  /// What begins with a device once the matrix is whole is another one: of another node, or of topo -p2p.
  void pass_over() {
    constexpr const char* kNote = "the file holds several matrices; the first was taken";
    if (wiring_.notes.empty()) wiring_.notes.emplace_back(kNote);
  }

  void read_row(std::size_t row, const std::vector<std::string_view>& words) {
    if (has_all_rows()) return pass_over();
    if (!cells_[row].empty()) return fault(line_ + 1, fmt::format("a second row of {}", shown(words.front())));
    if (words.size() < names_.size() + 1)
      return fault(line_ + 1,
                   fmt::format("row {} has {} relations, expected {}", words.front(), words.size() - 1, names_.size()));
    if (std::any_of(words.begin() + 1, words.end(), is_reachability))
      return fault(line_ + 1, "is of the matrix of nvidia-smi topo -p2p, which shows no links; expected topo -m");
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::optional<Cell> cell = parse_cell(words[i + 1]);
      if (!cell)
        fault(line_ + 1,
              fmt::format("{} between {} and {} is no relation, expected one of X, NV#, PIX, PXB, PHB, NODE, SYS",
                          shown(words[i + 1]), names_[row], names_[i]));
      if (cell && (cell->relation == Relation::self) != (i == row))
        fault(line_ + 1, fmt::format("X stands for a device and itself, not for {} and {}", names_[row], names_[i]));
      cells_[row].push_back(cell.value_or(Cell{Relation::sys}));
    }
    read_affinity(row, {words.begin() + static_cast<long>(names_.size()) + 1, words.end()});
  }

  void read_affinity(std::size_t row, const std::vector<std::string_view>& words) {
    if (words.size() > titles_.size())
      return fault(line_ + 1, fmt::format("row {} has {} words after its relations, expected at most {}", names_[row],
                                          words.size(), titles_.size()));
    for (std::size_t i = 0; i < words.size(); ++i) {
      // `0,2-17` on a Grace: the first is the processor's, the others memory of accelerators.
      if (titles_[i] == "NUMA Affinity")
        numa_[row] = whole_number(words[i].substr(0, words[i].find_first_of(",-"))).value_or(-1);
      if (titles_[i] == "GPU NUMA ID") note_memory(words[i]);
    }
  }

  /// Memory that is a NUMA node of its own is coherent: the accelerator hangs on a Grace. Others have N/A there.
  void note_memory(std::string_view node) {
    wiring_.coherent = wiring_.coherent.value_or(false) || whole_number(node).has_value();
    if (*wiring_.coherent) wiring_.cpu_vendor = "ARM";
  }

  /// `NIC0: mlx5_0`.
  void read_legend(const std::vector<std::string_view>& words) {
    const std::string_view name = words.front().substr(0, words.front().size() - 1);
    if (words.size() == 2 && index_.count(std::string(name)) > 0) driver_names_.emplace(name, words[1]);
  }

  void check_mirror() {
    for (std::size_t a = 0; a < names_.size(); ++a)
      for (std::size_t b = a + 1; b < names_.size(); ++b)
        if (cells_[a][b].relation != cells_[b][a].relation || cells_[a][b].links != cells_[b][a].links)
          diagnostics_.error("", fmt::format("{} and {} meet in two ways: the matrix differs from its mirror image",
                                             names_[a], names_[b]));
  }

  /// Devices that meet below the host bridge are behind one PCIe switch.
  std::vector<int> switches() {
    std::vector<std::size_t> leader(names_.size());
    std::iota(leader.begin(), leader.end(), 0U);
    for (std::size_t a = 0; a < names_.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (cells_[a][b].relation == Relation::pix || cells_[a][b].relation == Relation::pxb)
          std::replace(leader.begin(), leader.end(), leader[a], leader[b]);
    std::vector<int> out;
    std::map<std::size_t, int> number;
    for (const std::size_t one : leader) {
      const bool alone = std::count(leader.begin(), leader.end(), one) == 1;
      out.push_back(alone ? -1 : number.emplace(one, static_cast<int>(number.size())).first->second);
    }
    return out;
  }

  void collect() {
    const std::vector<int> bridges = switches();
    std::map<std::size_t, int> accelerator_of;
    wiring_.links_told = true;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const int numa = numa_.count(i) > 0 ? numa_.at(i) : -1;
      if (gpu_number(names_[i])) {
        accelerator_of[i] = static_cast<int>(wiring_.accelerators.size());
        WiredAccelerator one;
        one.name = names_[i];
        one.pci = "10de:";  // NVIDIA's; which one only the model tells
        one.model = model_;
        one.numa = numa;
        one.bridge = bridges[i];
        wiring_.accelerators.push_back(std::move(one));
      } else {
        wiring_.nics.push_back(nic(names_[i], numa, bridges[i]));
      }
    }
    place_nics();
    for (const auto& [a, from] : accelerator_of)
      for (const auto& [b, to] : accelerator_of)
        if (from < to && cells_[a][b].links > 0) wiring_.links.push_back({from, to, cells_[a][b].links});
  }

  WiredNic nic(const std::string& name, int numa, int bridge) {
    const auto driver = driver_names_.find(name);
    WiredNic out;
    out.name = driver == driver_names_.end() ? name : driver->second;
    out.kind = network_of_nic_name(out.name);
    out.numa = numa;
    out.bridge = bridge;
    return out;
  }

  /// Rows of adapters have no NUMA node: it is that of the accelerator they meet nearest.
  void place_nics() {
    std::size_t nic = 0;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (gpu_number(names_[i])) continue;
      WiredNic& out = wiring_.nics[nic++];
      Relation nearest = Relation::sys;
      for (std::size_t a = 0; a < names_.size(); ++a) {
        if (!gpu_number(names_[a]) || cells_[i][a].relation >= nearest || out.numa >= 0) continue;
        nearest = cells_[i][a].relation;
        if (numa_.count(a) > 0) out.numa = numa_.at(a);
      }
    }
  }

  void fault(std::size_t line, const std::string& message) {
    diagnostics_.error("", fmt::format("line {}: {}", line, message));
  }

  std::vector<std::string_view> lines_;
  Diagnostics& diagnostics_;
  std::size_t line_ = 0;
  std::vector<std::string> names_;
  std::vector<std::string_view> titles_;
  std::map<std::string, std::size_t> index_;
  std::vector<std::vector<Cell>> cells_;
  std::vector<std::pair<std::size_t, std::vector<Cell>>> mirrored_;  ///< rows of NICs that the matrix lacks
  std::map<std::size_t, int> numa_;
  std::map<std::string, std::string> driver_names_;
  std::string model_;
  Wiring wiring_;
};

}  // namespace

Wiring read_nvidia_smi_topo(std::string_view text, Diagnostics& diagnostics) {
  const std::string plain = without_log_prefixes(text);
  return MatrixReader(plain, diagnostics).read();
}

std::string without_log_prefixes(std::string_view text) {
  const std::string plain = without_escapes(text);
  const std::vector<std::string_view> lines = lines_of(plain);
  LogPrefix prefix;
  for (const std::string_view line : lines) {
    const auto first = line.find("GPU0");
    if (first == std::string_view::npos) continue;
    const std::vector<std::string_view> words = words_of(line.substr(first));
    if (words.size() < 2 || (words[1] != "GPU1" && words[1] != "CPU")) continue;
    prefix.learn(line.substr(0, first));
    break;
  }
  std::string out;
  for (const std::string_view line : lines) {
    out += prefix.strip(line);
    out += '\n';
  }
  return out;
}

Wiring read_smi_topo(std::string_view text, Diagnostics& diagnostics) {
  const bool rocm = text.find("Link Type between two GPUs") != std::string_view::npos ||
                    text.find("ROCm System Management Interface") != std::string_view::npos ||
                    text.find("LINK TYPE TABLE") != std::string_view::npos;
  return rocm ? read_rocm_smi_topo(text, diagnostics) : read_nvidia_smi_topo(text, diagnostics);
}

}  // namespace stepcast
