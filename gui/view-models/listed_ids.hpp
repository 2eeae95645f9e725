#pragma once

#include <QStringList>

namespace stepcast {

class Catalog;
struct FormField;

/// The ids that a field takes, by the kind that it refers to: of the catalogue, of models or of frameworks.
QStringList listed_ids(const FormField& field, const Catalog& catalog);

}  // namespace stepcast
