// The program's exit codes: one a kind of failure, the same natively and in Wasm.
// `quasi --help` prints this table.
#pragma once

namespace quasi::app {

enum ExitCode : int {
  kOk = 0,
  kInternal = 1,       // a fault of the program or of the host
  kUsage = 2,          // the command line is wrong
  kName = 3,           // a host name cannot be resolved
  kConnect = 4,        // no answer, refused, no network, no version in common
  kTls = 5,            // certificate, ALPN or another part of the TLS handshake
  kTransfer = 6,       // the connection broke before everything had arrived
  kFile = 7,           // a file cannot be read or written
  kRefused = 8,        // the server will not give what was asked for
  kListen = 9,         // an address cannot be listened on
  kInterrupted = 130,  // SIGINT, as shells count it
};

}  // namespace quasi::app
