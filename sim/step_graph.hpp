#pragma once

#include <array>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/range/iterator_range.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/parallelism/job.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// What occupies a stream of a device. `meeting` takes no time: what several operations wait for together.
enum class OperationKind : std::uint8_t {
  compute,
  collective,
  send_recv,
  gather,
  storage,
  optimizer,
  overhead,
  meeting
};
template <>
struct EnumNames<OperationKind> {
  static constexpr std::array names{"compute", "collective", "send_recv", "gather",
                                    "storage", "optimizer",  "overhead",  "meeting"};
};

/// Streams of one device. Operations of one stream run one after another, in the order of their edges.
enum class StreamKind : std::uint8_t {
  compute,
  data_communication,
  gather_communication,
  pipeline_send,
  pipeline_receive,
  copy,
  layer_communication,
  storage
};
template <>
struct EnumNames<StreamKind> {
  static constexpr std::array names{"compute",          "data parallel", "parameter gather",    "pipeline send",
                                    "pipeline receive", "copy",          "layer communication", "storage"};
};

using LinkId = int;
using PathId = int;

/// A shared resource with a rate: NVLink port, PCIe, NIC, up-link, drive.
struct GraphLink {
  std::string name;
  BytesPerSecond bandwidth;  ///< that all its flows share
  int device = -1;           ///< representative it belongs to, or −1
};

/// A list of distinct links that a flow crosses; none: it is limited by its cap alone. `weight`: how many equal real
/// flows one flow stands for; on a link that it shares with others it takes that many shares.
struct GraphPath {
  std::vector<LinkId> links;
  double weight = 1;
  BytesPerSecond cap{0};  ///< limit on the rate of one flow, all the real flows that it stands for together; 0: none
};

/// Bytes over a path: the total of all the real flows that it stands for. An operation ends when all its flows have
/// ended.
struct Flow {
  PathId path = 0;
  Bytes bytes;  ///< of all the real flows together
};

/// Name of an operation that holds a forward and a backward pass.
inline constexpr std::string_view kMergedPasses = "forward and backward";

/// One unit of the step that can wait or contend.
struct Operation {
  OperationKind kind = OperationKind::compute;
  StreamKind stream = StreamKind::compute;
  Dimension dimension = Dimension::data;  ///< of communication
  CollectiveKind collective = CollectiveKind::all_reduce;
  std::int32_t device = 0;  ///< representative device
  Seconds work;             ///< time on the device's clock; for communication: the latency paid before the flows
  std::int32_t first_flow = 0, flow_count = 0;
  std::int32_t segment = -1;  ///< index into StepGraph::segments (compute) or −1
  std::int32_t micro_batch = -1;
  std::int16_t chunk = -1;
  std::uint8_t phase = 0;  ///< Phase of a compute operation
  float slowdown = 0;      ///< share of the device's compute rate that it takes while its flows run
  std::string_view name;   ///< static storage
  /// Of communication, for who writes the step down: among whom, what of, and in how many calls.
  GroupKind group = GroupKind::data;
  std::int32_t calls = 1;
  Bytes payload;
};

/// How messages name an operation: `forward (operation 17, device 2, micro-batch 3)`.
std::string describe(const Operation& operation, int id);

/// One training step on representative devices: operations and what each waits for.
class StepGraph {
 public:
  using Graph = boost::compressed_sparse_row_graph<boost::directedS>;

  /// `multiplicity`: real devices it stands for. `pipeline`: see DeviceInfo. Gives its index into devices().
  int add_device(std::string name, double multiplicity, int pipeline = 0);
  /// Gives its index into links().
  LinkId add_link(GraphLink link);
  /// Gives its index into paths().
  PathId add_path(GraphPath path);
  int add_segment(const Segment* segment);  ///< kept by pointer; see keep()
  /// Shares ownership of what the segments point into, for as long as the graph lives.
  void keep(std::shared_ptr<const void> owner) { owners_.push_back(std::move(owner)); }
  /// Gives its index into operations(). Its flows all begin when its latency is over.
  int add_operation(Operation operation, std::span<const Flow> flows = {});
  /// `after` waits for `before`. An edge that is given twice counts twice, which changes nothing.
  void add_edge(int before, int after) { edges_.emplace_back(before, after); }
  /// An operation without time that joins what it waits for and what waits for it.
  int add_meeting(int device);
  /// Makes operations of different devices one collective: none begins before all that any of them waits for has
  /// ended, and what waits for one waits for all.
  void join(std::vector<int> operations) { joined_.push_back(std::move(operations)); }
  /// Operations from `first` on that wait for nothing (before finish).
  [[nodiscard]] std::vector<int> roots(int first) const;
  /// Builds the graph; no operations or edges may be added afterwards. Throws std::logic_error when an edge names an
  /// operation that does not exist, or naming the operations on a cycle.
  void finish();

  struct DeviceInfo {
    std::string name;
    double multiplicity = 1;  ///< real devices that it stands for
    int pipeline = 0;         ///< number of the pipeline that it is a stage of: its replica's own
  };
  [[nodiscard]] const std::vector<DeviceInfo>& devices() const { return devices_; }
  [[nodiscard]] const std::vector<GraphLink>& links() const { return links_; }
  [[nodiscard]] const std::vector<GraphPath>& paths() const { return paths_; }
  [[nodiscard]] const std::vector<const Segment*>& segments() const { return segments_; }
  [[nodiscard]] const std::vector<Operation>& operations() const { return operations_; }
  /// Those of one operation.
  [[nodiscard]] std::span<const Flow> flows(const Operation& operation) const;
  [[nodiscard]] const std::vector<Flow>& flows() const { return flows_; }
  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const std::vector<std::int32_t>& predecessor_counts() const { return predecessors_; }
  /// Operations that wait for `operation`, as a range of indices (valid after finish).
  [[nodiscard]] auto successors(int operation) const {
    return boost::make_iterator_range(
        boost::adjacent_vertices(static_cast<Graph::vertex_descriptor>(operation), graph_));
  }
  /// Operations that `operation` waits for (valid after finish).
  [[nodiscard]] std::span<const std::int32_t> predecessors(int operation) const;
  /// The operations of one collective that `operation` is the common end of; none where it is no such end.
  [[nodiscard]] std::span<const int> ended_by(int operation) const;
  /// Whether an operation is one collective with others.
  [[nodiscard]] bool is_joined(int operation) const;
  /// The operation of `device` that is one collective with `operation`; −1 when there is none.
  [[nodiscard]] int joined_on(int device, int operation) const;

 private:
  std::vector<std::shared_ptr<const void>> owners_;
  std::vector<DeviceInfo> devices_;
  std::vector<GraphLink> links_;
  std::vector<GraphPath> paths_;
  std::vector<const Segment*> segments_;
  std::vector<Operation> operations_;
  std::vector<Flow> flows_;
  std::vector<std::pair<std::int32_t, std::int32_t>> edges_;
  void meet_joined();
  void index_successors();
  void index_predecessors();
  void refuse_cycles() const;

  std::vector<std::vector<int>> joined_;
  std::vector<std::int32_t> joined_in_;  ///< by operation: index into joined_ or −1; empty when nothing is joined
  int first_meeting_ = 0;                ///< of joined operations: one before and one behind each of joined_

  Graph graph_;
  std::vector<std::int32_t> predecessors_;
  std::vector<std::int32_t> reverse_offsets_, reverse_;
};

}  // namespace stepcast
