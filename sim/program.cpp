#include "sim/program.hpp"

#include <algorithm>

#include "models/parallelism/merged_passes.hpp"

namespace stepcast {

namespace {

bool is_block(LayerRole role) { return role == LayerRole::dense_block || role == LayerRole::moe_block; }

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

void ProgramCache::flush(Open& open, int ends) {
  if (open.segment.pieces.empty()) return;
  segments_.push_back(std::move(open.segment));
  open.program.push_back({&segments_.back(), nullptr, ends});
  open.segment = {};
}

void ProgramCache::add(Open& open, const Segment& layer) {
  for (const Piece& piece : layer.pieces) {
    int ends = 0;
    for (int& left : open.windows) ends += --left == 0 ? 1 : 0;
    open.windows.resize(open.windows.size() - static_cast<std::size_t>(ends));
    if (leaves_node(piece)) {
      flush(open);
      open.program.push_back({nullptr, &piece, ends});
      if (piece.beside > 0) open.windows.push_back(piece.beside);
      continue;
    }
    extend(open.segment, piece);
    if (granularity_ == Granularity::operation || ends > 0) flush(open, ends);
  }
}

void ProgramCache::add(Open& open, const LayerCost& layer, Phase phase) {
  if (phase == Phase::forward) add(open, layer.forward);
  if (phase == Phase::backward || phase == Phase::backward_input) add(open, layer.backward_input);
  if (phase == Phase::backward || phase == Phase::backward_weight) add(open, layer.backward_weight);
}

const Program& ProgramCache::program(const Chunk& chunk, int first, int last, Phase phase) {
  const Program*& known = by_range_[{&chunk, {phase, {first, last}}}];
  if (known) return *known;
  Key key{phase, {chunk.layer_kinds.begin() + first, chunk.layer_kinds.begin() + last + 1}};
  const auto [entry, fresh] = programs_.try_emplace(std::move(key));
  known = &entry->second;
  if (!fresh) return *known;
  std::vector<int> kinds = entry->first.second;
  if (phase != Phase::forward) std::reverse(kinds.begin(), kinds.end());
  Open open{entry->second, {}, {}};
  for (const int kind : kinds) add(open, job_.layer_kinds[kind], phase);
  flush(open);
  return entry->second;
}

/// What a segment refers to must stay where it is.
void ProgramCache::add_merged(Open& open, int forward, int backward) {
  const auto [entry, fresh] = merged_layers_.try_emplace({forward, backward});
  if (fresh)
    entry->second = merged_passes(job_.layer_kinds[forward], job_.layer_kinds[backward], job_.communication_slowdown);
  add(open, entry->second);
}

const Program& ProgramCache::merged(const Chunk& forward, const Chunk& backward) {
  const auto [entry, fresh] = merged_.try_emplace({&forward, &backward});
  if (!fresh) return entry->second;
  Open open{entry->second, {}, {}};
  const auto block = [&](int kind) { return is_block(job_.layer_kinds[kind].role); };
  auto f = forward.layer_kinds.begin();
  auto b = backward.layer_kinds.rbegin();
  // Blocks go in pairs; the ends of the model and what one chunk has more than the other run by themselves.
  while (f != forward.layer_kinds.end() && !block(*f)) add(open, job_.layer_kinds[*f++], Phase::forward);
  while (b != backward.layer_kinds.rend() && !block(*b)) add(open, job_.layer_kinds[*b++], Phase::backward);
  while (f != forward.layer_kinds.end() && b != backward.layer_kinds.rend() && block(*f) && block(*b))
    add_merged(open, *f++, *b++);
  while (f != forward.layer_kinds.end()) add(open, job_.layer_kinds[*f++], Phase::forward);
  while (b != backward.layer_kinds.rend()) add(open, job_.layer_kinds[*b++], Phase::backward);
  flush(open);
  return entry->second;
}

}  // namespace stepcast
