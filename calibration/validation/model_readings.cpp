#include "calibration/validation/model_readings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "models/workload/operators.hpp"

namespace stepcast {

namespace {

/// Parameters of a shape; 0 of one that cannot be.
double parameters_of(Json shape) {
  shape["max_positions"] = 2048;
  Diagnostics diagnostics("shape");
  const Json described{{"id", "stated"}, {"family", "decoder"}, {"transformer", shape}, {"default_seq_len", 2048}};
  Model model;
  Model::fields().read(model, described, "", diagnostics);
  if (diagnostics.ok()) check_model(model, "", diagnostics);
  return diagnostics.ok() ? parameter_count(model) : 0;
}

/// How far a shape's parameters are from those stated, as a share of these; infinite of a shape that cannot be.
double distance(const Json& shape, double billions) {
  const double parameters = parameters_of(shape);
  return parameters > 0 ? std::abs(parameters / (billions * 1e9) - 1) : std::numeric_limits<double>::infinity();
}

/// By how much parameters that are stated with three digits may be off.
constexpr double kRounding = 0.003;
/// Parameters are stated with two digits or more, and biases and norms add a little.
constexpr double kRounded = 0.03;
/// Beyond it sizes and parameters are not of one model.
constexpr double kContradiction = 0.1;

/// A shape and how far it is from the stated parameters.
struct Reading {
  Json shape;
  double off = std::numeric_limits<double>::infinity();
};

/// A shape in the style that comes nearest to the stated parameters.
Reading reading_of(Json shape, double billions) {
  take_style(shape, {kLlama, kTiedLlama, kGpt, kUntiedGpt}, billions);
  const double off = distance(shape, billions);
  return {std::move(shape), off};
}

/// The nearer of two, the second where that is by more than the rounding of parameters.
void take_nearer(Reading& best, Reading other) {
  if (other.off + kRounding < best.off) best = std::move(other);
}

/// Sizes of heads that models have where it is not hidden / heads: that of Llama and Qwen, and those of gpt-oss, Gemma
/// and Phi-3.
constexpr int kUsualHeadSize = 128;
constexpr std::array kOtherHeadSizes{64, 256, 96};

/// The usual size, or another where that one meets the parameters or the usual one does not come near them. Parameters
/// of a mixture meet nothing: no column has its shared experts and dense layers.
void read_head_sizes(Reading& best, const Json& sizes, double billions) {
  const auto with = [&](int size) {
    Json shape = sizes;
    shape["head_dim"] = size;
    return reading_of(std::move(shape), billions);
  };
  take_nearer(best, with(kUsualHeadSize));
  for (const int size : kOtherHeadSizes) {
    Reading other = with(size);
    const bool meets = other.off <= kRounding && sizes.value("experts", 0L) == 0;
    if (best.off > kRounded || meets) take_nearer(best, std::move(other));
  }
}

/// Experts are narrower than the dense layers whose width the row has then: by what the parameters leave to them, in
/// multiples of 64.
void read_expert_width(Reading& best, const Json& sizes, double billions) {
  constexpr long kStep = 64;
  const long dense = sizes.at("ffn_hidden");
  const auto with = [&](long width) {
    Json shape = sizes;
    shape["moe_ffn_hidden"] = width;
    set_style(shape, kLlama);
    return shape;
  };
  const double narrow = parameters_of(with(kStep)), wide = parameters_of(with(dense));
  if (!(narrow > 0) || !(wide > narrow)) return;
  const double share = (billions * 1e9 - narrow) / (wide - narrow);
  const long width = kStep + std::lround(share * static_cast<double>(dense - kStep) / kStep) * kStep;
  if (width < kStep || width >= dense) return;
  take_nearer(best, reading_of(with(width), billions));
}

}  // namespace

void set_style(Json& shape, ModelStyle style) {
  shape["gated_mlp"] = style.llama_like;
  shape["positions"] = style.llama_like ? "rotary" : "learned";
  shape["norm"] = style.llama_like ? "rms_norm" : "layer_norm";
  shape["tied_embeddings"] = style.tied;
}

bool complete_sizes(const Json& sizes) {
  return std::all_of(kNeededSizes.begin(), kNeededSizes.end(), [&](const char* key) { return sizes.contains(key); });
}

bool is_likelier(const Json& described, const Json& reading, double billions) {
  constexpr double kBiases = 0.005;
  if (billions > 0) return distance(described, billions) + kBiases < distance(reading, billions);
  return !(distance(reading, parameters_of(described) / 1e9) < kBiases);
}

void take_style(Json& shape, std::initializer_list<ModelStyle> styles, double billions) {
  set_style(shape, *styles.begin());
  if (billions <= 0 || !complete_sizes(shape)) return;
  const auto off = [&](ModelStyle style) {
    Json styled = shape;
    set_style(styled, style);
    return distance(styled, billions);
  };
  double nearest = off(*styles.begin());
  for (const ModelStyle style : styles) {
    const double other = off(style);
    if (other + kRounding >= nearest) continue;
    nearest = other;
    set_style(shape, style);
  }
}

KnownShape shape_by_sizes(const StatedModel& stated) {
  KnownShape out;
  const double billions = stated.parameters;
  Json plain = stated.sizes;
  take_style(plain, {kLlama, kTiedLlama, kGpt, kUntiedGpt}, billions);
  out.transformer = plain;
  if (billions <= 0) return out;
  const double plain_off = distance(plain, billions);
  Reading best{plain, plain_off};
  // Another style than the usual one may only make up for heads of another size.
  Json usual = stated.sizes;
  set_style(usual, kLlama);
  if (distance(usual, billions) > kRounded) read_head_sizes(best, stated.sizes, billions);
  if (best.off > kContradiction && plain.value("experts", 0L) > 0) {
    Json sizes = stated.sizes;
    if (!std::isfinite(plain_off)) sizes["head_dim"] = kUsualHeadSize;
    read_expert_width(best, sizes, billions);
    out.by_size = best.shape.contains("moe_ffn_hidden");
  }
  if (best.off > kContradiction) {
    const double parameters = parameters_of(best.shape);
    out.refusal = fmt::format("params_B: found {:g}, but the row's sizes come to {}", billions,
                              parameters > 0 ? fmt::format("{:.3g} at the nearest", parameters / 1e9) : "no model");
  }
  out.transformer = std::move(best.shape);
  return out;
}

}  // namespace stepcast
