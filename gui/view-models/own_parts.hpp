#pragma once

#include <filesystem>
#include <string>

#include "fields/json_text.hpp"

namespace stepcast {

class Catalog;

/// A server's entry to start an own one from: the text of another with an id and a note of its own.
std::string own_server_text(const Catalog& catalog, const std::string& like);
/// An entry as it was edited: figures that are no longer those of the entry that it was started from are estimates of
/// its author, unless he said where they are from.
std::string with_own_evidence(const Json& before, const std::string& text);
/// The id that an entry states. Throws InputError when it has none, or one that is no file name.
std::string id_of_own_part(const std::string& text);

/// A model's description to start an own one from.
std::string own_model_text(const Json& model_in_scenario);
/// The text of a file that describes a model; of an ONNX file the description that its operators come to. Throws
/// InputError where it cannot be read, EnvironmentError where the reader of ONNX cannot run.
std::string own_model_text_of(const std::filesystem::path& file);
/// The description that a text holds: of the presets' kind, or a config.json of Hugging Face as `stepcast import` reads
/// it, with what was assumed of it as its note. Throws InputError with what is wrong with it.
Json own_model(const std::string& text);

}  // namespace stepcast
