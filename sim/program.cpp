#include "sim/program.hpp"

#include <algorithm>

namespace stepcast {

namespace {

bool leaves_node(const Piece& piece) { return piece.communication && piece.cost.network_bytes > Bytes(0); }

void extend(Segment& segment, const Piece& piece) {
  segment.pieces.push_back(piece);
  if (piece.communication) {
    segment.communication += piece.duration;
  } else {
    segment.compute += piece.duration;
  }
  segment.flops += piece.flops;
}

}  // namespace

void ProgramCache::flush(Program& program, Segment& open) {
  if (open.pieces.empty()) return;
  segments_.push_back(std::move(open));
  program.push_back({&segments_.back(), nullptr});
  open = {};
}

void ProgramCache::add(Program& program, Segment& open, const Segment& layer) {
  bool cut_after_next = false;
  for (const Piece& piece : layer.pieces) {
    if (leaves_node(piece)) {
      flush(program, open);
      program.push_back({nullptr, &piece});
      cut_after_next = piece.overlaps_next;
      continue;
    }
    extend(open, piece);
    if (granularity_ == Granularity::operation || cut_after_next) flush(program, open);
    cut_after_next = false;
  }
}

const Program& ProgramCache::program(const Chunk& chunk, int first, int last, Phase phase) {
  const Program*& known = by_range_[{&chunk, {phase, {first, last}}}];
  if (known) return *known;
  Key key{phase, {chunk.layer_kinds.begin() + first, chunk.layer_kinds.begin() + last + 1}};
  const auto [entry, fresh] = programs_.try_emplace(std::move(key));
  known = &entry->second;
  if (!fresh) return *known;
  Program& program = entry->second;
  std::vector<int> kinds = entry->first.second;
  if (phase != Phase::forward) std::reverse(kinds.begin(), kinds.end());
  Segment open;
  for (const int kind : kinds) {
    const LayerCost& layer = job_.layer_kinds[kind];
    switch (phase) {
      case Phase::forward:
        add(program, open, layer.forward);
        break;
      case Phase::backward:
        add(program, open, layer.backward_input);
        add(program, open, layer.backward_weight);
        break;
      case Phase::backward_input:
        add(program, open, layer.backward_input);
        break;
      case Phase::backward_weight:
        add(program, open, layer.backward_weight);
        break;
    }
  }
  flush(program, open);
  return program;
}

}  // namespace stepcast
