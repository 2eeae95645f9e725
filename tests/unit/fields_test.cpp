#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <fstream>

#include "fields/field_table.hpp"
#include "fields/plain_text.hpp"
#include "fields/streamed_file.hpp"
#include "sim/protocol/environment_error.hpp"
#include "sim/protocol/exit_code.hpp"
#include "tests/scratch_folder.hpp"

namespace stepcast::fields_test {
namespace {
enum class Flavour { sweet, sour, bitter };
}
}  // namespace stepcast::fields_test

template <>
struct stepcast::EnumNames<stepcast::fields_test::Flavour> {
  static constexpr std::array names{"sweet", "sour", "bitter"};
};

namespace stepcast::fields_test {
namespace {

using testing::HasSubstr;

struct Origin {
  std::string maker;
  std::map<std::string, std::string> notes;
  static const FieldTable<Origin>& fields() {
    static const FieldTable<Origin> table = FieldTable<Origin>("origin", "Who made it")
                                                .field("maker", &Origin::maker, "Maker")
                                                .field("notes", &Origin::notes, "Notes by name");
    return table;
  }
};

struct Part {
  int slot = 1;
  BytesPerSecond rate;
  static const FieldTable<Part>& fields() {
    static const FieldTable<Part> table = FieldTable<Part>("part", "One part")
                                              .field("slot", &Part::slot, "Where it sits", Rules{.min = 0, .max = 63})
                                              .field("rate_Gbps", &Part::rate, "How fast");
    return table;
  }
};

struct Sample {
  bool on = false;
  long count = 0;
  double ratio = 0.5;
  std::string name;
  Flavour flavour = Flavour::sweet;
  Bytes size;
  std::optional<Seconds> delay;
  std::vector<int> digits;
  std::map<std::string, FlopsPerSecond> peaks;
  std::vector<Part> parts;
  std::optional<Part> spare;
  Origin origin;
  static const FieldTable<Sample>& fields() {
    static const FieldTable<Sample> table =
        FieldTable<Sample>("sample", "A type with every kind of field")
            .field("on", &Sample::on, "Switch")
            .field("count", &Sample::count, "Number", Rules{.required = true, .min = 0})
            .field("ratio", &Sample::ratio, "Ratio", Rules{.min = 0, .max = 1, .above_min = true})
            .field("name", &Sample::name, "Name")
            .field("flavour", &Sample::flavour, "Flavour")
            .field("size_GiB", &Sample::size, "Size", Rules{.min = 0})
            .field("delay_us", &Sample::delay, "Delay")
            .field("digits", &Sample::digits, "Digits", Rules{.min = 0, .max = 9})
            .field("peaks_TFLOPS", &Sample::peaks, "Peaks by name")
            .field("parts", &Sample::parts, "Parts")
            .field("spare", &Sample::spare, "Spare part")
            .fields_of(&Sample::origin);
    return table;
  }
};

std::vector<Fault> faults_of_text(const std::string& text) {
  Diagnostics diagnostics("file.json");
  const Json document = parse_json(text, diagnostics);
  if (diagnostics.ok()) read_document<Sample>(document, diagnostics);
  return diagnostics.faults();
}

std::string only_fault(const std::string& text) {
  const std::vector<Fault> faults = faults_of_text(text);
  EXPECT_EQ(faults.size(), 1U) << text;
  return faults.empty() ? "" : faults[0].text();
}

TEST(ParseJson, AcceptsComments) {
  Diagnostics diagnostics("file.json");
  const Json document = parse_json("// first\n{\"a\": 1, /* inside */ \"b\": [2]} // last", diagnostics);
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_EQ(document["b"][0], 2);
}

TEST(ParseJson, NamesLineAndColumnOfASyntaxError) {
  EXPECT_THAT(only_fault("{\n  \"count\": 1,,\n}"), HasSubstr("file.json: line 2, column 14: not valid JSON"));
  EXPECT_THAT(only_fault(""), HasSubstr("line 1"));
}

TEST(ParseJson, RefusesKeysGivenTwice) {
  EXPECT_EQ(only_fault(R"({"count": 1, "parts": [{"slot": 1, "slot": 2}]})"),
            "file.json: /parts/0/slot: this key is given twice; keep one of them");
}

TEST(ParseJson, RefusesNumbersThatAreNotFinite) {
  EXPECT_THAT(only_fault(R"({"count": 1, "ratio": 1e999})"), HasSubstr("/ratio: the number 1e999 is too large"));
  EXPECT_THAT(only_fault(R"({"count": NaN})"), HasSubstr("not valid JSON"));
}

TEST(ParseJson, RefusesWhatIsTooDeepOrTooLarge) {
  const std::string deep = std::string(kDeepestJson + 1, '[') + std::string(kDeepestJson + 1, ']');
  EXPECT_THAT(only_fault(deep), HasSubstr("nested more than 64 deep"));
  const std::string just = std::string(kDeepestJson, '[') + std::string(kDeepestJson, ']');
  Diagnostics diagnostics("file.json");
  parse_json(just, diagnostics);
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_THAT(only_fault(std::string(kMostJsonBytes + 1, ' ')), HasSubstr("larger than 64 MiB"));
}

TEST(ReadJson, MissingFileAndDirectoryAreFaults) {
  Diagnostics missing("x");
  read_json("no/such/file.json", missing);
  EXPECT_THAT(missing.faults().at(0).message, HasSubstr("cannot be read"));
  Diagnostics directory("x");
  read_json(STEPCAST_SOURCE_DIR, directory);
  EXPECT_THAT(directory.faults().at(0).message, HasSubstr("is a directory"));
}

TEST(WriteFile, WritesWholeOrThrows) {
  const ScratchFolder folder;
  write_file(folder / "out.json", "{}\n");
  write_file(folder / "out.json", "[1]\n");
  Diagnostics diagnostics("out.json");
  EXPECT_EQ(read_json(folder / "out.json", diagnostics), Json::parse("[1]"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "a temporary file was left";
  EXPECT_THROW(write_file(folder / "none/out.json", "{}"), InputError);
}

// Writing to a device by renaming a file over it would destroy it: `--trace /dev/null` as root once did.
TEST(WriteFile, LeavesPipesAndLinksWhatTheyAre) {
  const ScratchFolder folder;
  const std::filesystem::path pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  write_file(pipe, "[1]");
  std::array<char, 8> got{};
  EXPECT_EQ(read(reader, got.data(), got.size()), 3);
  close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));

  write_file(folder / "target.json", "[1]");
  std::filesystem::create_symlink("target.json", folder / "link.json");
  write_file(folder / "link.json", "[2]");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.json"));
  Diagnostics diagnostics("target.json");
  EXPECT_EQ(read_json(folder / "target.json", diagnostics), Json::parse("[2]"));
}

TEST(ReadJson, StopsReadingWhatHasNoEnd) {
  Diagnostics diagnostics("zero");
  read_json("/dev/zero", diagnostics);
  EXPECT_THAT(diagnostics.faults().at(0).message, HasSubstr("larger than 64 MiB"));
}

TEST(Fault, KeepsControlCharactersFromTheTerminal) {
  const Fault fault{"a\nb.json", "", "found \"\x1b[31m\"", ""};
  EXPECT_EQ(fault.text(), "a\\nb.json: found \"\\u001b[31m\"");
}

TEST(FieldTable, ReportsEveryFaultAtOnce) {
  const std::vector<Fault> faults =
      faults_of_text(R"({"on": 1, "ratio": 0, "flavour": "bitte", "digits": [1, 12, "x"], "siz_GiB": 2})");
  std::vector<std::string> texts;
  for (const Fault& fault : faults) texts.push_back(fault.text());
  EXPECT_THAT(texts, testing::UnorderedElementsAre(
                         "file.json: /on: found 1, expected true or false",
                         "file.json: /ratio: found 0, expected more than 0 and at most 1",
                         "file.json: /flavour: found \"bitte\", expected one of sweet, sour, bitter; did you mean "
                         "\"bitter\"?",
                         "file.json: /digits/1: found 12, expected at least 0 and at most 9",
                         "file.json: /digits/2: found \"x\", expected a whole number",
                         "file.json: /siz_GiB: sample has no key \"siz_GiB\"; did you mean \"size_GiB\"?",
                         "file.json: /count: missing: Number"));
}

TEST(FieldTable, WantsAnObject) {
  EXPECT_EQ(only_fault("[]"), "file.json: found an array of 0, expected an object (sample)");
  EXPECT_EQ(only_fault(R"({"count": 1, "spare": 3})"), "file.json: /spare: found 3, expected an object (part)");
}

TEST(FieldTable, ReadsWholeNumbersOnlyWhereTheyAreWhole) {
  Diagnostics diagnostics("");
  EXPECT_EQ(read_document<Sample>(Json::parse(R"({"count": 3.0})"), diagnostics).count, 3);
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_THAT(only_fault(R"({"count": 3.5})"), HasSubstr("expected a whole number"));
  EXPECT_THAT(only_fault(R"({"count": 1e300})"), HasSubstr("at most"));
  EXPECT_THAT(only_fault(R"({"count": 18446744073709551615})"), HasSubstr("at most"));
  EXPECT_THAT(only_fault(R"({"count": 1, "parts": [{"slot": -1}]})"), HasSubstr("/parts/0/slot: found -1"));
}

TEST(FieldTable, KeysCarryTheUnits) {
  Diagnostics diagnostics("");
  const auto sample =
      read_document<Sample>(Json::parse(R"({"count": 1, "size_GiB": 2, "delay_us": 3, "peaks_TFLOPS": {"bf16": 312},
                      "parts": [{"rate_Gbps": 200}]})"),
                            diagnostics);
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_DOUBLE_EQ(sample.size.in(1_GiB), 2);
  EXPECT_DOUBLE_EQ(sample.delay->in(1_us), 3);
  EXPECT_DOUBLE_EQ(sample.peaks.at("bf16").in(1_TFLOPS), 312);
  EXPECT_DOUBLE_EQ(sample.parts[0].rate.in(1_GBps), 25);
}

struct UnitCase {
  const char* key;
  double scale;
};

TEST(UnitOfKey, IsTheLongestEnding) {
  const std::vector<UnitCase> cases{{"price_usd", 1},
                                    {"price_usd_per_h", 1 / 3600.0},
                                    {"rental_usd_per_month", 1 / (365.25 / 12 * 86400)},
                                    {"electricity_usd_per_kWh", 1 / 3.6e6},
                                    {"memory_GB", 1e9},
                                    {"memory_GiB", 1073741824},
                                    {"bandwidth_Gbps", 1.25e8},
                                    {"bandwidth_GBps", 1e9},
                                    {"latency_us", 1e-6},
                                    {"tdp_W", 1},
                                    {"rack_kW", 1e3},
                                    {"GBps", 1e9}};
  for (const UnitCase& unit : cases) EXPECT_DOUBLE_EQ(detail::unit_of_key(unit.key).scale, unit.scale) << unit.key;
  EXPECT_THROW(detail::unit_of_key("memory"), std::logic_error);
  EXPECT_THROW(detail::unit_of_key("memoryGB"), std::logic_error);
}

TEST(UnitOfKey, MustFitTheDimension) {
  struct Wrong {
    Bytes size;
  };
  EXPECT_THROW(Codec<Bytes>::scale("size_W"), std::logic_error);
  EXPECT_THROW(FieldTable<Wrong>("wrong", "").field("size_us", &Wrong::size, "").write(Wrong{}), std::logic_error);
}

TEST(FieldTable, LeavesUnsetOptionalFieldsOut) {
  const Json written = Sample::fields().write(Sample{});
  EXPECT_FALSE(written.contains("delay_us"));
  EXPECT_FALSE(written.contains("spare"));
  EXPECT_EQ(written["ratio"], 0.5);
}

TEST(FieldTable, TakesOverTheFieldsOfAMember) {
  Diagnostics diagnostics("");
  const auto sample =
      read_document<Sample>(Json::parse(R"({"count": 1, "maker": "me", "notes": {"a": "b"}})"), diagnostics);
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_EQ(sample.origin.maker, "me");
  EXPECT_EQ(Sample::fields().write(sample)["notes"]["a"], "b");
  EXPECT_THAT(only_fault(R"({"count": 1, "maker": 2})"), HasSubstr("/maker: found 2, expected a string"));
}

TEST(FieldTable, YieldsAJsonSchema) {
  const Json schema = published_schema<Sample>("Sample");
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["title"], "Sample");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["required"], Json::parse(R"(["count"])"));
  const Json& properties = schema["properties"];
  EXPECT_EQ(properties.size(), Sample::fields().entries().size());
  EXPECT_EQ(properties["ratio"], Json::parse(R"({"type": "number", "exclusiveMinimum": 0.0, "maximum": 1.0,
                                               "description": "Ratio", "default": 0.5})"));
  EXPECT_EQ(properties["flavour"]["enum"], Json::parse(R"(["sweet", "sour", "bitter"])"));
  EXPECT_EQ(properties["digits"]["items"]["maximum"], 9);
  EXPECT_EQ(properties["peaks_TFLOPS"]["additionalProperties"]["type"], "number");
  EXPECT_EQ(properties["parts"]["items"]["properties"]["slot"]["type"], "integer");
  EXPECT_EQ(properties["maker"]["type"], "string");
}

double plausible(int exponent_range) {
  const double mantissa = *rc::gen::inRange(1, 100000) / 1000.0;
  return mantissa * std::pow(10, *rc::gen::inRange(-exponent_range, exponent_range + 1));
}

Part some_part() {
  Part part;
  part.slot = *rc::gen::inRange(0, 64);
  part.rate = BytesPerSecond(plausible(6));
  return part;
}

std::string some_text() { return *rc::gen::container<std::string>(rc::gen::inRange<char>(32, 127)); }

Sample some_sample() {
  Sample sample;
  sample.on = *rc::gen::arbitrary<bool>();
  sample.count = *rc::gen::inRange<long>(0, 1L << 53);
  sample.ratio = *rc::gen::inRange(1, 1001) / 1000.0;
  sample.name = some_text();
  sample.flavour = *rc::gen::element(Flavour::sweet, Flavour::sour, Flavour::bitter);
  sample.size = Bytes(plausible(9));
  if (*rc::gen::arbitrary<bool>()) sample.delay = Seconds(plausible(6));
  sample.digits = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 10));
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) sample.peaks[some_text()] = FlopsPerSecond(plausible(12));
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) sample.parts.push_back(some_part());
  if (*rc::gen::arbitrary<bool>()) sample.spare = some_part();
  sample.origin.maker = some_text();
  return sample;
}

/// Equal but for the last bits of numbers, which a change of units may touch.
bool same(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    const double x = a.get<double>();
    const double y = b.get<double>();
    return std::abs(x - y) <= 1e-12 * std::max(std::abs(x), std::abs(y));
  }
  if (a.type() != b.type() || a.size() != b.size()) return false;
  if (a.is_object()) {
    for (const auto& item : a.items())
      if (!b.contains(item.key()) || !same(item.value(), b[item.key()])) return false;
    return true;
  }
  if (!a.is_array()) return a == b;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same(a[i], b[i])) return false;
  return true;
}

RC_GTEST_PROP(FieldTable, ReadsBackWhatItWrites, ()) {
  const Json written = Sample::fields().write(some_sample());
  Diagnostics diagnostics("");
  const Json parsed = parse_json(written.dump(2), diagnostics);
  const auto again = read_document<Sample>(parsed, diagnostics);
  RC_ASSERT(diagnostics.ok());
  RC_ASSERT(same(Sample::fields().write(again), written));
}

RC_GTEST_PROP(ParseJson, NeverThrowsWhateverTheText, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::elementOf(std::string("{}[]\",:0123456789eE+-.tfn/*\\\n ")), rc::gen::arbitrary<char>()));
  Diagnostics diagnostics("");
  const Json document = parse_json(text, diagnostics);
  if (diagnostics.ok()) read_document<Sample>(document, diagnostics);
}

TEST(PlainText, RefusesWhatCouldSteerATerminal) {
  Diagnostics diagnostics("a.json");
  refuse_control_characters(
      Json{{"name", "a\x1b[31mb"}, {"description", "two\nlines\tand a tab"}, {"list", {"fine", "\x7f"}}}, diagnostics);
  ASSERT_EQ(diagnostics.faults().size(), 2U);
  EXPECT_EQ(diagnostics.faults()[0].pointer, "/name");
  EXPECT_EQ(diagnostics.faults()[0].message, "holds the control character U+001B at byte 1");
  EXPECT_EQ(diagnostics.faults()[1].pointer, "/list/1");
}

TEST(DidYouMean, FindsTheNearest) {
  const std::vector<std::string> known{"dgx-a100-40gb", "dgx-a100-80gb", "dgx-h100"};
  EXPECT_EQ(did_you_mean("dgx-a100-80", known), "did you mean \"dgx-a100-80gb\"?");
  EXPECT_EQ(did_you_mean("DGX-H100", known), "did you mean \"dgx-h100\"?");
  EXPECT_EQ(did_you_mean("dgx-h010", known), "did you mean \"dgx-h100\"?");
  EXPECT_EQ(did_you_mean("toaster", known), "");
  EXPECT_EQ(did_you_mean("nope", {"no", "hopper"}), "");
  EXPECT_EQ(did_you_mean(std::string(1000, 'x'), known), "");
  EXPECT_EQ(did_you_mean("llama-70b", {"llama-30b", "llama2-70b"}), "did you mean \"llama2-70b\"?");
  EXPECT_EQ(nearest_choice("dgx-h010", known), "did you mean \"dgx-h100\"?");
  EXPECT_EQ(nearest_choice("nope", {"no", "hopper"}), expected_one_of({"no", "hopper"}));
}

TEST(ExpectedOneOf, ShortensLongLists) {
  EXPECT_EQ(expected_one_of({"a", "b"}), "expected one of a, b");
  EXPECT_THAT(expected_one_of(std::vector<std::string>(40, "x")), HasSubstr("… (40 in all)"));
}

TEST(Fault, SaysWhereWhatAndWhatInstead) {
  EXPECT_EQ((Fault{"f.json", "/a", "wrong", "try b"}).text(), "f.json: /a: wrong; try b");
  EXPECT_EQ((Fault{"", "", "wrong", ""}).text(), "wrong");
  const InputError error({{"f", "/a", "one", ""}, {"f", "/b", "two", ""}});
  EXPECT_STREQ(error.what(), "f: /a: one\nf: /b: two");
}

TEST(ChildPointer, EscapesAsRfc6901) { EXPECT_EQ(child_pointer("/a", "b/c~d"), "/a/b~1c~0d"); }

struct OverrideCase {
  const char* assignment;
  const char* result;
};

TEST(ApplyOverride, SetsAValueAtAPath) {
  const std::vector<OverrideCase> cases{
      {"a.b=3", R"({"a": {"b": 3, "list": [1, {"x": 2}]}})"},
      {"a.b=text", R"({"a": {"b": "text", "list": [1, {"x": 2}]}})"},
      {"a.b=\"4\"", R"({"a": {"b": "4", "list": [1, {"x": 2}]}})"},
      {"a.list.1.x=true", R"({"a": {"b": 1, "list": [1, {"x": true}]}})"},
      {"new.deep=[1,2]", R"({"a": {"b": 1, "list": [1, {"x": 2}]}, "new": {"deep": [1, 2]}})"},
      {"a.b=x=y", R"({"a": {"b": "x=y", "list": [1, {"x": 2}]}})"},
      {"a.b=", R"({"a": {"b": "", "list": [1, {"x": 2}]}})"},
  };
  for (const OverrideCase& each : cases) {
    Json document = Json::parse(R"({"a": {"b": 1, "list": [1, {"x": 2}]}})");
    Diagnostics diagnostics("");
    apply_override(document, each.assignment, diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << each.assignment;
    EXPECT_EQ(document, Json::parse(each.result)) << each.assignment;
  }
}

TEST(ApplyOverride, FaultsLeaveTheDocumentAlone) {
  for (const char* assignment : {"a.b", "=3", "a.list.7=1", "a.list.x=1", "a.b.c=1"}) {
    Json document = Json::parse(R"({"a": {"b": 1, "list": [1]}})");
    const Json before = document;
    Diagnostics diagnostics("");
    apply_override(document, assignment, diagnostics);
    EXPECT_EQ(diagnostics.faults().size(), 1U) << assignment;
    EXPECT_EQ(document, before) << assignment;
  }
}

// What programs end with, the window and the worker, too.
TEST(ExitCode, SaysWhoseFaultItIs) {
  const std::vector<Fault> faults{{"file", "", "wrong", ""}};
  EXPECT_EQ(exit_code_of(InputError(faults)), 2);
  EXPECT_EQ(exit_code_of(DiskError(faults)), 3);
  EXPECT_EQ(exit_code_of(EnvironmentError("no worker")), 3);
  EXPECT_EQ(exit_code_of(std::logic_error("ours")), 4);
}

}  // namespace
}  // namespace stepcast::fields_test
