// The probes as programs: against a stand-in of the NVIDIA libraries with known timings, real fio and real Open MPI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/cluster/program.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

Finished probe(const std::string& program, const std::vector<std::string>& words,
               const std::vector<std::string>& variables = {}) {
  return run_program(program == "mpirun" || program.front() == '/' ? program : STEPCAST_BUILD_DIR "/bin/" + program,
                     words, variables);
}

bool installed(const std::string& program) {
  return run_program("/bin/sh", {"-c", "command -v " + program}, {}).code == 0;
}

std::vector<std::string> stand_in(const std::string& settings, const std::string& folder = "stand-in") {
  return {"LD_LIBRARY_PATH=" STEPCAST_BUILD_DIR "/" + folder, "STEPCAST_STAND_IN=" + settings};
}

/// What of a value the schema does not allow, as far as this schema goes: types, constants, lists of words, required
/// and unknown keys. Empty where all is well.
std::string violation(const Json& schema, const Json& root, const Json& value, const std::string& at) {
  if (schema.contains("$ref"))
    return violation(root.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))), root, value, at);
  if (schema.contains("oneOf")) {
    for (const Json& choice : schema["oneOf"]) {
      const Json& target = root.at(Json::json_pointer(choice["$ref"].get<std::string>().substr(1)));
      if (target["properties"]["kind"]["const"] == value["kind"]) return violation(target, root, value, at);
    }
    return at + ": unknown kind";
  }
  if (schema.contains("const") && schema["const"] != value) return at + ": is not " + schema["const"].dump();
  if (schema.contains("enum") && std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
    return at + ": " + value.dump() + " is none of " + schema["enum"].dump();
  const std::string type = schema.value("type", "");
  if ((type == "object" && !value.is_object()) || (type == "array" && !value.is_array()) ||
      (type == "string" && !value.is_string()) || (type == "integer" && !value.is_number_integer()) ||
      (type == "number" && !value.is_number()) || (type == "boolean" && !value.is_boolean()))
    return at + ": " + value.dump() + " is no " + type;
  if (schema.contains("minimum") && value < schema["minimum"]) return at + ": below the minimum";
  for (const Json& key : schema.value("required", Json::array()))
    if (!value.contains(key.get<std::string>())) return at + ": lacks " + key.dump();
  if (value.is_object())
    for (const auto& [key, inner] : value.items()) {
      const Json properties = schema.value("properties", Json::object());
      const Json more = schema.value("additionalProperties", Json(true));
      if (!properties.contains(key) && more == false) return at + ": unknown key " + key;
      const Json& rule = properties.contains(key) ? properties[key] : more;
      if (rule.is_object())
        if (const std::string fault = violation(rule, root, inner, at + "/" + key); !fault.empty()) return fault;
    }
  if (value.is_array() && schema.contains("items"))
    for (std::size_t i = 0; i < value.size(); ++i)
      if (const std::string fault = violation(schema["items"], root, value[i], at + "/" + std::to_string(i));
          !fault.empty())
        return fault;
  return {};
}

/// The result of a run, which must have gone well and be as the schema says.
Json result_of(const Finished& run, const fs::path& file = {}) {
  EXPECT_EQ(run.code, 0) << run.err;
  const Json result = Json::parse(file.empty() ? run.out : read_text(file.string()), nullptr, false);
  static const Json schema =
      Json::parse(read_text(STEPCAST_SOURCE_DIR "/calibration/probes/probe-results.schema.json"));
  EXPECT_FALSE(result.is_discarded());
  if (!result.is_discarded()) {
    EXPECT_EQ(violation(schema, schema, result, ""), "");
  }
  return result;
}

/// The one row whose keys have these values.
Json row_of(const Json& result, const Json& like) {
  for (const Json& row : result["results"]) {
    bool same = true;
    for (const auto& [key, value] : like.items()) same = same && row.contains(key) && row[key] == value;
    if (same) return row;
  }
  ADD_FAILURE() << "no row like " << like.dump();
  return {{"samples_us", {0.0}}};
}

double first_us(const Json& row) { return row["samples_us"][0].get<double>(); }

// ---- NCCL, against the stand-in -------------------------------------------------------------------------------------

constexpr double kSize = 1 << 16;

TEST(NcclProbe, FindsTheTimingsOfTheStandIn) {
  const Json result =
      result_of(probe("stepcast-probe-nccl", {"--sizes", "64,64K", "--samples", "3"}, stand_in("devices=4")));
  EXPECT_EQ(result["environment"]["stand_in"], true);
  EXPECT_EQ(result["versions"]["nccl"], "2.28.3");
  const auto time = [&](const char* op, bool in_place) {
    return first_us(
        row_of(result, {{"kind", "collective"}, {"op", op}, {"size_bytes", 1 << 16}, {"in_place", in_place}}));
  };
  // 10 µs and 100 GB/s of bus bandwidth; messages 5 µs and 50 GB/s.
  EXPECT_NEAR(time("all_reduce", false), 10 + kSize * 1.5 / 1e5, 0.05);
  EXPECT_NEAR(time("all_reduce", true), 10 + kSize * 1.5 / 1e5, 0.05);
  EXPECT_NEAR(time("all_gather", true), 10 + kSize * 0.75 / 1e5, 0.05);
  EXPECT_NEAR(time("reduce_scatter", false), 10 + kSize * 0.75 / 1e5, 0.05);
  EXPECT_NEAR(time("broadcast", false), 10 + kSize / 1e5, 0.05);
  EXPECT_NEAR(time("all_to_all", false), 4 * 5 + kSize / 5e4, 0.1);
  EXPECT_NEAR(time("send_recv", false), 5 + kSize / 5e4, 0.05);
  for (const Json& row : result["results"])
    if (row["kind"] == "collective") {
      EXPECT_EQ(row["checked"], true);
    }
}

TEST(NcclProbe, TwoAtOnceSlowEachOtherDownAsTheStandInSays) {
  const Json result = result_of(
      probe("stepcast-probe-nccl", {"--sizes", "64K", "--ops", "all_reduce", "--samples", "3"}, stand_in("devices=2")));
  for (const char* what : {"two_collectives", "collective_beside_gemm"}) {
    const Json row = row_of(result, {{"kind", "overlap"}, {"what", what}});
    EXPECT_NEAR(row["collective_together_us"][0].get<double>() / row["collective_alone_us"][0].get<double>(), 1.25,
                0.02)
        << what;
  }
}

TEST(NcclProbe, AlgorithmsAreAskedForOneByOneAndRefusedOnesNamed) {
  const Json result = result_of(probe("stepcast-probe-nccl",
                                      {"--sizes", "64K", "--ops", "all_reduce", "--place", "out", "--algorithms",
                                       "ring,tree,nvls", "--no-pairs", "--no-overlap", "--samples", "2"},
                                      stand_in("devices=4")));
  EXPECT_NEAR(first_us(row_of(result, {{"algorithm", "ring"}})), 10 + kSize * 1.5 / 1e5, 0.05);
  EXPECT_NEAR(first_us(row_of(result, {{"algorithm", "tree"}})), 6 + kSize * 1.5 / 8e4, 0.05);
  EXPECT_THAT(result["warnings"].dump(), testing::HasSubstr("all_reduce with algorithm nvls"));
}

TEST(NcclProbe, ProtocolsAreAskedForOneByOne) {
  const Json result = result_of(probe("stepcast-probe-nccl",
                                      {"--sizes", "64K", "--ops", "all_reduce", "--place", "out", "--protocols",
                                       "auto,ll", "--no-pairs", "--no-overlap", "--samples", "2"},
                                      stand_in("devices=4")));
  EXPECT_NEAR(first_us(row_of(result, {{"protocol", "auto"}})), 10 + kSize * 1.5 / 1e5, 0.05);
  EXPECT_NEAR(first_us(row_of(result, {{"protocol", "ll"}})), 4 + kSize * 1.5 / 5e4, 0.05);
}

TEST(NcclProbe, WrongDataIsNamedAndNothingIsWritten) {
  const ScratchFolder folder;
  const std::string out = (folder / "r.json").string();
  const Finished run = probe("stepcast-probe-nccl", {"--sizes", "64", "--ops", "all_reduce", "--out", out},
                             stand_in("devices=2,wrong_data"));
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, testing::HasSubstr("all_reduce of 64 B: wrong data on rank 1"));
  EXPECT_THAT(run.err, testing::HasSubstr("element 3"));
  EXPECT_FALSE(fs::exists(out));
}

TEST(NcclProbe, ASlowLinkIsNamed) {
  const Json result = result_of(probe("stepcast-probe-nccl",
                                      {"--sizes", "64K", "--ops", "all_reduce", "--samples", "2", "--no-overlap"},
                                      stand_in("devices=8,slow=3")));
  const std::string warnings = result["warnings"].dump();
  EXPECT_THAT(warnings, testing::HasSubstr("slow link"));
  EXPECT_THAT(warnings, testing::HasSubstr(":gpu3 to "));
  EXPECT_THAT(warnings, testing::Not(testing::HasSubstr(":gpu1 to " + result["host"].get<std::string>() + ":gpu2")));
}

TEST(NcclProbe, AMissingFunctionIsNamed) {
  const Finished run = probe("stepcast-probe-nccl", {}, stand_in("devices=2", "stand-in-incomplete"));
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, testing::HasSubstr("has no function ncclSend"));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

TEST(NcclProbe, OldVersionsAreNamed) {
  const Finished nccl = probe("stepcast-probe-nccl", {}, stand_in("old_nccl"));
  EXPECT_EQ(nccl.code, 3);
  EXPECT_THAT(nccl.err, testing::HasSubstr("NCCL is too old: libnccl.so.2 is 2.4.8"));
  const Finished driver = probe("stepcast-probe-nccl", {}, stand_in("old_driver"));
  EXPECT_EQ(driver.code, 3);
  EXPECT_THAT(driver.err, testing::HasSubstr("CUDA 9.2; 11.0 or newer is needed"));
}

TEST(NcclProbe, OneProcessForEachDeviceMeetsByTcpAndByFile) {
  const ScratchFolder folder;
  for (const bool by_file : {false, true}) {
    std::vector<std::string> words{
        "-c",
        R"(for rank in 0 1 2; do RANK=$rank LOCAL_RANK=$rank "$0" "$@" & jobs="$jobs $!"; done
      for job in $jobs; do wait $job || exit 1; done)",
        STEPCAST_BUILD_DIR "/bin/stepcast-probe-nccl",
        "--sizes",
        "64K",
        "--ops",
        "all_reduce,all_to_all",
        "--samples",
        "2",
        "--timeout-s",
        "60",
        "--out",
        (folder / "r.json").string()};
    const std::vector<std::string> way = by_file ? std::vector<std::string>{"--id-file", (folder / "id").string()}
                                                 : std::vector<std::string>{"--rendezvous", "127.0.0.1:29477"};
    words.insert(words.end(), way.begin(), way.end());
    std::vector<std::string> variables = stand_in("devices=3");
    for (const char* one : {"WORLD_SIZE=3", "LOCAL_WORLD_SIZE=3", "TORCHELASTIC_RUN_ID=test"})
      variables.emplace_back(one);
    const Json result = result_of(probe("/bin/sh", words, variables), folder / "r.json");
    const Json row = row_of(result, {{"op", "all_reduce"}, {"in_place", false}, {"kind", "collective"}});
    EXPECT_EQ(row["ranks"], 3);
    EXPECT_EQ(row["nodes"], 1);
    EXPECT_EQ(result["environment"]["launcher"], "torchrun");
    EXPECT_NEAR(first_us(row), 10 + kSize * 4 / 3 / 1e5, 0.05);
  }
}

TEST(NcclProbe, ProcessesThatDoNotMeetGiveUp) {
  std::vector<std::string> variables = stand_in("devices=2");
  for (const char* one : {"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=1", "TORCHELASTIC_RUN_ID=late"})
    variables.emplace_back(one);
  const Finished late =
      probe("stepcast-probe-nccl", {"--timeout-s", "1", "--rendezvous", "127.0.0.1:29478"}, variables);
  EXPECT_EQ(late.code, 1);
  EXPECT_THAT(late.err, testing::HasSubstr("rank 0 does not answer"));
  const Finished lost = probe("stepcast-probe-nccl", {}, variables);
  EXPECT_EQ(lost.code, 2);
  EXPECT_THAT(lost.err, testing::HasSubstr("--rendezvous HOST:PORT"));
}

TEST(NcclProbe, WithoutADriverItSaysSo) {
  if (fs::exists("/dev/nvidiactl")) GTEST_SKIP() << "this host has an NVIDIA driver";
  for (const char* name : {"stepcast-probe-nccl", "stepcast-probe-gpu"}) {
    const Finished run = probe(name, {});
    EXPECT_EQ(run.code, 3);
    EXPECT_THAT(run.err, testing::HasSubstr("the NVIDIA driver is not here: libcuda.so.1"));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

// ---- one device, against the stand-in -------------------------------------------------------------------------------

TEST(GpuProbe, FindsTheTimingsOfTheStandIn) {
  const Json result = result_of(
      probe("stepcast-probe-gpu",
            {"--shapes", "64x48x32,128x128x128", "--attention", "1x2x2x16x64", "--max", "64K", "--samples", "2"},
            stand_in("devices=2")));
  EXPECT_EQ(result["versions"]["cublaslt"], "13.1.0");
  const std::vector<std::pair<std::string, double>> rates{{"fp32", 50e6},   {"tf32", 400e6},      {"fp16", 800e6},
                                                          {"bf16", 800e6},  {"fp8_e4m3", 1600e6}, {"fp8_e5m2", 1600e6},
                                                          {"int8", 1600e6}, {"fp64", 25e6}};
  for (const auto& [precision, per_us] : rates) {
    const Json row = row_of(result, {{"kind", "gemm"}, {"m", 128}, {"precision", precision}});
    EXPECT_NEAR(first_us(row), 5 + 2.0 * 128 * 128 * 128 / per_us, 0.01) << precision;
    EXPECT_EQ(row["checked"], true);
  }
  EXPECT_NEAR(first_us(row_of(result, {{"kind", "memory"}, {"op", "copy"}, {"size_bytes", 65536}})),
              2 + 2 * 65536 / 1e6, 0.01);
  EXPECT_NEAR(
      first_us(row_of(result, {{"kind", "copy"}, {"op", "host_to_device"}, {"pinned", true}, {"size_bytes", 65536}})),
      2 + 65536 / 5e4, 0.01);
  if (fs::exists("/sys/devices/system/node/node0/meminfo"))
    row_of(result, {{"kind", "copy"}, {"op", "device_to_host"}, {"from", "gpu0"}, {"to", "numa0"}});
  EXPECT_NEAR(first_us(row_of(result, {{"kind", "copy"}, {"op", "peer"}, {"size_bytes", 65536}})), 2 + 65536 / 1e5,
              0.01);
  row_of(result, {{"kind", "launch"}, {"op", "latency"}});
  const Json power = row_of(result, {{"kind", "power"}, {"state", "gemm"}});
  EXPECT_EQ(power["samples_W"][0], 300);
  EXPECT_EQ(power["power_limit_W"], 700);
}

const std::vector<std::string> kSmallAttention{"--what", "attention", "--attention", "1x4x2x64x64", "--samples", "2"};

TEST(GpuProbe, AttentionHasTheTimingsOfTheStandIn) {
  const Json result = result_of(probe("stepcast-probe-gpu", kSmallAttention, stand_in("devices=1")));
  EXPECT_EQ(result["versions"]["cudnn"], "9.19.0");
  EXPECT_EQ(result["warnings"], Json::array());
  // 5 µs, and 25 TFLOP/s forward, 20 backward, by long sequences; half of that at 256 tokens with a mask and at 102.4
  // without; backward five products instead of two, and 64 KiB are set to zero.
  constexpr double kProduct = 2.0 * 4 * 64 * 64 * 64;
  for (const char* precision : {"fp16", "bf16"})
    for (const bool causal : {false, true}) {
      const auto time = [&](const char* pass) {
        const Json row =
            row_of(result, {{"kind", "attention"}, {"pass", pass}, {"causal", causal}, {"precision", precision}});
        EXPECT_EQ(row["checked"], true);
        return first_us(row);
      };
      const double product = kProduct * (causal ? 0.5 * (1 + 256 / 64.0) : 1 + 102.4 / 64);
      EXPECT_NEAR(time("forward"), 5 + 2 * product / 25e6, 0.002);
      EXPECT_NEAR(time("backward"), 5 + 5 * product / 20e6 + 2 + 65536 / 1e6, 0.002);
    }
}

TEST(GpuProbe, TheFitFindsTheAttentionOfTheStandInAgain) {
  const ScratchFolder folder;
  const std::string measured = (folder / "gpu.json").string(), fitted = (folder / "gpu.calib.json").string();
  const Finished run = probe("stepcast-probe-gpu",
                             {"--what", "attention", "--precisions", "bf16", "--samples", "2", "--attention",
                              "4x16x4x128x128,2x16x16x256x128,1x8x2x512x128", "--out", measured},
                             stand_in("devices=1"));
  ASSERT_EQ(run.code, 0) << run.err;
  const Finished fit = probe("stepcast", {"calibrate", "fit", measured, "--node", "azure-nc64as-t4-v3", "--stand-in",
                                          "--refits", "2", "-o", fitted});
  ASSERT_EQ(fit.code, 0) << fit.err;
  const Json profile = Json::parse(read_text(fitted))["catalogue"]["compute-profiles"]["nvidia-turing"];
  EXPECT_NEAR(profile["attention_forward_share"]["native"].get<double>(), 25.0 / 65, 0.05);
  EXPECT_NEAR(profile["attention_backward_ratio"].get<double>(), 0.8, 0.1);
  EXPECT_NEAR(profile["attention_half_sequence"].get<double>(), 256, 70);
  const Json figures = Json::parse(read_text(fitted))["figures"];
  for (const Json& figure : figures)
    if (figure["group"] == "attention") {
      EXPECT_NEAR(figure["model"].get<double>() / figure["measured"].get<double>(), 1, 0.15) << figure["name"];
    }
}

TEST(GpuProbe, WrongAttentionIsNamed) {
  const Finished result = probe("stepcast-probe-gpu", kSmallAttention, stand_in("wrong_attention"));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, testing::HasSubstr("attention 1×4×2×64×64 in fp16: wrong data: the result of token 0"));
  const Finished gradient = probe("stepcast-probe-gpu", kSmallAttention, stand_in("wrong_gradient"));
  EXPECT_EQ(gradient.code, 1);
  EXPECT_THAT(gradient.err, testing::HasSubstr("wrong data: the query gradient of token"));
}

TEST(GpuProbe, ACudnnThatCannotIsNamedAndPassedOver) {
  // Asked for attention, it is a fault; by default the rest is measured, and the file says what is missing.
  const std::vector<std::string> other{"--shapes", "64x64x64",    "--max",       "4K",           "--samples",
                                       "1",        "--attention", "1x4x2x64x64", "--precisions", "bf16"};
  const auto said = [&](const char* settings, const char* folder, const char* words) {
    const Finished asked = probe("stepcast-probe-gpu", kSmallAttention, stand_in(settings, folder));
    EXPECT_EQ(asked.code, 3);
    EXPECT_THAT(asked.err, testing::HasSubstr(words));
    const Json result = result_of(probe("stepcast-probe-gpu", other, stand_in(settings, folder)));
    EXPECT_THAT(result["warnings"].dump(), testing::HasSubstr(words));
    row_of(result, {{"kind", "gemm"}});
  };
  said("devices=1,old_cudnn", "stand-in", "cuDNN is too old: libcudnn.so.9 is 8.9.7; 9.0 or newer is needed");
  said("devices=1", "stand-in-incomplete", "cuDNN: libcudnn.so.9 has no function cudnnBackendExecute");
  const Json result = result_of(probe("stepcast-probe-gpu", kSmallAttention, stand_in("devices=1,no_gradients")));
  row_of(result, {{"kind", "attention"}, {"pass", "forward"}});
  for (const Json& row : result["results"]) EXPECT_NE(row.value("pass", ""), "backward");
  EXPECT_THAT(
      result["warnings"].dump(),
      testing::HasSubstr("attention 1x4x2x64x64, causal, backward in bf16 is left out: cuDNN 9.19.0 has no kernel"));
}

TEST(GpuProbe, WithoutCudnnTheRestIsMeasured) {
  const ScratchFolder folder;
  // Files that are no libraries, before one that this host may have.
  for (const char* name : {"libcudnn.so.9", "libcudnn.so", "libcudnn.so.8"})
    std::ofstream(folder / name) << "no library";
  for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1", "libcublasLt.so.13"})
    fs::create_symlink(STEPCAST_BUILD_DIR "/stand-in/libstepcast-stand-in.so", folder / name);
  const Json result = result_of(probe("stepcast-probe-gpu",
                                      {"--shapes", "64x64x64", "--max", "4K", "--samples", "1", "--precisions", "bf16"},
                                      {"LD_LIBRARY_PATH=" + (folder / "").string(), "STEPCAST_STAND_IN=devices=1"}));
  EXPECT_THAT(result["warnings"].dump(), testing::HasSubstr("attention is left out: cuDNN is not here: "));
  row_of(result, {{"kind", "gemm"}});
}

TEST(GpuProbe, AFormatThatTheLibraryDoesNotMultiplyIsLeftOutAndSaid) {
  constexpr const char* kWithoutInt8 = "no_product_of=3";  // cudaDataType's number
  const Json result =
      result_of(probe("stepcast-probe-gpu", {"--shapes", "64x48x32", "--what", "gemm", "--precisions", "bf16,int8"},
                      stand_in(kWithoutInt8)));
  row_of(result, {{"kind", "gemm"}, {"precision", "bf16"}});
  for (const Json& row : result["results"]) EXPECT_NE(row.value("precision", ""), "int8");
  EXPECT_THAT(result["warnings"].dump(), testing::HasSubstr("64x48x32 in int8 is left out: cuBLASLt has no algorithm"));
}

TEST(GpuProbe, WrongDataIsNamed) {
  const Finished product =
      probe("stepcast-probe-gpu", {"--shapes", "64x64x64", "--what", "gemm"}, stand_in("wrong_product"));
  EXPECT_EQ(product.code, 1);
  EXPECT_THAT(product.err, testing::HasSubstr("product 64×64×64 in fp32: wrong data: element (0, 0)"));
  const Finished copy = probe("stepcast-probe-gpu", {"--what", "memory", "--max", "4K"}, stand_in("wrong_copy"));
  EXPECT_EQ(copy.code, 1);
  EXPECT_THAT(copy.err, testing::HasSubstr("a copy of device memory: wrong data: byte 2048"));
}

// ---- power and storage ----------------------------------------------------------------------------------------------

TEST(PowerProbe, ReadsCountersAndSaysWhichItCannot) {
  const ScratchFolder folder;
  for (const char* domain : {"intel-rapl:0", "intel-rapl:0:0"}) {
    fs::create_directories(folder / domain);
    std::ofstream((folder / domain) / "name") << (std::string(domain).size() > 12 ? "dram" : "package-0") << '\n';
    std::ofstream((folder / domain) / "energy_uj") << "1000000\n";
    std::ofstream((folder / domain) / "max_energy_range_uj") << "262143328850\n";
  }
  fs::create_directories(folder / "intel-rapl:1");
  std::ofstream((folder / "intel-rapl:1") / "name") << "package-1\n";
  const std::string powercap = (folder / "").string();
  const Json result =
      result_of(probe("stepcast-probe-power", {"--seconds", "0.3", "--interval-ms", "50", "--powercap", powercap},
                      stand_in("devices=1")));
  EXPECT_GE(row_of(result, {{"device", "package-0"}, {"source", "rapl"}})["samples_W"].size(), 3U);
  row_of(result, {{"device", "package-0/dram"}});
  EXPECT_EQ(row_of(result, {{"device", "gpu0"}, {"source", "nvml"}})["samples_W"][0], 300);
  EXPECT_THAT(result["warnings"].dump(), testing::HasSubstr("package-1"));
  const Finished nothing = probe("stepcast-probe-power", {"--powercap", "/nonexistent"});
  if (!fs::exists("/dev/nvidiactl")) {
    EXPECT_EQ(nothing.code, 3);
    EXPECT_THAT(nothing.err, testing::HasSubstr("no power can be read on this host"));
  }
}

TEST(StorageProbe, DrivesFioAndCleansUp) {
  if (!installed("fio")) GTEST_SKIP() << "fio is not installed (scripts/install-deps.sh tests)";
  const ScratchFolder folder;
  const Json result = result_of(probe(
      "stepcast-probe-storage", {"--dir", (folder / "").string(), "--size", "8M", "--seconds", "1", "--files", "10",
                                 "--jobs", "2", "--patterns", "sequential_read,checkpoint_write,many_files_read"}));
  ASSERT_EQ(result["results"].size(), 3U);
  for (const Json& row : result["results"]) {
    EXPECT_GT(row["bandwidth_MBps"].get<double>(), 0);
    EXPECT_GT(row["latency_us"]["mean"].get<double>(), 0);
  }
  EXPECT_EQ(result["results"][1]["size_bytes"], 2 * 8 << 20);
  EXPECT_TRUE(fs::is_empty(folder / ""));
}

TEST(StorageProbe, FaultsAreNamed) {
  const Finished absent = probe("stepcast-probe-storage", {"--dir", "/tmp", "--fio", "/nonexistent/fio"});
  EXPECT_EQ(absent.code, 3);
  EXPECT_THAT(absent.err, testing::HasSubstr("/nonexistent/fio cannot be started"));
  const Finished both = probe("stepcast-probe-storage", {"--jobs", "0", "--pattern", "x"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, testing::HasSubstr("--pattern: unknown; did you mean --patterns?"));
  EXPECT_THAT(both.err, testing::HasSubstr("--jobs: \"0\" is no whole number"));
}

// ---- MPI on this host -----------------------------------------------------------------------------------------------

std::vector<std::string> on_two(const std::vector<std::string>& words) {
  std::vector<std::string> out{"--allow-run-as-root",
                               "--oversubscribe",
                               "--mca",
                               "mpi_yield_when_idle",
                               "1",
                               "-n",
                               "2",
                               STEPCAST_BUILD_DIR "/bin/stepcast-probe-mpi"};
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

TEST(MpiProbe, MeasuresEveryCollectiveAndChecksIt) {
  if (!fs::exists(STEPCAST_BUILD_DIR "/bin/stepcast-probe-mpi") || !installed("mpirun"))
    GTEST_SKIP() << "Open MPI is not installed (scripts/install-deps.sh tests)";
  const ScratchFolder folder;
  const std::string out = (folder / "r.json").string();
  const Json result = result_of(probe("mpirun", on_two({"--sizes", "8,4K", "--samples", "3", "--out", out})), out);
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "reduce", "all_to_all"})
    for (const bool in_place : {false, true})
      EXPECT_EQ(row_of(result, {{"op", op}, {"in_place", in_place}, {"size_bytes", 4096}})["checked"], true);
  EXPECT_EQ(row_of(result, {{"kind", "ping_pong"}, {"size_bytes", 8}})["nodes"], 1);
}

TEST(MpiProbe, TrainsWithKnownComputation) {
  if (!fs::exists(STEPCAST_BUILD_DIR "/bin/stepcast-probe-mpi") || !installed("mpirun"))
    GTEST_SKIP() << "Open MPI is not installed (scripts/install-deps.sh tests)";
  const ScratchFolder folder;
  const std::string out = (folder / "r.json").string();
  const Json result = result_of(
      probe("mpirun",
            on_two({"--train-loop", "--layers", "4", "--layer-bytes", "64K", "--bucket-bytes", "128K", "--forward-us",
                    "500", "--backward-us", "1000", "--overlap", "none,test,thread", "--steps", "3", "--out", out})),
      out);
  ASSERT_EQ(result["results"].size(), 3U);
  for (const Json& row : result["results"]) EXPECT_GE(first_us(row), 4 * 1500.0);
}

TEST(MpiProbe, FaultsAreSaidOnceAndNotByEveryProcess) {
  if (!fs::exists(STEPCAST_BUILD_DIR "/bin/stepcast-probe-mpi") || !installed("mpirun"))
    GTEST_SKIP() << "Open MPI is not installed (scripts/install-deps.sh tests)";
  const Finished run = probe("mpirun", on_two({"--ops", "all_reduce", "--algorithm", "rnig"}));
  EXPECT_EQ(run.code, 2);
  const std::string said = "all_reduce has no \"rnig\"; it has linear";
  ASSERT_THAT(run.err, testing::HasSubstr(said));
  EXPECT_EQ(run.err.find(said, run.err.find(said) + 1), std::string::npos);
}

TEST(ProbeCluster, RunsEveryProbeOnSeveralNumbersOfHosts) {
  const std::string script = STEPCAST_SOURCE_DIR "/scripts/probe-cluster.sh";
  const Finished mpirun =
      probe(script, {"--hosts", "a,b,c,d,e", "--per-node", "8", "--storage", "/scratch", "--bin", "/p", "--dry-run"});
  EXPECT_EQ(mpirun.code, 0) << mpirun.err;
  for (const char* line :
       {"mpirun --host a:8,b:8 -n 16 /p/stepcast-probe-nccl --rendezvous a --out stepcast-results/nccl-2.json\n",
        "mpirun --host a:1,b:1,c:1,d:1,e:1 -n 5 /p/stepcast-probe-mpi --max 16M --out stepcast-results/mpi-5.json\n",
        "mpirun --host a:1 -n 1 /p/stepcast-probe-storage --dir /scratch --out stepcast-results/storage.json\n"})
    EXPECT_THAT(mpirun.out, testing::HasSubstr(line));
  const Finished slurm =
      probe(script, {"--per-node", "4", "--bin", "/p", "--dry-run"},
            {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_JOB_NUM_NODES=2", "PATH=/usr/bin:/bin"});
  EXPECT_THAT(
      slurm.out,
      testing::HasSubstr(
          "srun --mpi=pmix -N 2 -n 8 --ntasks-per-node 4 /p/stepcast-probe-nccl --out stepcast-results/nccl-2.json\n"));
  EXPECT_EQ(probe(script, {"--dry-run"}, {"SLURM_JOB_ID="}).code, 2);
}

TEST(Probes, HelpIsThere) {
  for (const char* name :
       {"stepcast-probe-nccl", "stepcast-probe-gpu", "stepcast-probe-storage", "stepcast-probe-power"}) {
    const Finished run = probe(name, {"--help"});
    EXPECT_EQ(run.code, 0);
    EXPECT_THAT(run.out, testing::HasSubstr("--out FILE"));
  }
}

}  // namespace
}  // namespace stepcast
