#include <algorithm>
#include <map>

#include "calibration/fit/operators/problems.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kLeastRows = 8;
/// From so many rows a kernel's waves, memory traffic and launch are seen apart.
constexpr std::size_t kRowsForShape = 100;
/// Queries of a tile that kernels are compiled for; the fit takes the best.
constexpr int kTileSizes[] = {64, 128, 256};

const AttentionWork* attention_of(const MeasuredOperator& row) { return std::get_if<AttentionWork>(&row.work); }

ProfileConstant constant(const std::string& kernel, const std::string& name, double AttentionConstants::*member,
                         double start, double least, double most) {
  return {{"attention." + kernel + "." + name, start, least, most},
          [kernel, member](OperatorProfile& p, double value) { p.attention[kernel].*member = value; }};
}

bool any(const FamilyRows& rows, const std::function<bool(const AttentionShape&)>& holds) {
  return std::any_of(rows.begin(), rows.end(), [&](const auto* row) { return holds(attention_of(*row)->shape); });
}

std::vector<ProfileConstant> free_constants(const std::string& kernel, const FamilyRows& rows) {
  using A = AttentionConstants;
  const bool forward = any(rows, [](const auto& s) { return s.pass == AttentionPass::forward; });
  const bool backward = any(rows, [](const auto& s) { return s.pass != AttentionPass::forward; });
  std::vector<ProfileConstant> out;
  if (forward) {
    out.push_back(constant(kernel, "share", &A::share, 0.6, 0.05, 1));
    out.push_back(constant(kernel, "start_up_keys", &A::start_up_keys, 100, 0, 1500));
  }
  if (backward && forward) {
    out.push_back(constant(kernel, "backward_share", &A::backward_share, 0.5, 0.05, 1));
    out.push_back(constant(kernel, "backward_start_up_keys", &A::backward_start_up_keys, 100, 0, 1500));
  } else if (backward) {
    // One timing of both passes tells one rate: the same for both.
    out.push_back({{"attention." + kernel + ".share", 0.5, 0.05, 1}, [kernel](OperatorProfile& p, double value) {
                     p.attention[kernel].share = p.attention[kernel].backward_share = value;
                   }});
    out.push_back(
        {{"attention." + kernel + ".start_up_keys", 100, 0, 1500}, [kernel](OperatorProfile& p, double value) {
           p.attention[kernel].start_up_keys = p.attention[kernel].backward_start_up_keys = value;
         }});
  }
  if (any(rows, [](const auto& s) { return s.head_size < 128; }))
    out.push_back(constant(kernel, "head64_factor", &A::head64_factor, 0.75, 0.3, 1.2));
  if (any(rows, [](const auto& s) { return s.head_size > 128; }))
    out.push_back(constant(kernel, "head256_factor", &A::head256_factor, 1.1, 0.4, 1.6));
  if (rows.size() >= kRowsForShape) {
    out.push_back(constant(kernel, "whole_wave_share", &A::whole_wave_share, 0.5, 0, 1));
    out.push_back(constant(kernel, "memory_share", &A::memory_share, 0.7, 0.05, 4));
    out.push_back({{"attention." + kernel + ".launch_us", 5, 0.5, 40},
                   [kernel](OperatorProfile& p, double value) { p.attention[kernel].launch = Seconds(value * 1e-6); }});
  }
  return out;
}

void fit_kernel(const std::string& kernel, const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog) {
  if (!profile.fit) profile.fit.emplace();
  OperatorProfile best;
  OperatorFitResult best_result;
  for (const int tile : kTileSizes) {
    OperatorProfile tried = profile;
    AttentionConstants& constants = tried.attention[kernel];
    constants.tile_queries = tile;
    constants.launch = 4_us;
    constants.memory_share = 0.8;
    const OperatorFitResult result = fit_class({rows, free_constants(kernel, rows)}, tried, catalog);
    if (!best.id.empty() && result.error_percent >= best_result.error_percent) continue;
    best = std::move(tried);
    best_result = result;
  }
  profile = std::move(best);
  profile.fit->rows["attention." + kernel] = static_cast<double>(best_result.rows);
  profile.fit->error_percent["attention." + kernel] = best_result.left_out_error_percent;
}

void fit_unfused(const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog) {
  using U = UnfusedAttentionConstants;
  profile.unfused_attention = U{0.4, 0.4, 6, 9, 10_us};
  const auto both = [](U& u, double value) { u.share = u.backward_share = value; };
  const OperatorFitProblem problem{
      rows,
      {{{"unfused_attention.share", 0.4, 0.1, 0.9},
        [both](OperatorProfile& p, double value) { both(*p.unfused_attention, value); }},
       {{"unfused_attention.score_accesses", 8, 2, 40}, [](OperatorProfile& p, double value) {
          p.unfused_attention->score_accesses = value;
          // Nine accesses backward to six forward: docs/models/workload.md, attention.
          p.unfused_attention->backward_score_accesses = 1.5 * value;
        }}}};
  const OperatorFitResult result = fit_class(problem, profile, catalog);
  profile.fit->rows["attention.unfused"] = static_cast<double>(result.rows);
  profile.fit->error_percent["attention.unfused"] = result.left_out_error_percent;
}

}  // namespace

void fit_attention(const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog) {
  std::map<std::string, FamilyRows> by_kernel;
  for (const MeasuredOperator* row : rows)
    if (const AttentionWork* work = attention_of(*row); work != nullptr)
      by_kernel[attention_key(work->kernel, row->format)].push_back(row);
  for (const auto& [kernel, found] : by_kernel) {
    if (found.size() < kLeastRows) continue;
    if (kernel == "unfused")
      fit_unfused(found, profile, catalog);
    else
      fit_kernel(kernel, found, profile, catalog);
  }
}

}  // namespace stepcast
