#include "sim/engine/work_clock.hpp"

#include <algorithm>

namespace stepcast {

namespace {
double clock_now() { return simgrid::s4u::Engine::get_clock(); }
}  // namespace

WorkClock::WorkClock(std::size_t devices, Listener& listener)
    : Model("stepcast-clock"), listener_(listener), devices_(devices) {}

WorkClock::Slot WorkClock::start(Kind kind, int id, double amount, double rate, int device) {
  Slot slot = 0;
  if (free_.empty()) {
    slot = static_cast<Slot>(items_.size());
    items_.push_back({});
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Item& item = items_[slot];
  item.left = amount;
  item.since = clock_now();
  item.rate = rate;
  item.id = id;
  item.device = device;
  item.kind = kind;
  if (device >= 0) devices_[device].items.push_back(slot);
  arm(slot);
  return slot;
}

double WorkClock::cancel(Slot slot) {
  settle(items_[slot], clock_now());
  const double left = items_[slot].left;
  release(slot);
  return left;
}

void WorkClock::set_device_rate(int device, double rate) {
  DeviceRate& speed = devices_[device];
  if (speed.rate == rate) return;
  const double now = clock_now();
  for (const Slot slot : speed.items) settle(items_[slot], now);
  speed.rate = rate;
  for (const Slot slot : speed.items) {
    ++items_[slot].generation;
    arm(slot);
  }
}

double WorkClock::next_occurring_event(double now) {
  while (!events_.empty() && stale(events_.front())) pop();
  return events_.empty() ? -1.0 : std::max(0.0, events_.front().time - now);
}

void WorkClock::update_actions_state(double now, double /*delta*/) {
  while (!events_.empty() && (stale(events_.front()) || events_.front().time <= now + kInstant)) {
    const Event event = events_.front();
    pop();
    if (stale(event)) continue;
    release(event.slot);
    listener_.clock_ended(event.kind, event.id);
  }
}

void WorkClock::settle(Item& item, double now) const {
  item.left = std::max(0.0, item.left - (now - item.since) * rate_of(item));
  item.since = now;
}

void WorkClock::arm(Slot slot) {
  const Item& item = items_[slot];
  events_.push_back({item.since + item.left / rate_of(item), item.kind, item.id, slot, item.generation});
  std::push_heap(events_.begin(), events_.end());
}

void WorkClock::release(Slot slot) {
  Item& item = items_[slot];
  ++item.generation;
  if (item.device >= 0) std::erase(devices_[item.device].items, slot);
  free_.push_back(slot);
}

void WorkClock::pop() {
  std::pop_heap(events_.begin(), events_.end());
  events_.pop_back();
}

}  // namespace stepcast
