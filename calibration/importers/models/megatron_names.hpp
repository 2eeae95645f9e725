#pragma once

#include <string_view>

namespace stepcast {

/// Whether an option changes neither time nor memory of a step.
bool is_harmless_megatron_option(std::string_view option);

/// What an option does to time or memory that the forecast leaves out; empty of others.
std::string_view effect_of_unmodelled_option(std::string_view option);

/// A program of Megatron-LM, and the tokenizer that it sets where the arguments name none (its args_defaults).
struct MegatronProgram {
  std::string_view file, tokenizer;
};
/// The program that a script runs; null where it names none of them.
const MegatronProgram* megatron_program_in(std::string_view script);

/// Tokens of a tokenizer that has always the same; 0 of others.
int vocabulary_of_tokenizer(std::string_view tokenizer);
/// Tokens of a tokenizer by the model in its name or path, as transformers counts them; 0 of others.
int vocabulary_by_name(std::string_view path);

}  // namespace stepcast
