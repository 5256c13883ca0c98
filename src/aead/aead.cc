// The public classes: hold a kernel's state, check jobs, hand them over.
#include "quasi/aead.h"

#include <cstring>

#include "aead/kernel.h"

namespace quasi::aead {
namespace {

bool overlap_in_part(const Job& job) {
  if (job.in == job.out || job.size == 0) return false;
  const auto in = reinterpret_cast<std::uintptr_t>(job.in);
  const auto out = reinterpret_cast<std::uintptr_t>(job.out);
  return in < out ? out - in < job.size : in - out < job.size;
}

bool acceptable(const Kernel& kernel, const Job& job) {
  return job.size <= max_message_size(kernel.algorithm) && std::uint64_t{job.aad_size} >> 32 == 0 &&
         !overlap_in_part(job);
}

const char* key_size_reason(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::aes_128_gcm:
      return "AES-128-GCM takes a key of 16 bytes";
    case Algorithm::aes_256_gcm:
      return "AES-256-GCM takes a key of 32 bytes";
    case Algorithm::chacha20_poly1305:
      break;
  }
  return "ChaCha20-Poly1305 takes a key of 32 bytes";
}

}  // namespace

std::string_view name(const Kernel& kernel) { return kernel.name; }
std::string_view name(const HeaderKernel& kernel) { return kernel.name; }

std::string_view name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::aes_128_gcm:
      return "AES-128-GCM";
    case Algorithm::aes_256_gcm:
      return "AES-256-GCM";
    case Algorithm::chacha20_poly1305:
      break;
  }
  return "ChaCha20-Poly1305";
}

AeadKey& AeadKey::operator=(AeadKey&& other) noexcept {
  if (this != &other) {
    reset();
    take(other);
  }
  return *this;
}

void AeadKey::take(AeadKey& other) {
  if (other.kernel_ == nullptr) return;
  std::memcpy(state_.data(), other.state_.data(), other.kernel_->state_size);
  kernel_ = other.kernel_;
  other.reset();
}

void AeadKey::reset() {
  if (kernel_ == nullptr) return;
  secure_wipe(state_.data(), kernel_->state_size);
  kernel_ = nullptr;
}

Status AeadKey::expand(Algorithm algorithm, Bytes key) {
  return expand(algorithm, key, *kernels(algorithm).front());
}

Status AeadKey::expand(Algorithm algorithm, Bytes key, const Kernel& kernel) {
  reset();
  if (key.size() != key_size(algorithm))
    return fail(TransportErrorCode::internal_error, key_size_reason(algorithm));
  if (kernel.algorithm != algorithm)
    return fail(TransportErrorCode::internal_error, "This kernel is for another algorithm");
  kernel.expand(state_.data(), key.data());
  kernel_ = &kernel;
  return {};
}

namespace {

// Hands runs of acceptable jobs to the kernel.
template <class Run>
bool run_jobs(const Kernel* kernel, std::span<Job> jobs, Run run) {
  bool all_ok = true;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= jobs.size(); ++i) {
    if (i < jobs.size() && kernel != nullptr && acceptable(*kernel, jobs[i])) continue;
    if (i > begin) run(jobs.subspan(begin, i - begin));
    begin = i + 1;
    if (i < jobs.size()) jobs[i].ok = false;
  }
  for (const Job& job : jobs) all_ok &= job.ok;
  return all_ok;
}

}  // namespace

bool AeadKey::seal_many(std::span<Job> jobs) const {
  return run_jobs(kernel_, jobs, [this](std::span<Job> run) { kernel_->seal(state_.data(), run); });
}

bool AeadKey::open_many(std::span<Job> jobs) const {
  return run_jobs(kernel_, jobs, [this](std::span<Job> run) { kernel_->open(state_.data(), run); });
}

bool AeadKey::seal(std::span<const std::uint8_t, kNonceSize> nonce, Bytes aad, Bytes in,
                   std::uint8_t* out, std::span<std::uint8_t, kTagSize> tag) const {
  Job job{.in = in.data(),
          .out = out,
          .size = in.size(),
          .aad = aad.data(),
          .aad_size = aad.size(),
          .tag = tag.data()};
  std::memcpy(job.nonce.data(), nonce.data(), kNonceSize);
  return seal_many({&job, 1});
}

bool AeadKey::open(std::span<const std::uint8_t, kNonceSize> nonce, Bytes aad, Bytes in,
                   std::uint8_t* out, std::span<const std::uint8_t, kTagSize> tag) const {
  std::array<std::uint8_t, kTagSize> tag_copy;
  std::memcpy(tag_copy.data(), tag.data(), kTagSize);
  Job job{.in = in.data(),
          .out = out,
          .size = in.size(),
          .aad = aad.data(),
          .aad_size = aad.size(),
          .tag = tag_copy.data()};
  std::memcpy(job.nonce.data(), nonce.data(), kNonceSize);
  return open_many({&job, 1});
}

HeaderKey& HeaderKey::operator=(HeaderKey&& other) noexcept {
  if (this != &other) {
    reset();
    take(other);
  }
  return *this;
}

void HeaderKey::take(HeaderKey& other) {
  if (other.kernel_ == nullptr) return;
  std::memcpy(state_.data(), other.state_.data(), other.kernel_->state_size);
  kernel_ = other.kernel_;
  other.reset();
}

void HeaderKey::reset() {
  if (kernel_ == nullptr) return;
  secure_wipe(state_.data(), kernel_->state_size);
  kernel_ = nullptr;
}

Status HeaderKey::expand(Algorithm algorithm, Bytes key) {
  return expand(algorithm, key, *header_kernels(algorithm).front());
}

Status HeaderKey::expand(Algorithm algorithm, Bytes key, const HeaderKernel& kernel) {
  reset();
  if (key.size() != key_size(algorithm))
    return fail(TransportErrorCode::internal_error, key_size_reason(algorithm));
  if (kernel.algorithm != algorithm)
    return fail(TransportErrorCode::internal_error, "This kernel is for another algorithm");
  kernel.expand(state_.data(), key.data());
  kernel_ = &kernel;
  return {};
}

void HeaderKey::mask_many(std::span<MaskJob> jobs) const {
  if (kernel_ == nullptr) {
    for (MaskJob& job : jobs) job.mask.fill(0);
    return;
  }
  kernel_->mask(state_.data(), jobs);
}

std::array<std::uint8_t, kMaskSize> HeaderKey::mask(
    std::span<const std::uint8_t, kSampleSize> sample) const {
  MaskJob job{.sample = sample.data()};
  mask_many({&job, 1});
  return job.mask;
}

}  // namespace quasi::aead
