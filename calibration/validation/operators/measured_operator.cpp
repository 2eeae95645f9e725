#include "calibration/validation/operators/measured_operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibration/validation/operators/attention_kernels.hpp"
#include "calibration/validation/operators/operator_formats.hpp"
#include "calibration/validation/stated_words.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {
namespace {

double element_bytes(std::string_view format) {
  if (format == "fp32" || format == "tf32") return 4;
  if (format == "fp64") return 8;
  if (format.substr(0, 3) == "fp8" || format == "mxfp8" || format == "int8") return 1;
  if (format == "fp4") return 0.5;
  return 2;
}

/// 8- and 4-bit products write 16 bit.
double result_bytes(std::string_view format) { return std::max(2.0, element_bytes(format)); }

void read_product(MeasuredOperator& out, const CsvRow& row) {
  ProductWork work;
  ProductShape& shape = work.shape;
  shape.m = row.required_number("m");
  shape.n = row.required_number("n");
  shape.k = row.required_number("k");
  // Tables of power have no such column.
  shape.batch = row.table().column("batch") ? row.required_number("batch") : 1;
  shape.input_bytes = element_bytes(out.format);
  shape.output_bytes = result_bytes(out.format);
  out.implementation = row.text("library");
  shape.accumulates = contains(out.implementation, "fp32 acc");
  work.quantises = contains(out.implementation, "quant");
  out.family = fmt::format("{}x{}", shape.n, shape.k);
  out.work = work;
}

/// From here on aiconfigurator's power is doubted: of eight of its shapes repeated on an H200 on 2026-11-26
/// (docs/models/operators.md), the four with k = 65,536 and the one with n = k = 51,200 drew 1.11 to 1.37 times what
/// its table has, the three others agree within 2 %; no operands (random, zeros, uninitialised) give both its time and
/// its power.
constexpr double kDoubtedDepth = 51200;

void read_power(MeasuredOperator& out, const CsvRow& row) {
  read_product(out, row);
  out.power = Watts(row.required_number("power_W"));
  out.conditions.call.sustained = true;
  // Up to five weights are gone round, of ours one.
  const bool own = contains(out.source, "stepcast");
  out.conditions.call.operand_sets = own ? 1 : 5;
  out.power_doubtful = !own && std::get<ProductWork>(out.work).shape.k >= kDoubtedDepth;
}

/// The direction that a row states in one of the spellings of a table; refused, with the first of them, where it is
/// none.
template <std::size_t kCount>
std::string direction_of(MeasuredOperator& out, const CsvRow& row, const std::array<Spelling, kCount>& spellings) {
  const std::string stated = row.text("direction");
  if (const std::optional<std::string_view> word = word_of(stated, spellings)) return std::string(*word);
  std::vector<std::string> words;
  for (const Spelling& one : spellings)
    if (one.text == one.word) words.emplace_back(one.word);
  out.refusal = not_understood("direction", stated, words);
  return words.front();
}

constexpr std::array kPasses{Spelling{"fwd", "fwd"},         Spelling{"bwd", "bwd"},
                             Spelling{"fwd+bwd", "fwd+bwd"}, Spelling{"forward", "fwd"},
                             Spelling{"backward", "bwd"},    Spelling{"forward+backward", "fwd+bwd"}};

AttentionPass pass_of(std::string_view direction) {
  if (direction == "fwd") return AttentionPass::forward;
  return direction == "bwd" ? AttentionPass::backward : AttentionPass::both;
}

/// The kernel that a row names; refused where none has the name. Serving adds work to kernels: writing keys and values
/// to the cache belongs to them there.
std::string kernel_name(MeasuredOperator& out) {
  const bool serving = out.source.substr(0, 4) == "aic:";
  const std::optional<std::string> name = attention_kernel_of(out.implementation);
  if (!name) {
    out.refusal = not_understood("implementation", out.implementation, attention_kernel_names());
    return out.implementation;
  }
  return serving && *name != "unfused" ? *name + "-paged" : *name;
}

void read_attention(MeasuredOperator& out, const CsvRow& row) {
  AttentionWork work;
  AttentionShape& shape = work.shape;
  shape.batch = row.required_number("batch");
  shape.heads = row.required_number("heads");
  shape.key_heads = row.required_number("kv_heads");
  shape.head_size = row.required_number("head_dim");
  shape.value_size = row.required_number("head_dim_v");
  shape.queries = row.required_number("seq_q");
  shape.keys = row.required_number("seq_kv");
  const std::optional<bool> causal = stated_flag(row.text("causal"));
  if (!causal) out.refusal = no_flag("causal", row.text("causal"));
  shape.causal = causal.value_or(false);
  shape.pass = pass_of(direction_of(out, row, kPasses));
  shape.element_bytes = element_bytes(out.format);
  out.implementation = row.text("implementation");
  work.kernel = kernel_name(out);
  out.family = fmt::format("{}/{}/{}", shape.heads, shape.key_heads, shape.head_size);
  out.work = std::move(work);
}

/// Classes of implementations that cost alike.
std::string_view implementation_class(const std::string& implementation, std::string_view source) {
  struct Class {
    std::string_view implementation, name;
  };
  constexpr std::array kClasses{Class{"torch", "eager"},       Class{"pytorch", "eager"},
                                Class{"huggingface", "eager"}, Class{"torch_compile", "compiled"},
                                Class{"vllm", "inference"},    Class{"static", "inference"},
                                Class{"liger", "fused"},       Class{"cudnn", "cudnn"},
                                Class{"apex", "fused"},        Class{"cudaMemcpy", "copy"}};
  if (source.substr(0, 8) == "neusight") return "eager-call";
  const Class* best = nullptr;
  for (const Class& known : kClasses)
    if (implementation.compare(0, known.implementation.size(), known.implementation) == 0 &&
        (best == nullptr || known.implementation.size() > best->implementation.size()))
      best = &known;
  return best == nullptr ? "eager" : best->name;
}

/// Memory-bound operators that profiles of operators have constants of.
const std::vector<std::string>& streaming_operators() {
  static const std::vector<std::string> kNames{"fp8_quantise_static",
                                               "rms_norm",
                                               "rope",
                                               "layer_norm",
                                               "silu_mul",
                                               "tanh",
                                               "mul_scalar",
                                               "relu",
                                               "softmax",
                                               "add_scalar",
                                               "mul",
                                               "gelu",
                                               "residual_add",
                                               "residual_add2",
                                               "add",
                                               "fused_add_rms_norm",
                                               "group_norm",
                                               "embedding",
                                               "device_copy",
                                               "embedding_vocab_parallel",
                                               "adam_fused",
                                               "cross_entropy"};
  return kNames;
}

/// Further ones, which stream as kernels without constants of their own do.
const std::vector<std::string>& other_streaming_operators() {
  static const std::vector<std::string> kNames{"swiglu",
                                               "geglu",
                                               "silu",
                                               "sigmoid",
                                               "dropout",
                                               "sub",
                                               "div",
                                               "exp",
                                               "sqrt",
                                               "cast",
                                               "copy",
                                               "fill",
                                               "memcpy",
                                               "memset",
                                               "transpose",
                                               "permute",
                                               "scale",
                                               "batch_norm",
                                               "sgd",
                                               "adam",
                                               "adamw",
                                               "lamb",
                                               "log_softmax",
                                               "kl_div",
                                               "jsd",
                                               "sum",
                                               "reduce",
                                               "fp8_quantise_dynamic",
                                               "fp8_quantise_block",
                                               "quantise"};
  return kNames;
}

std::string streaming_operator(MeasuredOperator& out, const CsvRow& row) {
  std::string stated = row.text("op");
  for (const std::string& name : streaming_operators())
    if (squashed(name) == squashed(stated)) return name;
  // A table's rows are of one kernel, whatever the vocabulary.
  if (stated.starts_with("embedding_vocab_")) return "embedding";
  for (const std::string& name : other_streaming_operators())
    if (squashed(name) == squashed(stated)) return name;
  out.refusal = not_understood("op", stated, streaming_operators());
  return stated;
}

void read_streaming(MeasuredOperator& out, const CsvRow& row) {
  StreamingWork work;
  out.implementation = row.text("implementation");
  if (out.implementation.empty())
    out.refusal = "implementation: found nothing, expected the program whose kernel it is";
  const std::string name = streaming_operator(out, row);
  work.kernel = fmt::format("{}.{}.{}", name, direction_of(out, row, kPasses),
                            implementation_class(out.implementation, out.source));
  if (const std::optional<double> bytes = row.number("bytes")) work.bytes = Bytes(*bytes);
  work.columns = row.required_number("cols");
  out.family = fmt::format("{}", work.columns);
  out.work = std::move(work);
}

double result_size(double image, double filter, double padding, double stride) {
  return std::floor((image + 2 * padding - filter) / stride) + 1;
}

void read_convolution(MeasuredOperator& out, const CsvRow& row) {
  ConvolutionShape shape;
  shape.batch = row.required_number("n");
  shape.channels = row.required_number("c");
  shape.height = row.required_number("h");
  shape.width = row.required_number("w");
  shape.filters = row.required_number("k");
  shape.rows = row.required_number("r");
  shape.columns = row.required_number("s");
  shape.stride_height = row.required_number("stride_h");
  shape.stride_width = row.required_number("stride_w");
  // Padding may be 0, which `number` refuses.
  const auto padding = [&](const char* column) { return row.text(column) == "0" ? 0 : row.required_number(column); };
  shape.out_height = result_size(shape.height, shape.rows, padding("pad_h"), shape.stride_height);
  shape.out_width = result_size(shape.width, shape.columns, padding("pad_w"), shape.stride_width);
  if (shape.out_height < 1 || shape.out_width < 1) row.fault("h", "the filter is larger than the padded image");
  constexpr std::array kGradients{Spelling{"fwd", "fwd"},
                                  Spelling{"bwd-data", "bwd-data"},
                                  Spelling{"bwd-weights", "bwd-weights"},
                                  Spelling{"forward", "fwd"},
                                  Spelling{"backward-data", "bwd-data"},
                                  Spelling{"dgrad", "bwd-data"},
                                  Spelling{"wgrad", "bwd-weights"},
                                  Spelling{"backward-weights", "bwd-weights"}};
  const std::string direction = direction_of(out, row, kGradients);
  if (direction == "bwd-data") shape.pass = ConvolutionPass::input_gradient;
  if (direction == "bwd-weights") shape.pass = ConvolutionPass::weight_gradient;
  shape.element_bytes = element_bytes(out.format);
  out.implementation = row.text("algorithm");
  out.family = fmt::format("{}x{}x{}x{}", shape.channels, shape.filters, shape.rows, shape.columns);
  out.work = ConvolutionWork{shape};
}

/// A kind of table of operators, and how its rows are read.
struct OperatorTable {
  KnownTable table;
  void (*read)(MeasuredOperator& out, const CsvRow& row);
};

const std::vector<OperatorTable>& tables() {
  static const std::vector<OperatorTable> kTables{
      {{"power of products",
        {"accelerator_id", "precision", "m", "n", "k", "time_us", "power_W", "power_limit_W", "source"},
        {"operators-power"}},
       read_power},
      {{"timed products",
        {"accelerator_id", "precision", "batch", "m", "n", "k", "layout", "time_us", "library", "source"},
        {"operators-gemm"}},
       read_product},
      {{"timed attention",
        {"accelerator_id", "precision", "implementation", "direction", "batch", "heads", "kv_heads", "head_dim",
         "head_dim_v", "seq_q", "seq_kv", "causal", "time_us", "source"},
        {"operators-attention"}},
       read_attention},
      {{"timed memory-bound operators",
        {"accelerator_id", "op", "direction", "precision", "rows", "cols", "bytes", "time_us", "implementation",
         "source"},
        {"operators-memory"}},
       read_streaming},
      {{"timed convolutions",
        {"accelerator_id", "precision", "n", "c", "h", "w", "k", "r", "s", "pad_h", "pad_w", "stride_h", "stride_w",
         "direction", "time_us", "source"},
        {"operators-conv"}},
       read_convolution}};
  return kTables;
}

const OperatorTable* table_of(const CsvTable& table) {
  for (const OperatorTable& known : tables())
    if (is_of(table, known.table)) return &known;
  return nullptr;
}

}  // namespace

std::vector<KnownTable> operator_tables() {
  std::vector<KnownTable> out;
  for (const OperatorTable& known : tables()) out.push_back(known.table);
  return out;
}

bool holds_operators(const CsvTable& table) { return table_of(table) != nullptr; }

OperatorSet read_operators(const CsvTable& table, std::string name) {
  const OperatorTable* kind = table_of(table);
  if (kind == nullptr) refuse_columns(table);
  OperatorSet out{std::move(name), {}};
  std::vector<Fault> faults;
  out.operators.reserve(table.rows.size());
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow row(table, i, faults);
    MeasuredOperator one;
    one.line = row.line();
    one.accelerator = row.text("accelerator_id");
    const std::string format = row.text("precision");
    one.format = operator_format(format).value_or(format);
    one.source = row.text("source");
    one.conditions = conditions_of(one.source);
    one.measured = Seconds(row.required_number("time_us") * 1e-6);
    kind->read(one, row);
    if (!operator_format(format)) one.refusal = not_understood("precision", format, operator_formats());
    out.operators.push_back(std::move(one));
  }
  throw_if_faulty(std::move(faults));
  return out;
}

}  // namespace stepcast
