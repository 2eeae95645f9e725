#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/collective/flow_program.hpp"
#include "sim/collective/instant_queue.hpp"
#include "sim/collective/program_result.hpp"

namespace stepcast {

/// Flows that meet others on their links.
class SharedFlows {
 public:
  virtual ~SharedFlows() = default;
  /// Starts `bytes` over a path; `lane` comes back when they have arrived.
  virtual void start(int lane, int path, double bytes) = 0;
  /// Takes a flow off its links; returns the bytes that have not arrived.
  virtual double cancel(int lane) = 0;
};

/// Thrown by an executor without shared flows when two messages meet.
struct MessagesMeet : std::runtime_error {
  MessagesMeet() : std::runtime_error("two messages are on one link at the same time") {}
};

/// Runs a program: every rank, every message. Messages that no other live one can touch run on a queue of instants;
/// once two meet on a link, what is left of them is handed to the shared flows, and the next ones that are alone are
/// not.
///
/// The caller owns time: it asks for the next instant and says when it has come.
class CollectiveExecutor {
 public:
  /// `program` and `shared` must outlive the executor; `shared` may be null. `share_all`: every flow is shared, as if
  /// it had met another (the reference: slower, the same answer).
  explicit CollectiveExecutor(const FlowProgram& program, SharedFlows* shared = nullptr, bool share_all = false);

  /// Nothing is due any more but what shared flows bring.
  [[nodiscard]] bool idle() const { return queue_.empty(); }
  /// REQUIRES !idle().
  [[nodiscard]] double next_time() const { return queue_.next_time(); }
  /// Runs everything that is due by `now`.
  void run_due(double now);
  /// A shared flow has arrived.
  void shared_ended(int lane, double now);

  /// Whether a path may carry shared flows; the others need not be made.
  [[nodiscard]] bool may_share(int path) const { return path_shares_[path]; }
  /// A link carries shared flows at this rate, in bytes per second, from now on.
  void note_rate(int link, double rate);

  /// What happened. Throws std::runtime_error that names the first ranks that never ended.
  [[nodiscard]] ProgramResult result() const;

 private:
  struct LaneState {
    int path;  ///< of its latest message
    int sender, receiver;
    int phase;
    double bytes, payload;
    double seconds;                             ///< of a message that is alone on its links
    double began = 0, left = 0;                 ///< on the queue since, with so many bytes
    std::int64_t delivered = 0, accounted = 0;  ///< messages; of them, those in the use of links already
    std::uint32_t generation = 0;
    bool always_alone;  ///< no other lane uses its links
    bool live = false, shared = false;
  };
  struct RankState {
    int job, place;
    int phase = -1;  ///< of the program; −1: not begun
    int step = 0;
    int open = 0;          ///< own messages that have not left
    bool waiting = false;  ///< for messages of others
    bool done = false;
    double end = 0;
  };
  struct PhaseState {
    const ProgramPhase* phase;
    int job;
    int first_rank;                                   ///< of its job
    int first_lane;                                   ///< global number of its lane 0
    std::vector<int> in_lanes, first_in;              ///< lanes by (column, receiver)
    std::vector<int> messages_by;                     ///< of the column of a step, once the step is over
    int first_stream = 0;                             ///< streamed
    std::vector<int> missing;                         ///< windowed: messages that a rank has not received
    std::array<std::vector<int>, 2> next, in_flight;  ///< windowed, by rank: inside the node and between nodes
  };
  /// Ranks that wait for each other in a streamed phase.
  struct Stream {
    int phase;
    std::vector<int> ranks, lanes;
    int arrived = 0, open = 0;
    double speed = 1;  ///< of the slowest rank
  };
  struct LinkState {
    double bandwidth;
    int flows = 0;
    int lone = -1;  ///< the only live lane, on the queue
    double since = 0;
    ProgramLinkUse use;
  };

  void number_ranks_and_lanes();
  void index_receivers(PhaseState& state);
  void make_streams(PhaseState& state, int phase);
  void make_windows(PhaseState& state);
  void find_lonely_lanes();

  void handle(InstantQueue::Event event, double now);
  void enter(int rank, int phase, double now);
  void start_step(int rank, double now);
  void go_on(int rank, double now);
  void arrive(int rank, double now);
  void begin_stream(int stream, double now);
  void fill_window(int rank, int which, double now);
  void message_left(int lane, double now);
  void message_came(int lane, double now);

  void begin_message(int lane, double now, double latency);
  void start_flow(int lane, double now, double bytes);
  void put_on_queue(int lane, double now, double bytes);
  void share(int lane, double bytes);
  double take_off_queue(int lane, double now);
  void leave_links(int lane, double now);
  void flow_ended(int lane, double now);
  void account(int lane, double messages);
  void fail(const ProgramFailure& failure, double now);

  [[nodiscard]] bool received(const PhaseState& state, int place, int step) const;
  [[nodiscard]] int column(const ProgramPhase& phase, int step) const {
    return phase.column_of_step.empty() ? 0 : phase.column_of_step[step];
  }
  [[nodiscard]] double speed(const RankState& rank) const {
    const auto& speeds = program_.jobs[rank.job].speed;
    return speeds.empty() ? 1 : speeds[rank.place];
  }
  [[nodiscard]] std::string unfinished() const;

  const FlowProgram& program_;
  SharedFlows* shared_;
  bool share_all_;
  InstantQueue queue_;
  std::vector<LaneState> lanes_;
  std::vector<RankState> ranks_;
  std::vector<PhaseState> phases_;
  std::vector<Stream> streams_;
  std::vector<int> first_phase_;     ///< by job
  std::vector<int> stream_of_rank_;  ///< in the phase that it is in
  std::vector<LinkState> links_;
  std::vector<int> path_now_;        ///< after failures; −1: there is none
  std::vector<double> rates_alone_;  ///< by path
  std::vector<char> path_shares_;
  std::vector<InstantQueue::Event> due_, beginning_;
  std::int64_t flows_ = 0, shared_flows_ = 0;
};

/// Runs a program without SimGrid. Throws MessagesMeet when it needs one.
ProgramResult execute_alone(const FlowProgram& program);

}  // namespace stepcast
