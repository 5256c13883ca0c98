// The program `quasi`: finds the command, runs it, and turns failures into one
// sentence on standard error and an exit code. The same natively and in Wasm, where
// the component's `run` export calls quasi_main().
#include "main.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "command.h"

namespace quasi::app {
namespace {

constexpr const char* kVersion = "0.1.0";

struct Command {
  const CommandSpec& spec;
  Outcome<void> (*run)(const ParsedOptions&);
};

std::span<const Command> commands() {
  static const Command list[] = {
      {kGetCommand, run_get}, {kServeCommand, run_serve}, {kCertCommand, run_cert}};
  return list;
}

std::string usage() {
  std::string text =
      "quasi: QUIC for WebAssembly and native programs\n\nUsage: quasi COMMAND [options] "
      "...\n\nCommands:\n";
  for (const Command& command : commands()) {
    std::string line = "  " + std::string(command.spec.name);
    line.resize(10, ' ');
    text += line + std::string(command.spec.summary) + "\n";
  }
  text +=
      "\n\"quasi COMMAND --help\" tells more; \"quasi --version\" prints the version.\n\n"
      "Exit codes: 0 success; 1 internal error; 2 wrong command line; 3 name not resolved;\n"
      "4 no connection; 5 TLS (certificate, ALPN); 6 transfer broken; 7 file cannot be read or\n"
      "written; 8 refused by the server; 9 cannot listen; 130 interrupted.\n";
  return text;
}

int fail_with(const Failure& failure) {
  std::fprintf(stderr, "quasi: %s\n", failure.sentence.c_str());
  return failure.code;
}

/// Success, if all that was printed has left.
int succeed() {
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0
             ? int{kOk}
             : fail_with({kFile, std::string("Cannot write to standard output: ") +
                                     std::strerror(errno) + "."});
}

/// A standard descriptor that the caller closed would be that of the next file or socket,
/// which would then get what is printed. In its place stands one that fails.
void occupy_standard_descriptors() {
#if !QUASI_WASM
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
#endif
}

}  // namespace
}  // namespace quasi::app

int quasi_main(int argc, char** argv) {
  using namespace quasi::app;
  occupy_standard_descriptors();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (arguments.empty()) {
    return fail_with({kUsage, "No command given; \"quasi --help\" lists them."});
  }
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    std::fputs(usage().c_str(), stdout);
    return succeed();
  }
  if (arguments[0] == "--version") {
    std::printf("quasi %s\n", kVersion);
    return succeed();
  }
  for (const Command& command : commands()) {
    if (command.spec.name != arguments[0]) continue;
    const auto options =
        parse_options(command.spec, std::span<const std::string>(arguments).subspan(1));
    if (!options) return fail_with({kUsage, options.error()});
    if (options->has("help")) {
      std::fputs(help_text(command.spec).c_str(), stdout);
      return succeed();
    }
    const auto result = command.run(*options);
    if (!result) return fail_with(result.error());
    return succeed();
  }
  return fail_with(
      {kUsage, "Unknown command \"" + arguments[0] + "\"; \"quasi --help\" lists them."});
}
