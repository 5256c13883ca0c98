// A component's entry: wasi:cli/run calls quasi_main() with the arguments that the host
// gave, and its result becomes the exit code.
#include <stdio.h>
#include <wasi/api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/wasi/generated/quasi.h"

int quasi_main(int argc, char** argv);

namespace {

/// The arguments, with a null pointer at the end as C has it. They live as long as the
/// program.
std::vector<char*>& arguments() {
  static std::vector<char*> pointers;
  static std::vector<std::uint8_t> bytes;
  __wasi_size_t count = 0;
  __wasi_size_t size = 0;
  if (__wasi_args_sizes_get(&count, &size) != __WASI_ERRNO_SUCCESS) count = size = 0;
  bytes.resize(std::size_t{size} + 1);
  std::vector<std::uint8_t*> raw(std::size_t{count} + 1);
  if (count > 0 && __wasi_args_get(raw.data(), bytes.data()) != __WASI_ERRNO_SUCCESS) count = 0;
  for (__wasi_size_t i = 0; i < count; ++i) pointers.push_back(reinterpret_cast<char*>(raw[i]));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

bool exports_wasi_cli_run_run(void) {
  std::vector<char*>& argv = arguments();
  const int code = quasi_main(static_cast<int>(argv.size() - 1), argv.data());
  fflush(nullptr);
  // A result of run() says only good or bad; an exit code says more.
  if (code != 0) wasi_cli_exit_exit_with_code(static_cast<std::uint8_t>(code));
  return true;
}
