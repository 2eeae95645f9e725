#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/simgrid_compat.hpp"

namespace stepcast {

/// Events closer than this are one instant: SimGrid's own precision is set to it too (smaller gains nothing: a double
/// at 100 s resolves 1.4e-14 s).
inline constexpr double kInstant = 1e-12;

/// A clock inside SimGrid's loop for everything that shares nothing: work, latencies, flows that are alone on their
/// links. An item has an amount and a rate at which it goes down; items of a device can be slowed down together.
class WorkClock : public simgrid::kernel::resource::Model {
 public:
  enum class Kind : std::uint8_t { work, flow };
  using Slot = std::uint32_t;

  /// Told of each item that ends, in the order of (time, kind, id).
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void clock_ended(Kind kind, int id) = 0;
  };

  WorkClock(std::size_t devices, Listener& listener);

  /// `amount` goes down by `rate` a second, times the device's rate if `device` ≥ 0. REQUIRES rate > 0.
  Slot start(Kind kind, int id, double amount, double rate, int device = -1);
  /// Takes an item off the clock; returns what is left of its amount.
  double cancel(Slot slot);
  /// From now on the items of a device go at `rate`. REQUIRES rate > 0.
  void set_device_rate(int device, double rate);

  double next_occurring_event(double now) override;
  void update_actions_state(double now, double delta) override;

 private:
  struct Item {
    double left, since, rate;
    std::int32_t id, device;
    std::uint32_t generation;
    Kind kind;
  };
  struct Event {
    double time;
    Kind kind;
    std::int32_t id;
    Slot slot;
    std::uint32_t generation;
    /// Whether it comes after: a heap's top is what comes after nothing.
    bool operator<(const Event& other) const {
      if (time != other.time) return time > other.time;
      if (kind != other.kind) return kind > other.kind;
      return id > other.id;
    }
  };
  struct DeviceRate {
    double rate = 1;
    std::vector<Slot> items;
  };

  double rate_of(const Item& item) const {
    return item.device < 0 ? item.rate : item.rate * devices_[item.device].rate;
  }
  void settle(Item& item, double now) const;
  void arm(Slot slot);
  void release(Slot slot);
  bool stale(const Event& event) const { return items_[event.slot].generation != event.generation; }
  void pop();

  Listener& listener_;
  std::vector<Item> items_;
  std::vector<Slot> free_;
  std::vector<Event> events_;  ///< heap
  std::vector<DeviceRate> devices_;
};

}  // namespace stepcast
