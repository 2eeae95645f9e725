#include "calibration/probes/cuda/cudnn.hpp"

#include <array>
#include <utility>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/cuda/cudnn_numbers.hpp"

namespace stepcast::probes {
namespace {

constexpr std::size_t kOldest = 90000;
constexpr int kUnsupported = 3;  // statuses 3000 to 3999: CUDNN_STATUS_NOT_SUPPORTED and its reasons

std::string version_text(std::size_t number) {
  // MAJOR·10000 + MINOR·100 + PATCH since 9.0; MAJOR·1000 before (cudnn_version.h).
  const std::size_t major = number >= kOldest ? 10000 : 1000;
  return std::to_string(number / major) + "." + std::to_string(number % major / 100) + "." +
         std::to_string(number % 100);
}

}  // namespace

struct Cudnn::Functions {
  std::size_t (*version)();
  const char* (*error_string)(int);
  void (*last_error)(char*, std::size_t);
  int (*create)(void**);
  int (*destroy)(void*);
  int (*set_stream)(void*, CudaHandle);
  int (*describe)(int, void**);
  int (*describe_end)(void*);
  int (*set)(void*, int, int, std::int64_t, const void*);
  int (*get)(void*, int, int, std::int64_t, std::int64_t*, void*);
  int (*finish)(void*);
  int (*execute)(void*, void*, void*);
};

Cudnn::Cudnn()
    : library_("cuDNN", {"libcudnn.so.9", "libcudnn.so", "libcudnn.so.8"}), functions_(std::make_unique<Functions>()) {
  Functions& f = *functions_;
  library_.find(f.version, "cudnnGetVersion");
  if (f.version() < kOldest)
    throw missing("cuDNN is too old: " + library_.file() + " is " + version() + "; 9.0 or newer is needed");
  library_.find(f.error_string, "cudnnGetErrorString");
  library_.find(f.last_error, "cudnnGetLastErrorString");
  library_.find(f.create, "cudnnCreate");
  library_.find(f.destroy, "cudnnDestroy");
  library_.find(f.set_stream, "cudnnSetStream");
  library_.find(f.describe, "cudnnBackendCreateDescriptor");
  library_.find(f.describe_end, "cudnnBackendDestroyDescriptor");
  library_.find(f.set, "cudnnBackendSetAttribute");
  library_.find(f.get, "cudnnBackendGetAttribute");
  library_.find(f.finish, "cudnnBackendFinalize");
  library_.find(f.execute, "cudnnBackendExecute");
}

Cudnn::~Cudnn() {
  if (handle_) functions_->destroy(handle_);
}

std::string Cudnn::version() const { return version_text(functions_->version()); }

void Cudnn::start(CudaHandle stream) {
  if (!handle_) require(functions_->create(&handle_), "starting cuDNN");
  require(functions_->set_stream(handle_, stream), "giving cuDNN a stream");
}

void Cudnn::require(int code, const std::string& what) const {
  if (code == 0) return;
  std::array<char, 1024> last{};
  functions_->last_error(last.data(), last.size());
  std::string reason = last.data();
  if (const std::size_t line = reason.find('\n'); line != std::string::npos) reason.resize(line);
  std::string words = what;
  words += ": cuDNN error " + std::to_string(code) + ", ";
  words += reason.empty() ? functions_->error_string(code) : reason.c_str();
  throw code / 1000 == kUnsupported ? missing(words) : check_failed(words);
}

CudnnDescriptor::CudnnDescriptor(const Cudnn& library, int kind) : library_(&library) {
  library.require(library.functions_->describe(kind, &address_), "describing something to cuDNN");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (address_) library_->functions_->describe_end(address_);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : library_(other.library_), address_(std::exchange(other.address_, nullptr)) {}

void CudnnDescriptor::set(int attribute, int type, std::size_t count, const void* values) {
  library_->require(library_->functions_->set(address_, attribute, type, static_cast<std::int64_t>(count), values),
                    "setting attribute " + std::to_string(attribute));
}

void CudnnDescriptor::set_integers(int attribute, const std::vector<std::int64_t>& values) {
  set(attribute, cudnn::kIntegerValue, values.size(), values.data());
}
void CudnnDescriptor::set_choice(int attribute, int type, int value) { set(attribute, type, 1, &value); }
void CudnnDescriptor::set_flag(int attribute, bool value) { set(attribute, cudnn::kFlagValue, 1, &value); }
void CudnnDescriptor::set_pointers(int attribute, int type, const std::vector<void*>& values) {
  set(attribute, type, values.size(), values.data());
}
void CudnnDescriptor::set_descriptors(int attribute, const std::vector<const CudnnDescriptor*>& values) {
  std::vector<void*> addresses;
  addresses.reserve(values.size());
  for (const CudnnDescriptor* value : values) addresses.push_back(value->address());
  set_pointers(attribute, cudnn::kDescriptorValue, addresses);
}

void CudnnDescriptor::finish(const std::string& what) {
  library_->require(library_->functions_->finish(address_), what);
}

std::int64_t CudnnDescriptor::integer(int attribute) const {
  std::int64_t value = 0, count = 0;
  library_->require(library_->functions_->get(address_, attribute, cudnn::kIntegerValue, 1, &count, &value),
                    "asking for attribute " + std::to_string(attribute));
  return value;
}

std::size_t CudnnDescriptor::count(int attribute) const {
  std::int64_t count = 0;
  library_->require(library_->functions_->get(address_, attribute, cudnn::kDescriptorValue, 0, &count, nullptr),
                    "asking for attribute " + std::to_string(attribute));
  return static_cast<std::size_t>(count);
}

std::size_t CudnnDescriptor::fill(int attribute, std::vector<CudnnDescriptor>& into) const {
  std::vector<void*> addresses;
  addresses.reserve(into.size());
  for (const CudnnDescriptor& one : into) addresses.push_back(one.address());
  std::int64_t filled = 0;
  library_->require(library_->functions_->get(address_, attribute, cudnn::kDescriptorValue,
                                              static_cast<std::int64_t>(into.size()), &filled, addresses.data()),
                    "asking for attribute " + std::to_string(attribute));
  return static_cast<std::size_t>(filled);
}

void CudnnDescriptor::execute(const CudnnDescriptor& pack) const {
  library_->require(library_->functions_->execute(library_->handle(), address_, pack.address()), "running a plan");
}

}  // namespace stepcast::probes
