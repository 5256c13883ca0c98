// Times every AEAD kernel compiled in: MB/s and ns a packet, one packet a call and
// 16 a call, and header masks. The same program natively and in Wasmtime.
//
//   aead_bench [--json] [--size N]... [--filter TEXT]
//
// Each figure is the best of many short windows: the least disturbed one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "quasi/aead.h"

namespace {

using namespace quasi::aead;  // NOLINT(google-build-using-namespace): a program of one file
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatch = 16;
constexpr std::size_t kAadSize = 20;

struct Options {
  bool json = false;
  std::vector<std::size_t> sizes;
  std::string filter;
};

// Seconds one call takes.
template <class Call>
double best_seconds(const Call& call) {
  const auto time = [&call](int repeats) {
    const auto start = Clock::now();
    for (int i = 0; i < repeats; ++i) call();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  int repeats = 1;
  while (time(repeats) < 1e-4) repeats *= 2;
  double best = 1e9;
  for (int window = 0; window < 150; ++window) best = std::min(best, time(repeats) / repeats);
  return best;
}

class Report {
 public:
  explicit Report(const Options& options) : options_(options) {
    if (options_.json) std::printf("[");
  }
  ~Report() {
    if (options_.json) std::printf("\n]\n");
  }

  [[nodiscard]] bool wanted(const std::string& label) const {
    return label.find(options_.filter) != std::string::npos;
  }

  void row(std::string_view algorithm, std::string_view kernel, std::string_view operation,
           std::size_t size, std::size_t batch, double seconds_a_packet) {
    const double ns = seconds_a_packet * 1e9;
    const double mb = static_cast<double>(size) / seconds_a_packet / 1e6;
    if (options_.json) {
      std::printf(
          "%s\n  {\"algorithm\": \"%.*s\", \"kernel\": \"%.*s\", \"operation\": \"%.*s\", "
          "\"size\": %zu, \"batch\": %zu, \"ns\": %.1f, \"mb_per_s\": %.1f}",
          first_ ? "" : ",", static_cast<int>(algorithm.size()), algorithm.data(),
          static_cast<int>(kernel.size()), kernel.data(), static_cast<int>(operation.size()),
          operation.data(), size, batch, ns, mb);
    } else {
      std::printf("%-18.*s %-9.*s %-7.*s %6zu B  x%-2zu %10.1f ns %9.1f MB/s\n",
                  static_cast<int>(algorithm.size()), algorithm.data(),
                  static_cast<int>(kernel.size()), kernel.data(),
                  static_cast<int>(operation.size()), operation.data(), size, batch, ns, mb);
    }
    std::fflush(stdout);
    first_ = false;
  }

 private:
  const Options& options_;
  bool first_ = true;
};

struct Burst {
  explicit Burst(std::size_t size)
      : text(kBatch * stride(size), 0x5a), aad(kAadSize, 1), tags(kBatch * kTagSize) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      jobs[i].in = jobs[i].out = text.data() + i * stride(size);
      jobs[i].size = size;
      jobs[i].aad = aad.data();
      jobs[i].aad_size = aad.size();
      jobs[i].tag = tags.data() + i * kTagSize;
      jobs[i].nonce.fill(static_cast<std::uint8_t>(i));
    }
  }
  static std::size_t stride(std::size_t size) { return (size + 16 + 63) / 64 * 64; }

  std::vector<std::uint8_t> text, aad, tags;
  std::array<Job, kBatch> jobs;
};

void bench_aead(Report& report, const Options& options, Algorithm algorithm) {
  const std::vector<std::uint8_t> key_bytes(key_size(algorithm), 7);
  for (const Kernel* kernel : kernels(algorithm)) {
    const std::string label = std::string(name(algorithm)) + " " + std::string(name(*kernel));
    if (!report.wanted(label)) continue;
    AeadKey key;
    if (!key.expand(algorithm, key_bytes, *kernel)) std::abort();
    report.row(name(algorithm), name(*kernel), "expand", key_bytes.size(), 1, best_seconds([&] {
                 if (!key.expand(algorithm, key_bytes, *kernel)) std::abort();
               }));
    for (const std::size_t size : options.sizes) {
      Burst burst(size);
      report.row(name(algorithm), name(*kernel), "seal", size, 1,
                 best_seconds([&] { key.seal_many({burst.jobs.data(), 1}); }));
      report.row(name(algorithm), name(*kernel), "seal", size, kBatch,
                 best_seconds([&] { key.seal_many(burst.jobs); }) / kBatch);
      // Opening out of place leaves the ciphertext as it is, so that every tag stays right.
      Burst plain(size);
      for (std::size_t i = 0; i < kBatch; ++i) burst.jobs[i].out = plain.jobs[i].out;
      key.seal_many(plain.jobs);
      for (std::size_t i = 0; i < kBatch; ++i) {
        burst.jobs[i].in = plain.jobs[i].out;
        burst.jobs[i].out = burst.text.data() + i * Burst::stride(size);
        burst.jobs[i].tag = plain.jobs[i].tag;
      }
      if (!key.open_many(burst.jobs)) std::abort();
      report.row(name(algorithm), name(*kernel), "open", size, 1,
                 best_seconds([&] { key.open_many({burst.jobs.data(), 1}); }));
      report.row(name(algorithm), name(*kernel), "open", size, kBatch,
                 best_seconds([&] { key.open_many(burst.jobs); }) / kBatch);
    }
  }
}

void bench_masks(Report& report, Algorithm algorithm) {
  const std::vector<std::uint8_t> key_bytes(key_size(algorithm), 7);
  for (const HeaderKernel* kernel : header_kernels(algorithm)) {
    if (!report.wanted(std::string(name(algorithm)) + " " + std::string(name(*kernel)))) continue;
    HeaderKey key;
    if (!key.expand(algorithm, key_bytes, *kernel)) std::abort();
    std::array<std::array<std::uint8_t, kSampleSize>, kBatch> samples{};
    std::array<MaskJob, kBatch> jobs;
    for (std::size_t i = 0; i < kBatch; ++i) jobs[i].sample = samples[i].data();
    report.row(name(algorithm), name(*kernel), "mask", kSampleSize, 1,
               best_seconds([&] { key.mask_many({jobs.data(), 1}); }));
    report.row(name(algorithm), name(*kernel), "mask", kSampleSize, kBatch,
               best_seconds([&] { key.mask_many(jobs); }) / kBatch);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "--size" && i + 1 < argc) {
      options.sizes.push_back(static_cast<std::size_t>(std::strtoul(argv[++i], nullptr, 10)));
    } else if (argument == "--filter" && i + 1 < argc) {
      options.filter = argv[++i];
    } else {
      std::fprintf(stderr, "usage: aead_bench [--json] [--size N]... [--filter TEXT]\n");
      return 2;
    }
  }
  if (options.sizes.empty()) options.sizes = {64, 256, 1200, 1350, 1452, 16384};
  Report report(options);
  for (const Algorithm algorithm :
       {Algorithm::aes_128_gcm, Algorithm::aes_256_gcm, Algorithm::chacha20_poly1305}) {
    bench_aead(report, options, algorithm);
    bench_masks(report, algorithm);
  }
  return 0;
}
