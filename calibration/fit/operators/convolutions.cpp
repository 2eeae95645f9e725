#include <map>

#include "calibration/fit/operators/problems.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kLeastRows = 40;

ProfileConstant constant(const std::string& format, const std::string& name, double ConvolutionConstants::*member,
                         double start, double least, double most) {
  return {{"convolution." + format + "." + name, start, least, most},
          [format, member](OperatorProfile& p, double value) { p.convolution[format].*member = value; }};
}

}  // namespace

void fit_convolutions(const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog) {
  using C = ConvolutionConstants;
  if (!profile.product) return;
  std::map<std::string, FamilyRows> by_format;
  for (const MeasuredOperator* row : rows)
    if (std::holds_alternative<ConvolutionWork>(row->work)) by_format[row->format].push_back(row);
  for (const auto& [format, found] : by_format) {
    if (found.size() < kLeastRows) continue;
    const std::string name = format;
    profile.convolution[format] = C{0.5, 0, 0, 0.6, 0.7, 8_us};
    std::vector<ProfileConstant> constants{
        constant(format, "direct_share", &C::direct_share, 0.5, 0.05, 1),
        constant(format, "memory_share", &C::memory_share, 0.7, 0.1, 1),
        {{"convolution." + format + ".launch_us", 8, 1, 60},
         [name](OperatorProfile& p, double value) { p.convolution[name].launch = Seconds(value * 1e-6); }}};
    // Libraries transform in fp32; tensor cores multiply implicit products only (cuDNN 7 release notes).
    if (format != "fp16-tensor") {
      constants.push_back(constant(format, "winograd_share", &C::winograd_share, 0.5, 0.05, 1));
      constants.push_back(constant(format, "fft_share", &C::fft_share, 0.4, 0.02, 1));
    }
    const OperatorFitResult result = fit_class({found, constants}, profile, catalog);
    profile.fit->rows["convolution." + format] = static_cast<double>(result.rows);
    profile.fit->error_percent["convolution." + format] = result.left_out_error_percent;
  }
}

}  // namespace stepcast
