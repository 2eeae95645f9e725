#pragma once

#include <string>
#include <vector>

namespace stepcast::probes {

/// A library that is loaded at run time, so that one binary runs wherever the library is and says so where it is not.
class Library {
 public:
  /// Loads the first of `names` that can be. Throws Fault (missing): `product`, the first name and the loader's reason.
  Library(std::string product, const std::vector<std::string>& names);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() = default;  // stays loaded: libraries of drivers do not survive being unloaded

  /// Sets a pointer to the function of this name. Throws Fault (missing) with the name where the library has none.
  template <typename Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(address(name, true));
  }
  /// The same; the pointer is null where the library has none.
  template <typename Function>
  void find_optional(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(address(name, false));
  }
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  [[nodiscard]] void* address(const char* name, bool required) const;
  std::string product_, file_;
  void* handle_ = nullptr;
};

}  // namespace stepcast::probes
