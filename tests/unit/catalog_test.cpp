#include "hardware-catalog/catalog.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>

#include "tests/scratch_folder.hpp"

namespace stepcast::catalog_test {
namespace {

namespace fs = std::filesystem;

const fs::path kShipped = fs::path(STEPCAST_SOURCE_DIR) / "hardware-catalog";

const Catalog& shipped() {
  static const Catalog catalog({kShipped});
  return catalog;
}

/// A catalogue directory of the user's that lasts as long as the test.
class UserDirectory {
 public:
  fs::path write(const std::string& kind, const std::string& id, const std::string& text) const {
    fs::create_directories(folder_ / kind);
    fs::path file = folder_ / kind / (id + ".json");
    std::ofstream(file) << text;
    return file;
  }
  [[nodiscard]] const fs::path& path() const { return folder_.path(); }

 private:
  ScratchFolder folder_;
};

std::vector<Fault> faults_of(const fs::path& file) {
  Diagnostics diagnostics("");
  Catalog::validate(file, diagnostics);
  return diagnostics.faults();
}

std::string text_of(const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) text += fault.text() + "\n";
  return text;
}

/// Whether some fault is at a pointer and says something.
bool has_fault(const std::vector<Fault>& faults, const std::string& pointer, const std::string& message) {
  for (const Fault& fault : faults)
    if (fault.pointer == pointer && fault.message.find(message) != std::string::npos) return true;
  return false;
}

TEST(ShippedCatalogue, EveryEntryIsValidAndRefersToOthersThatExist) {
  Diagnostics diagnostics("");
  shipped().validate_all(diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << text_of(diagnostics.faults());
}

TEST(ShippedCatalogue, HasAllItsEntries) {
  const std::map<std::string, std::size_t> least{{"accelerators", 66},
                                                 {"cpus", 40},
                                                 {"nodes", 104},
                                                 {"links", 97},
                                                 {"switches", 31},
                                                 {"storage", 46},
                                                 {"psus", 20},
                                                 {"cooling", 12},
                                                 {"sites", 74},
                                                 {"reliability", 71},
                                                 {"power", 70},
                                                 {"compute-profiles", 14},
                                                 {"operator-profiles", 8},
                                                 {"link-profiles", 7},
                                                 {"network-profiles", 10},
                                                 {"library-profiles", 2}};
  for (const std::string& kind : Catalog::kinds()) EXPECT_GE(shipped().ids(kind).size(), least.at(kind)) << kind;
}

TEST(ShippedCatalogue, SchemasAreThoseOfTheFieldTables) {
  for (const std::string& kind : Catalog::kinds()) {
    Diagnostics diagnostics("");
    const Json stored = read_json(kShipped / "schema" / (kind + ".schema.json"), diagnostics);
    EXPECT_EQ(stored, Catalog::schema(kind))
        << "stepcast catalog schema " << kind << " > hardware-catalog/schema/" << kind << ".schema.json";
  }
}

TEST(ShippedCatalogue, NoSourceIsEmpty) {
  for (const std::string& kind : Catalog::kinds())
    for (const std::string& id : shipped().ids(kind)) {
      const Json sources = shipped().show(kind, id)["sources"];
      for (const auto& source : sources.items())
        EXPECT_GT(source.value().get<std::string>().size(), 3U) << kind << "/" << id << " " << source.key();
    }
}

TEST(ShippedCatalogue, FieldTableWritesWhatItRead) {
  for (const std::string& id : shipped().ids("nodes")) {
    const Node* node = shipped().find<Node>(id);
    Diagnostics diagnostics(id);
    const Node again = read_document<Node>(Node::fields().write(*node), diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << text_of(diagnostics.faults());
    EXPECT_EQ(Node::fields().write(again), Node::fields().write(*node)) << id;
  }
}

struct PublishedFigure {
  const char* kind;
  const char* id;
  const char* pointer;
  double value;
};

// Checked against the makers' documents, not against the data that the catalogue was made from.
const std::vector<PublishedFigure> kPublished{
    // NVIDIA V100 datasheet (2020-01): 125 tensor TFLOPS, 900 GB/s, 300 W for SXM2
    {"accelerators", "v100-sxm2-32gb", "/peak_TFLOPS/fp16", 125},
    {"accelerators", "v100-sxm2-32gb", "/memory_bandwidth_GBps", 900},
    {"accelerators", "v100-sxm2-32gb", "/tdp_W", 300},
    // NVIDIA A100 datasheet (2021-06): 312 bf16, 2,039 GB/s and 400 W for 80 GB SXM; 1,935 GB/s and 300 W for PCIe
    {"accelerators", "a100-sxm-80gb", "/peak_TFLOPS/bf16", 312},
    {"accelerators", "a100-sxm-80gb", "/peak_TFLOPS/tf32", 156},
    {"accelerators", "a100-sxm-80gb", "/memory_bandwidth_GBps", 2039},
    {"accelerators", "a100-sxm-80gb", "/tdp_W", 400},
    {"accelerators", "a100-pcie-80gb", "/memory_bandwidth_GBps", 1935},
    {"accelerators", "a100-pcie-80gb", "/tdp_W", 300},
    // NVIDIA A100 whitepaper: 108 SMs, 40 MB of L2, 12 NVLink 3 links of 25 GB/s per direction
    {"accelerators", "a100-sxm-40gb", "/sm_count", 108},
    {"accelerators", "a100-sxm-40gb", "/l2_cache_MB", 40},
    {"accelerators", "a100-sxm-40gb", "/interconnect/links", 12},
    // NVIDIA H100 datasheet: 1,979 bf16 with sparsity, so 989 dense; 3.35 TB/s; 700 W; 18 links, 900 GB/s both ways
    {"accelerators", "h100-sxm-80gb", "/peak_TFLOPS/bf16", 989.4},
    {"accelerators", "h100-sxm-80gb", "/memory_bandwidth_GBps", 3350},
    {"accelerators", "h100-sxm-80gb", "/interconnect/links", 18},
    // NVIDIA H200 datasheet: 141 GB, 4.8 TB/s
    {"accelerators", "h200-sxm-141gb", "/memory_GB", 141},
    {"accelerators", "h200-sxm-141gb", "/memory_bandwidth_GBps", 4800},
    // NVIDIA RTX A6000 datasheet: 48 GB, 768 GB/s, 300 W, 38.7 fp32
    {"accelerators", "rtx-a6000", "/memory_bandwidth_GBps", 768},
    {"accelerators", "rtx-a6000", "/peak_TFLOPS/fp32", 38.7},
    // NVIDIA T4 datasheet: 65 fp16, 70 W
    {"accelerators", "t4", "/peak_TFLOPS/fp16", 65},
    {"accelerators", "t4", "/tdp_W", 70},
    // AMD Instinct MI250X data sheet: 95.7 TFLOPS in fp64 and fp32 matrix for both dies; MI210: 45.3
    {"accelerators", "mi250x", "/peak_matrix_TFLOPS/fp32", 95.7},
    {"accelerators", "mi250x-gcd", "/peak_matrix_TFLOPS/fp32", 47.85},
    {"accelerators", "mi210", "/peak_matrix_TFLOPS/fp64", 45.3},
    // NVIDIA RTX Blackwell architecture whitepaper: RTX 5090 104.8 TFLOPS in tf32, without sparsity
    {"accelerators", "rtx-5090", "/peak_TFLOPS/tf32", 104.8},
    // AMD Instinct MI300X data sheet: 1,307.4 bf16, 192 GB, 750 W
    {"accelerators", "mi300x", "/peak_TFLOPS/bf16", 1307.4},
    {"accelerators", "mi300x", "/memory_GB", 192},
    {"accelerators", "mi300x", "/tdp_W", 750},
    // Google Cloud documentation: TPU v4 275 TFLOPS, 1,200 GB/s; v5p 459 TFLOPS, 95 GB, 2,765 GB/s
    {"accelerators", "tpu-v4", "/peak_TFLOPS/bf16", 275},
    {"accelerators", "tpu-v5p", "/memory_bandwidth_GBps", 2765},
    // AMD product pages: EPYC 7763 64 cores, 2.45 GHz, 280 W; EPYC 7742 225 W
    {"cpus", "epyc-7763", "/cores", 64},
    {"cpus", "epyc-7763", "/base_GHz", 2.45},
    {"cpus", "epyc-7742", "/tdp_W", 225},
    // NVIDIA DGX datasheets: DGX-1 3.5 kW; DGX A100 6.5 kW, 8 × 200 Gb/s; DGX H100 10.2 kW, 8 × 400 Gb/s; DGX B200 14.3
    // kW
    {"nodes", "dgx-1-v100-16gb", "/max_power_W", 3500},
    {"nodes", "dgx-a100-80gb", "/max_power_W", 6500},
    {"nodes", "dgx-a100-80gb", "/nics/0/bandwidth_Gbps", 200},
    {"nodes", "dgx-h100", "/max_power_W", 10200},
    {"nodes", "dgx-h100", "/nics/0/bandwidth_Gbps", 400},
    {"nodes", "dgx-b200", "/max_power_W", 14300},
    // NVIDIA QM8700 datasheet: 40 ports of 200 Gb/s, 130 ns
    {"switches", "qm8700", "/ports", 40},
    {"switches", "qm8700", "/latency_ns", 130},
    // PCI-SIG: 15.75 GB/s per direction for 16 lanes of PCIe 3
    {"links", "pcie3-x16", "/figures/raw_GBps_per_direction", 15.75},
    // 80 PLUS programme: Titanium, 230 V internal redundant: 96 % at half load
    {"psus", "80plus-titanium-230v-internal-redundant", "/efficiency_percent_by_load_percent/50", 96},
};

TEST(ShippedCatalogue, StatesPublishedFigures) {
  for (const PublishedFigure& figure : kPublished) {
    const Json entry = shipped().show(figure.kind, figure.id);
    const Json::json_pointer at(figure.pointer);
    ASSERT_TRUE(entry.contains(at)) << figure.id << figure.pointer;
    EXPECT_DOUBLE_EQ(entry[at].get<double>(), figure.value) << figure.id << figure.pointer;
  }
}

TEST(ShippedCatalogue, HasTheRentalServersAtTheirPrices) {
  const std::map<std::string, double> dollars_a_month{{"rental-i7-6700k-64gb", 40},
                                                      {"rental-i7-7700-64gb", 40},
                                                      {"rental-i7-8700-64gb", 50},
                                                      {"rental-i9-9900k-128gb", 65},
                                                      {"rental-i9-13900-64gb", 115},
                                                      {"rental-i9-13900-128gb", 145},
                                                      {"rental-xeon-gold-5412u-128gb", 180},
                                                      {"rental-xeon-gold-5412u-256gb", 180},
                                                      {"rental-i5-13500-rtx-4000-64gb", 260},
                                                      {"rental-ryzen5-3600-64gb", 60},
                                                      {"rental-ryzen7-3700x-64gb", 65},
                                                      {"rental-ryzen7-7700-64gb", 80},
                                                      {"rental-ryzen7-8700ge-64gb", 65},
                                                      {"rental-ryzen9-3900-128gb", 95},
                                                      {"rental-ryzen9-5950x-128gb", 130},
                                                      {"rental-ryzen9-7950x-128gb", 140},
                                                      {"rental-epyc-7502p-128gb", 135},
                                                      {"rental-epyc-9454p-256gb", 270}};
  std::size_t rentals = 0;
  for (const std::string& id : shipped().ids("nodes")) {
    if (!id.starts_with("rental-")) continue;
    ++rentals;
    ASSERT_TRUE(dollars_a_month.contains(id)) << id;
    const Node* node = shipped().find<Node>(id);
    ASSERT_TRUE(node->price && node->price->monthly) << id;
    constexpr double kMonth = 365.25 / 12 * 86400;
    EXPECT_NEAR(node->price->monthly->value() * kMonth, dollars_a_month.at(id), 1e-9) << id;
    EXPECT_EQ(node->price->date, "2026-11") << id;
    EXPECT_EQ(node->devices(), 1) << id;
    EXPECT_NEAR(node->training_bandwidth().in(1_Gbps), 1, 1e-9) << id;
  }
  EXPECT_EQ(rentals, dollars_a_month.size());
}

std::set<std::string> formats_of(const std::map<std::string, FlopsPerSecond>& peaks) {
  std::set<std::string> formats;
  for (const auto& peak : peaks) formats.insert(peak.first);
  return formats;
}

TEST(ShippedCatalogue, SiblingsHaveRatesForTheSameFormats) {
  // Of CDNA (1) AMD states no fp64 matrix rate; versions for export have 1 TFLOPS of fp64 in all.
  const std::set<std::string> no_matrix_fp64{"mi100", "h20-3e", "h20-sxm-96gb", "h800-sxm-80gb"};
  std::map<std::string, std::set<std::string>> plain, matrix;
  for (const std::string& id : shipped().ids("accelerators")) {
    const auto* part = shipped().find<Accelerator>(id);
    plain[part->family].merge(formats_of(part->peak_TFLOPS));
    matrix[part->family].merge(formats_of(part->peak_matrix_TFLOPS));
  }
  for (const std::string& id : shipped().ids("accelerators")) {
    const auto* part = shipped().find<Accelerator>(id);
    std::set<std::string> formats = formats_of(part->peak_TFLOPS), of_matrix = matrix[part->family];
    if (no_matrix_fp64.contains(id)) of_matrix.erase("fp64");
    EXPECT_EQ(formats, plain[part->family]) << id;
    EXPECT_EQ(formats_of(part->peak_matrix_TFLOPS), of_matrix) << id;
    // NVIDIA's matrix units have had int8 since Turing, and tf32 since they have bf16 (Ampere).
    if (part->vendor != "NVIDIA" || !formats.contains("bf16")) continue;
    EXPECT_TRUE(formats.contains("tf32") && formats.contains("int8")) << id;
  }
}

TEST(ShippedCatalogue, EveryAcceleratorHasEfficienciesForItsPeaks) {
  for (const std::string& id : shipped().ids("accelerators")) {
    const auto* part = shipped().find<Accelerator>(id);
    const auto* profile = shipped().find<ComputeProfile>(part->family);
    ASSERT_NE(profile, nullptr) << id;
    for (const auto& peak : part->peak_TFLOPS)
      EXPECT_TRUE(profile->gemm_sustained_share.contains(peak.first)) << id << " " << peak.first;
  }
  for (const std::string& id : shipped().ids("cpus"))
    EXPECT_NE(shipped().find<ComputeProfile>(shipped().find<Cpu>(id)->family), nullptr) << id;
}

TEST(ShippedCatalogue, SustainedRatesStayBelowTheBestProductMeasured) {
  for (const std::string& id : shipped().ids("accelerators")) {
    const auto* part = shipped().find<Accelerator>(id);
    const auto* profile = shipped().find<ComputeProfile>(part->family);
    for (const auto& [precision, best] : part->matmul_measured_TFLOPS)
      EXPECT_LE(profile->gemm_sustained_share.at(precision) * part->peak_TFLOPS.at(precision).value(), best.value())
          << id << " " << precision;
  }
}

TEST(ShippedCatalogue, MarksManagementNetworksAsNotForTraining) {
  const Node* dgx = shipped().find<Node>("dgx-h100");
  EXPECT_EQ(dgx->training_nics(), 8);
  EXPECT_NEAR(dgx->training_bandwidth().in(1_Gbps), 3200, 1e-9);
  EXPECT_GT(dgx->nics.size(), 1U);
  EXPECT_EQ(shipped().find<Node>("dgx-1-v100-16gb")->training_nics(), 4);
}

TEST(Accelerator, UsesVisibleMemoryWhereItIsKnown) {
  const auto* h100 = shipped().find<Accelerator>("h100-sxm-80gb");
  EXPECT_DOUBLE_EQ(h100->usable_memory().in(1_MiB), 81559);
  Accelerator unknown;
  unknown.memory = 80_GB;
  EXPECT_DOUBLE_EQ(unknown.usable_memory().in(1_GB), 80 * kVisibleShare);
  unknown.memory_kind = "GDDR6 ECC";
  EXPECT_DOUBLE_EQ(unknown.usable_memory().in(1_GB), 80 * kVisibleShareEccGddr);
}

TEST(Accelerator, ShareOfVisibleMemoryIsTheMedianOfTheKnownOnes) {
  std::vector<double> shares;
  for (const std::string& id : shipped().ids("accelerators")) {
    const auto* part = shipped().find<Accelerator>(id);
    const bool ecc = part->memory_kind.starts_with("GDDR");
    if (part->memory_visible && !ecc) shares.push_back(*part->memory_visible / part->memory);
  }
  ASSERT_GT(shares.size(), 10U);
  std::sort(shares.begin(), shares.end());
  EXPECT_NEAR(shares[shares.size() / 2], kVisibleShare, 0.003);
}

TEST(Accelerator, HasNoPeakInAPrecisionThatItLacks) {
  const auto* v100 = shipped().find<Accelerator>("v100-sxm2-16gb");
  EXPECT_DOUBLE_EQ(v100->peak(Precision::fp16).in(1_TFLOPS), 125);
  EXPECT_DOUBLE_EQ(v100->peak(Precision::bf16).value(), 0);
}

TEST(NodeInterconnect, SumsTheLinksOfOneAccelerator) {
  const auto per_accelerator = [](const char* id) {
    const Node* node = shipped().find<Node>(id);
    return node->interconnect.bandwidth_per_accelerator(node->accelerator_count).in(1_GBps);
  };
  EXPECT_DOUBLE_EQ(per_accelerator("dgx-a100-80gb"), 300);        // 12 links of 25 GB/s
  EXPECT_DOUBLE_EQ(per_accelerator("dgx-h100"), 450);             // 18 of 25
  EXPECT_DOUBLE_EQ(per_accelerator("dgx-b200"), 900);             // 18 of 50
  EXPECT_DOUBLE_EQ(per_accelerator("dgx-1-v100-16gb"), 150);      // 6 of 25
  EXPECT_DOUBLE_EQ(per_accelerator("dgx-1-p100"), 80);            // 4 of 20
  EXPECT_DOUBLE_EQ(per_accelerator("hgx-a100-4-40"), 300);        // 3 peers, 4 links each
  EXPECT_DOUBLE_EQ(per_accelerator("mi300x-platform-8"), 448);    // 7 peers, 64 GB/s each
  EXPECT_DOUBLE_EQ(per_accelerator("summit"), 100);               // 2 peers of the group, 2 links each
  EXPECT_DOUBLE_EQ(per_accelerator("server-2x7763-8xa6000"), 0);  // PCIe only
}

RC_GTEST_PROP(Psu, EfficiencyStaysWithinItsCurve, ()) {
  const std::vector<std::string> ids = shipped().ids("psus");
  const Psu* psu = shipped().find<Psu>(*rc::gen::elementOf(ids));
  const double load = *rc::gen::inRange(0, 1501) / 1000.0;
  double least = 1;
  double most = 0;
  for (const auto& point : psu->efficiency_percent_by_load_percent) {
    least = std::min(least, point.second / 100);
    most = std::max(most, point.second / 100);
  }
  RC_ASSERT(psu->efficiency(load) >= least - 1e-12 && psu->efficiency(load) <= most + 1e-12);
}

TEST(Psu, InterpolatesBetweenPointsAndHoldsOutside) {
  Psu psu;
  psu.efficiency_percent_by_load_percent = {{"10", 90}, {"20", 94}, {"100", 90}};
  EXPECT_DOUBLE_EQ(psu.efficiency(0.15), 0.92);
  EXPECT_DOUBLE_EQ(psu.efficiency(0.60), 0.92);
  EXPECT_DOUBLE_EQ(psu.efficiency(0.20), 0.94);
  EXPECT_DOUBLE_EQ(psu.efficiency(0.01), 0.90);
  EXPECT_DOUBLE_EQ(psu.efficiency(1.20), 0.90);
}

TEST(Provenance, FallsBackOnWhatHoldsForAll) {
  const auto* part = shipped().find<Accelerator>("a100-sxm-80gb");
  EXPECT_EQ(part->provenance.evidence_of("matmul_measured_TFLOPS"), Evidence::measured);
  EXPECT_EQ(part->provenance.evidence_of("form_factor"), Evidence::recalled);
  EXPECT_EQ(part->provenance.source_of("form_factor"), part->provenance.sources.at("all"));
}

const char* const kSmallPsu =
    R"({"id": "mine", "level": "Mine", "efficiency_percent_by_load_percent": {"50": 91},
        "sources": {"all": "bench"}, "evidence": {"all": "measured"}})";

TEST(Catalog, ReadsAnEntryOnceAndKeepsIt) {
  const Node* node = shipped().find<Node>("dgx-h100");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node, shipped().find<Node>("dgx-h100"));
  EXPECT_EQ(shipped().find<Node>("no-such-node"), nullptr);
}

TEST(Catalog, IdsNeverLeadOutOfTheCatalogue) {
  EXPECT_EQ(shipped().find<Node>("../nodes/dgx-h100"), nullptr);
  EXPECT_EQ(shipped().find<Node>("../../README"), nullptr);
  EXPECT_EQ(shipped().find<Node>(""), nullptr);
  EXPECT_EQ(shipped().find<Node>(std::string("dgx-h100\0", 9)), nullptr);
  EXPECT_EQ(shipped().kind_of(".."), "");
}

TEST(Catalog, UserDirectoriesAddAndReplace) {
  const UserDirectory user;
  user.write("psus", "mine", kSmallPsu);
  const std::string shipped_id = "ups-double-conversion";
  user.write("psus", shipped_id, std::regex_replace(kSmallPsu, std::regex("mine"), shipped_id));
  const Catalog catalog({user.path(), kShipped});
  ASSERT_NE(catalog.find<Psu>("mine"), nullptr);
  EXPECT_EQ(catalog.find<Psu>(shipped_id)->level, "Mine");
  EXPECT_NE(catalog.find<Psu>("80plus-gold-115v-internal"), nullptr);
  EXPECT_EQ(catalog.ids("psus").size(), shipped().ids("psus").size() + 1);
  EXPECT_EQ(catalog.file_of("psus", shipped_id), user.path() / "psus" / (shipped_id + ".json"));
}

TEST(Catalog, UnknownIdIsAFaultWithTheNearest) {
  Diagnostics diagnostics("my.json");
  EXPECT_EQ(shipped().find<Node>("dgx-a100-80", "/cluster/node", diagnostics), nullptr);
  ASSERT_EQ(diagnostics.faults().size(), 1U);
  EXPECT_EQ(diagnostics.faults()[0].text(),
            "my.json: /cluster/node: no node \"dgx-a100-80\" in the catalogue; did you mean \"dgx-a100-80gb\"?");
}

TEST(Catalog, FaultyEntryIsRefusedWithEveryFault) {
  const UserDirectory user;
  user.write("accelerators", "bad", R"({
    "id": "worse", "vendor": "X", "peak_TFLOPS": {"fp16": -1}, "memory_GB": "80", "memory_bandwith_GBps": 100,
    "pcie_bandwidth_GBps": 31.5, "sources": {"all": "none"}, "evidence": {"all": "guessed"}})");
  const Catalog catalog({user.path(), kShipped});
  try {
    catalog.find<Accelerator>("bad");
    FAIL() << "a faulty entry was accepted";
  } catch (const InputError& error) {
    const std::vector<Fault>& faults = error.faults();
    EXPECT_TRUE(has_fault(faults, "/id", "its file's name")) << error.what();
    EXPECT_TRUE(has_fault(faults, "/peak_TFLOPS/fp16", "at least 1e-06")) << error.what();
    EXPECT_TRUE(has_fault(faults, "/memory_GB", "expected a number")) << error.what();
    EXPECT_TRUE(has_fault(faults, "/memory_bandwith_GBps", "no key")) << error.what();
    EXPECT_TRUE(has_fault(faults, "/tdp_W", "missing")) << error.what();
    EXPECT_FALSE(has_fault(faults, "/memory_bandwidth_GBps", "missing")) << error.what();
    EXPECT_TRUE(has_fault(faults, "/evidence/all", "expected one of measured")) << error.what();
    EXPECT_NE(std::string(error.what()).find("did you mean \"memory_bandwidth_GBps\"?"), std::string::npos);
  }
  Diagnostics diagnostics("my.json");
  EXPECT_EQ(catalog.find<Accelerator>("bad", "/accelerator", diagnostics), nullptr);
  EXPECT_GE(diagnostics.faults().size(), 6U);
}

TEST(Catalog, EveryFigureNeedsItsSourceAndEvidence) {
  const UserDirectory user;
  const fs::path file = user.write("links", "mine", R"({
    "id": "mine", "kind": "nvlink", "figures": {"latency_us": 1.5, "GBps_per_direction_per_link": 25},
    "sources": {"kind": "bench", "latency_us": "bench", "latency_ms": "bench"},
    "evidence": {"all": "measured"}})");
  const std::vector<Fault> faults = faults_of(file);
  EXPECT_EQ(faults.size(), 2U) << text_of(faults);
  EXPECT_TRUE(has_fault(faults, "/figures/GBps_per_direction_per_link", "no entry in sources")) << text_of(faults);
  EXPECT_TRUE(has_fault(faults, "/sources/latency_ms", "names nothing")) << text_of(faults);
}

/// Faults of a shipped entry with a change merged into it.
std::vector<Fault> faults_with(const char* kind, const char* id, const char* change) {
  const UserDirectory user;
  Json entry = shipped().show(kind, id);
  entry.merge_patch(Json::parse(change));
  return faults_of(user.write(kind, id, entry.dump()));
}

// A slip of the keyboard must not become a forecast, or a failure inside of one.
TEST(Catalog, FiguresArePhysical) {
  struct Change {
    const char *kind, *id, *change, *pointer;
  };
  for (const Change& c :
       {Change{"accelerators", "h100-sxm-80gb", R"({"tdp_W": 1e18})", "/tdp_W"},
        {"accelerators", "h100-sxm-80gb", R"({"idle_W": 1e308})", "/idle_W"},
        {"accelerators", "h100-sxm-80gb", R"({"memory_visible_MiB": 1e308})", "/memory_visible_MiB"},
        {"accelerators", "h100-sxm-80gb", R"({"peak_TFLOPS": {"bf16": 1e-300}})", "/peak_TFLOPS/bf16"},
        {"accelerators", "h100-sxm-80gb", R"({"memory_bandwidth_GBps": 1e-300})", "/memory_bandwidth_GBps"},
        {"accelerators", "h100-sxm-80gb", R"({"pcie_bandwidth_GBps": 1e-300})", "/pcie_bandwidth_GBps"},
        {"nodes", "dgx-h100", R"({"memory_GB": 1e308})", "/memory_GB"},
        {"nodes", "dgx-h100", R"({"price": {"purchase_usd": 1e308}})", "/price/purchase_usd"},
        {"nodes", "dgx-h100", R"({"interconnect": {"link_bandwidth_GBps": 1e-300}})",
         "/interconnect/link_bandwidth_GBps"},
        {"compute-profiles", "nvidia-hopper", R"({"memory_share": 1e-300})", "/memory_share"},
        {"compute-profiles", "nvidia-hopper", R"({"kernel_floor_us": 1e308})", "/kernel_floor_us"},
        {"compute-profiles", "nvidia-hopper", R"({"attention_head64_factor": 1e18})", "/attention_head64_factor"},
        {"compute-profiles", "nvidia-hopper", R"({"attention_backward_ratio": 1e-300})", "/attention_backward_ratio"},
        {"network-profiles", "infiniband", R"({"nic_ceiling_GBps": 1e-300})", "/nic_ceiling_GBps"},
        {"network-profiles", "infiniband", R"({"start_us": 1e308})", "/start_us"},
        {"library-profiles", "nccl", R"({"own_share": 1e308})", "/own_share"},
        {"cooling", "dgx-air", R"({"server_fan_share_of_IT_percent": 100})", "/server_fan_share_of_IT_percent"},
        {"switches", "qm9700", R"({"port_bandwidth_Gbps": null, "sources": {"port_bandwidth_Gbps": null},
          "evidence": {"port_bandwidth_Gbps": null}})",
         "/usual_for"},
        {"cpus", "grace", R"({"vendor": null})", "/vendor"},
        {"library-profiles", "nccl", R"({"intervals": {"own_shar": [0, 1]}})", "/intervals/own_shar"}}) {
    const std::vector<Fault> faults = faults_with(c.kind, c.id, c.change);
    EXPECT_EQ(faults.size(), 1U) << c.change << "\n" << text_of(faults);
    EXPECT_TRUE(has_fault(faults, c.pointer, "")) << c.change << "\n" << text_of(faults);
  }
}

TEST(Catalog, AMisspeltKeyIsOneFault) {
  for (const char* change : {R"({"tdp_W": null, "tdp_WW": 700, "sources": {"tdp_W": "x"}})",
                             R"({"wholly_other": 700, "sources": {"wholly_other": "x"}})"}) {
    const std::vector<Fault> faults = faults_with("accelerators", "h100-sxm-80gb", change);
    EXPECT_EQ(faults.size(), 1U) << change << "\n" << text_of(faults);
  }
}

TEST(Catalog, ControlCharactersReachNoTerminal) {
  const UserDirectory user;
  Json node = shipped().show("nodes", "dgx-h100");
  node["note"] = "red \x1b[31m";
  EXPECT_TRUE(has_fault(faults_of(user.write("nodes", "dgx-h100", node.dump())), "/note", "U+001B"));
  EXPECT_THROW((void)Catalog({user.path(), kShipped}).show("nodes", "dgx-h100"), InputError);
}

struct BadNode {
  const char* change;  ///< merged into a good node
  const char* pointer;
  const char* message;
};

TEST(Catalog, NodesMustMakeSense) {
  const std::vector<BadNode> cases{
      {R"({"accelerator": ""})", "/accelerator", "missing, yet accelerator_count is 8"},
      {R"({"accelerator_count": 0})", "/accelerator", "given, yet accelerator_count is 0"},
      {R"({"accelerator": "", "accelerator_count": 0, "cpu": ""})", "/cpu", "needs cpu and cpu_count"},
      {R"({"interconnect": {"kind": "mesh", "links_per_accelerator": 0}})", "/interconnect", "without bandwidth"},
      {R"({"interconnect": {"kind": "hybrid_cube_mesh", "link_bandwidth_GBps": 25, "links": [[0, 8, 1]],
           "switches": 0, "links_per_accelerator": 0}})",
       "/interconnect/links/0", "from 0 to 7"},
      {R"({"nics": [{"count": 0, "bandwidth_Gbps": 200, "kind": "infiniband"}]})", "/nics/0/count", "more than 0"},
      {R"({"nics": [{"count": 1, "bandwidth_Gbps": 200, "kind": "infiniban"}]})", "/nics/0/kind", "expected one of"},
      {R"({"memory_GB": 0})", "/memory_GB", "at least 1e-09"},
  };
  const UserDirectory user;
  for (const BadNode& bad : cases) {
    Json node = shipped().show("nodes", "dgx-h100");
    node.merge_patch(Json::parse(bad.change));
    const std::vector<Fault> faults = faults_of(user.write("nodes", "dgx-h100", node.dump()));
    EXPECT_TRUE(has_fault(faults, bad.pointer, bad.message)) << bad.change << "\n" << text_of(faults);
  }
}

TEST(Catalog, ReferencesMustExist) {
  const UserDirectory user;
  Json node = shipped().show("nodes", "dgx-h100");
  node["id"] = "mine";
  node["accelerator"] = "h100-sxm-80g";
  node["local_storage"]["device"] = "pm9a33";
  user.write("nodes", "mine", node.dump());
  Diagnostics diagnostics("");
  Catalog({user.path(), kShipped}).validate_all(diagnostics);
  EXPECT_EQ(diagnostics.faults().size(), 2U) << text_of(diagnostics.faults());
  EXPECT_TRUE(has_fault(diagnostics.faults(), "/accelerator", "no \"h100-sxm-80g\" in accelerators"));
  EXPECT_TRUE(has_fault(diagnostics.faults(), "/local_storage/device", "no \"pm9a33\" in storage"));
  EXPECT_EQ(diagnostics.faults()[0].suggestion, "did you mean \"h100-sxm-80gb\"?");
}

TEST(Catalog, FileInAFolderThatIsNoKindIsAFault) {
  const UserDirectory user;
  const std::vector<Fault> faults = faults_of(user.write("node", "mine", "{}"));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].suggestion, "did you mean \"nodes\"?");
}

TEST(Catalog, HashRestsOnWhatWasReadAndNothingElse) {
  const Catalog one({kShipped});
  const Catalog two({kShipped});
  const std::string empty = one.hash_of_used();
  one.find<Node>("dgx-h100");
  one.find<Accelerator>("t4");
  two.find<Accelerator>("t4");
  EXPECT_NE(one.hash_of_used(), two.hash_of_used());
  EXPECT_EQ(two.find<Node>("no-such-node"), nullptr);
  two.find<Node>("dgx-h100");
  EXPECT_EQ(one.hash_of_used(), two.hash_of_used());
  EXPECT_NE(one.hash_of_used(), empty);
  EXPECT_EQ(one.hash_of_used().size(), 16U);

  const UserDirectory user;
  user.write("accelerators", "t4", "// a comment\n" + shipped().show("accelerators", "t4").dump(4));
  const Catalog same({user.path(), kShipped});
  same.find<Accelerator>("t4");
  same.find<Node>("dgx-h100");
  EXPECT_EQ(same.hash_of_used(), one.hash_of_used());
}

TEST(Catalog, StandardCatalogueIsFoundFromTheEnvironment) {
  ASSERT_EQ(setenv("STEPCAST_SHARE", STEPCAST_SOURCE_DIR, 1), 0);
  EXPECT_NE(Catalog::standard({}).find<Node>("dgx-h100"), nullptr);
  const UserDirectory user;
  user.write("psus", "mine", kSmallPsu);
  ASSERT_EQ(setenv("STEPCAST_CATALOG", user.path().c_str(), 1), 0);
  EXPECT_NE(Catalog::standard({}).find<Psu>("mine"), nullptr);
  unsetenv("STEPCAST_CATALOG");
  EXPECT_THROW(Catalog::standard({user.path() / "missing"}), InputError);

  ASSERT_EQ(setenv("STEPCAST_SHARE", user.path().c_str(), 1), 0);
  EXPECT_THROW(Catalog::standard({}), InputError);
  fs::create_directories(user.path() / "hardware-catalog");
  std::ofstream(user.path() / "hardware-catalog/catalogue.json") << R"({"catalogue_version": 99})";
  try {
    Catalog::standard({});
    FAIL() << "a catalogue of another version was accepted";
  } catch (const InputError& error) {
    EXPECT_TRUE(has_fault(error.faults(), "/catalogue_version", "found 99, expected 1")) << error.what();
  }
  unsetenv("STEPCAST_SHARE");
}

}  // namespace
}  // namespace stepcast::catalog_test
