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

/// The tables' bf16 and tf32 rows are of cuDNN 9, whose traces show the padding (nhwcAddPaddingKernel); those of older
/// formats are of cuDNN 7, which leaves matrix units then.
bool pads_channels(const std::string& format) { return format == "bf16" || format == "tf32"; }

}  // namespace

void fit_convolutions(const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog) {
  using C = ConvolutionConstants;
  std::map<std::string, FamilyRows> by_format;
  for (const MeasuredOperator* row : rows)
    if (std::holds_alternative<ConvolutionWork>(row->work)) by_format[row->format].push_back(row);
  for (const auto& [format, found] : by_format) {
    if (found.size() < kLeastRows) continue;
    const std::string name = format;
    C start;
    start.pads_channels = pads_channels(format);
    start.direct_share = 0.5, start.memory_share = 0.7, start.small_tile_exponent = 0.3, start.launch = 8_us;
    profile.convolution[format] = start;
    std::vector<ProfileConstant> constants{
        constant(format, "direct_share", &C::direct_share, 0.5, 0.05, 1),
        constant(format, "input_gradient_share", &C::input_gradient_share, 0.8, 0.2, 1.5),
        constant(format, "weight_gradient_share", &C::weight_gradient_share, 0.8, 0.2, 1.5),
        constant(format, "multiplied_zeros", &C::multiplied_zeros, 0.3, 0, 1),
        constant(format, "small_tile_exponent", &C::small_tile_exponent, 0.3, 0, 1),
        constant(format, "memory_share", &C::memory_share, 0.7, 0.1, 1),
        {{"convolution." + format + ".launch_us", 8, 1, 60},
         [name](OperatorProfile& p, double value) { p.convolution[name].launch = Seconds(value * 1e-6); }}};
    if (!start.pads_channels) constants.push_back(constant(format, "narrow_share", &C::narrow_share, 0.05, 0.001, 1));
    // Libraries transform in fp32; tensor cores multiply implicit products only (cuDNN 7 release notes).
    if (format == "fp32" || format == "fp16-storage")
      constants.push_back(constant(format, "winograd_share", &C::winograd_share, 0.5, 0.05, 1));
    const OperatorFitResult result = fit_class({found, constants}, profile, catalog);
    profile.fit->rows["convolution." + format] = static_cast<double>(result.rows);
    profile.fit->error_percent["convolution." + format] = result.left_out_error_percent;
  }
}

}  // namespace stepcast
