#pragma once

#include "hardware-catalog/catalog.hpp"

namespace stepcast::test {

/// The catalogue that is shipped, read once.
inline const Catalog& catalog() {
  static const Catalog kCatalog = Catalog::standard({});
  return kCatalog;
}

}  // namespace stepcast::test
