#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibration/probes/common/library.hpp"
#include "calibration/probes/cuda/driver.hpp"

namespace stepcast::probes {

/// cuDNN's backend API, loaded at run time with own prototypes (cudnn_graph.h of cuDNN 9.19).
class Cudnn {
 public:
  /// Throws Fault (missing) where it is absent, older than 9.0, the first with these operations, or lacks a function.
  Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;
  ~Cudnn();
  /// As "9.19.0".
  [[nodiscard]] std::string version() const;
  /// Starts it on the calling thread's device; its work goes to `stream`.
  void start(CudaHandle stream);
  [[nodiscard]] void* handle() const { return handle_; }

  /// Throws Fault when a call's code is not CUDNN_STATUS_SUCCESS, with cuDNN's own words: missing where it says that it
  /// does not support what was asked, else check failed.
  void require(int code, const std::string& what) const;

 private:
  friend class CudnnDescriptor;
  struct Functions;
  Library library_;
  std::unique_ptr<Functions> functions_;
  void* handle_ = nullptr;
};

/// A descriptor of the backend API: attributes are set, then it is finished and no longer changes.
class CudnnDescriptor {
 public:
  /// `kind`: a number of cudnn_numbers.hpp.
  CudnnDescriptor(const Cudnn& library, int kind);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor(const CudnnDescriptor&) = delete;
  CudnnDescriptor& operator=(const CudnnDescriptor&) = delete;

  void set_integers(int attribute, const std::vector<std::int64_t>& values);
  /// A value of an enumeration, `type` the number of its type.
  void set_choice(int attribute, int type, int value);
  void set_flag(int attribute, bool value);
  void set_pointers(int attribute, int type, const std::vector<void*>& values);
  void set_descriptors(int attribute, const std::vector<const CudnnDescriptor*>& values);
  void finish(const std::string& what);

  [[nodiscard]] std::int64_t integer(int attribute) const;
  /// How many descriptors an attribute can hold.
  [[nodiscard]] std::size_t count(int attribute) const;
  /// Fills `into`, descriptors of the attribute's kind, and says how many it filled.
  [[nodiscard]] std::size_t fill(int attribute, std::vector<CudnnDescriptor>& into) const;
  [[nodiscard]] void* address() const { return address_; }
  void execute(const CudnnDescriptor& pack) const;

 private:
  void set(int attribute, int type, std::size_t count, const void* values);
  const Cudnn* library_;
  void* address_ = nullptr;
};

}  // namespace stepcast::probes
