#include <algorithm>
#include <map>

#include "report/chrome_trace.hpp"
#include "report/rank_run.hpp"

namespace stepcast {

namespace {

const RankOperation& operation_of(const LaidStep& laid, const RankStep::Part& part) {
  const int program = laid.index->program_of(laid.classes->representative(part.of));
  return laid.index->program(program).operations[part.place];
}

/// Slices of one stream never overlap, whatever operations without a stream do: those get lanes of their own.
class RankTrace {
 public:
  RankTrace(const std::filesystem::path& file, const LaidStep& laid, const Timeline& timeline)
      : laid_(laid), timeline_(timeline), out_(file) {}

  void write() {
    const auto& devices = laid_.step.graph.devices();
    for (int of = 0; of < static_cast<int>(devices.size()); ++of) {
      out_.name_process(of + 1, devices[of].name);
      write_class(of);
    }
    write_links(static_cast<int>(devices.size()) + 1);
    out_.commit();
  }

 private:
  void write_class(int of) {
    std::map<std::string, std::vector<int>> streams;
    for (int id = laid_.step.first[of]; id < static_cast<int>(laid_.step.parts.size()) && laid_.step.parts[id].of == of;
         ++id)
      streams[stream_of(operation_of(laid_, laid_.step.parts[id]))].push_back(id);
    int thread = 0;
    for (auto& [name, ids] : streams) {
      std::stable_sort(ids.begin(), ids.end(),
                       [&](int a, int b) { return timeline_.spans[a].start < timeline_.spans[b].start; });
      out_.name_thread(of + 1, ++thread, name);
      Nanoseconds free_from = 0;
      for (const int id : ids) free_from = write_operation(of, thread, id, free_from);
    }
  }

  Nanoseconds write_operation(int of, int thread, int id, Nanoseconds free_from) {
    const RankStep::Part& part = laid_.step.parts[id];
    const RankOperation& operation = operation_of(laid_, part);
    const Nanoseconds start = std::max(free_from, nanoseconds(timeline_.spans[id].start));
    const Nanoseconds end = std::max(start, nanoseconds(timeline_.spans[id].end));
    const std::string_view kind = operation.collective ? name_of(*operation.collective) : name_of(operation.kind);
    std::string arguments = fmt::format(R"("id":{})", operation.id);
    if (part.size > Bytes(0)) arguments += fmt::format(R"(,"size_bytes":{:.0f})", part.size.value());
    out_.slice(of + 1, thread, operation.name.empty() ? kind : std::string_view(operation.name), kind, start, end,
               arguments);
    return end;
  }

  void write_links(int fabric) {
    bool named = false;
    for (const LinkRate& change : timeline_.link_rates) {
      const GraphLink& link = laid_.step.graph.links()[change.link];
      if (link.device < 0 && !named) out_.name_process(fabric, "fabric");
      named = named || link.device < 0;
      out_.counter(link.device < 0 ? fabric : link.device + 1, link.name, "GB/s", nanoseconds(change.time),
                   change.rate.in(1_GBps));
    }
  }

  const LaidStep& laid_;
  const Timeline& timeline_;
  ChromeTrace out_;
};

}  // namespace

void write_rank_trace(const std::filesystem::path& file, const LaidStep& laid, const Timeline& timeline) {
  RankTrace(file, laid, timeline).write();
}

}  // namespace stepcast
