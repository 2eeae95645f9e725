#include "planner/choices.hpp"

#include <algorithm>

namespace stepcast {

namespace {

struct CountRange {
  int from = 1, to = 1, step = 1;
  static const FieldTable<CountRange>& fields() {
    using C = CountRange;
    static const FieldTable<C> kTable = [] {
      FieldTable<C> t("range", "Numbers from one to another");
      t.field("from", &C::from, "The first", {.required = true, .min = 1, .max = 1e6})
          .field("to", &C::to, "Not beyond this", {.required = true, .min = 1, .max = 1e6})
          .field("step", &C::step, "From one to the next", {.min = 1, .max = 1e6});
      return t;
    }();
    return kTable;
  }
};

}  // namespace

void Codec<Counts>::read(Counts& out, const Json& in, const std::string& at, std::string_view key, const Rules& rules,
                         Diagnostics& d) {
  if (in.is_object()) {
    CountRange range;
    const std::size_t before = d.faults().size();
    CountRange::fields().read(range, in, at, d);
    if (d.faults().size() > before) return;
    if (range.from > range.to)
      return d.error(at, fmt::format("found a range from {} to {}, which is empty", range.from, range.to));
    out.values.clear();
    for (long n = range.from; n <= range.to; n += range.step) out.values.push_back(static_cast<int>(n));
    return;
  }
  Choices<int> list;
  Codec<Choices<int>>::read(list, in, at, key, rules, d);
  out.values = std::move(list.values);
  std::sort(out.values.begin(), out.values.end());
}

Json Codec<Counts>::write(const Counts& v, std::string_view key) { return Codec<Choices<int>>::write({v.values}, key); }

Json Codec<Counts>::schema(std::string_view key, const Rules& rules) {
  Json out = Codec<Choices<int>>::schema(key, rules);
  out["anyOf"].push_back(CountRange::fields().schema());
  return out;
}

}  // namespace stepcast
