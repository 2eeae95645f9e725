#include "planner/search.hpp"

#include "fields/in_parallel.hpp"
#include "planner/incumbents.hpp"

namespace stepcast {

namespace {

/// Blocks that are searched against the same incumbents: enough for many threads, few enough to learn soon.
constexpr std::size_t kWave = 64;

/// What one block gave.
struct BlockResult {
  Tally tally;
  std::optional<Incumbents> found;
};

/// Each thread keeps the family that it worked on last: neighbouring blocks are of one family.
class FamilyCache {
 public:
  Evaluator& of(const PlanQuestion& question, const std::vector<FamilySpec>& families, std::size_t family,
                const Catalog& catalog) {
    if (!evaluator_ || family_ != family) evaluator_ = std::make_unique<Evaluator>(question, families[family], catalog);
    family_ = family;
    return *evaluator_;
  }

 private:
  std::size_t family_ = 0;
  std::unique_ptr<Evaluator> evaluator_;
};

class Search {
 public:
  Search(const PlanQuestion& question, const Catalog& catalog, const SearchOptions& options)
      : question_(question),
        catalog_(catalog),
        options_(options),
        incumbents_(question.spec.objective.values, options.keep),
        caches_(static_cast<std::size_t>(std::max(1, options.threads))) {}

  SearchResult run() {
    result_.families = families_of(question_.spec, catalog_);
    list_blocks();
    for (std::size_t first = 0; first < blocks_.size() && !stopped(); first += kWave)
      search_wave(first, std::min(blocks_.size(), first + kWave));
    result_.best = incumbents_.best();
    result_.near_limits = incumbents_.near_limits();
    result_.best_of_kinds = incumbents_.best_of_kinds();
    result_.front = incumbents_.front();
    return std::move(result_);
  }

 private:
  bool stopped() { return result_.stopped = result_.stopped || options_.stop.stop_requested(); }

  void list_blocks() {
    for (std::size_t family = 0; family < result_.families.size() && !stopped(); ++family) {
      const Evaluator& evaluator = caches_[0].of(question_, result_.families, family, catalog_);
      if (const auto refusal = evaluator.ruled_out()) {
        result_.tally.reject(*refusal);
        continue;
      }
      const std::vector<Block> blocks = evaluator.space().blocks(family, result_.tally);
      blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
    }
  }

  void search_wave(std::size_t first, std::size_t last) {
    std::vector<BlockResult> results(last - first);
    in_parallel(last - first, options_.threads, [&](std::size_t thread, std::size_t i) {
      if (!options_.stop.stop_requested()) results[i] = search_block(caches_[thread], blocks_[first + i], first + i);
    });
    for (std::size_t i = 0; i < results.size(); ++i) {
      const BlockResult& block = results[i];
      result_.tally.add(block.tally);
      if (block.tally.allowed() > 0) result_.allowed_families.insert(blocks_[first + i].family);
      if (block.found) incumbents_.add(*block.found);
    }
    if (options_.progress)
      options_.progress(
          {PlanProgress::Stage::searching, result_.tally.evaluated, last, blocks_.size(), found_so_far()});
  }

  std::vector<ObjectiveValues> found_so_far() const {
    std::vector<ObjectiveValues> out;
    for (const PlanPoint& point : incumbents_.best()) out.push_back(point.figures.objective);
    for (const PlanPoint& point : incumbents_.front()) out.push_back(point.figures.objective);
    return out;
  }

  BlockResult search_block(FamilyCache& cache, const Block& block, std::size_t number) const {
    Evaluator& evaluator = cache.of(question_, result_.families, block.family, catalog_);
    BlockResult out;
    out.found.emplace(question_.spec.objective.values, options_.keep);
    TooSlow too_slow;
    if (options_.prune)
      too_slow = [&](const Option& option, const ObjectiveValues& least) {
        const OptionKind kind = option_kind(result_.families, block.family, option);
        return incumbents_.beyond_reach(least, kind) || out.found->beyond_reach(least, kind);
      };
    std::size_t order = number << 24;
    for (const Option& option : evaluator.space().options(block, out.tally)) {
      const auto outcome = evaluator.evaluate(option, too_slow, options_.forecast);
      ++order;
      if (const Refusal* refusal = std::get_if<Refusal>(&outcome)) {
        out.tally.reject(*refusal);
        continue;
      }
      const auto& figures = std::get<PlanFigures>(outcome);
      out.tally.count(figures.refused);
      out.found->add({block.family, option, figures, order}, option_kind(result_.families, block.family, option));
    }
    return out;
  }

  const PlanQuestion& question_;
  const Catalog& catalog_;
  const SearchOptions& options_;
  Incumbents incumbents_;
  std::vector<FamilyCache> caches_;
  std::vector<Block> blocks_;
  SearchResult result_;
};

bool shards_parameters(Sharding sharding) {
  return sharding == Sharding::zero3 || sharding == Sharding::fsdp || sharding == Sharding::hsdp;
}

}  // namespace

OptionKind option_kind(const std::vector<FamilySpec>& families, std::size_t family, const Option& option) {
  const FamilySpec& of = families[family];
  // Frameworks of one cluster are few; the first family that names one stands for it.
  int framework = 0;
  for (const FamilySpec& other : families) {
    if (other.framework == of.framework) break;
    ++framework;
  }
  const int dimensions =
      (option.tp > 1 ? 1 : 0) + (option.pp > 1 ? 2 : 0) + (option.cp > 1 ? 4 : 0) + (option.ep > 1 ? 8 : 0);
  return {static_cast<int>(of.cluster), of.surroundings, framework, dimensions,
          shards_parameters(option.sharding) ? 1 : 0};
}

std::array<int, 2> machines_of(const OptionKind& kind) { return {kind[0], kind[1]}; }

SearchResult search(const PlanQuestion& question, const Catalog& catalog, const SearchOptions& options) {
  return Search(question, catalog, options).run();
}

}  // namespace stepcast
