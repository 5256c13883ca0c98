// Host names to addresses through wasi:sockets/ip-name-lookup (see io/resolve.h).
#include "io/resolve.h"

#include <algorithm>

#include "io/wasi/bindings.h"
#include "io/wasi/waiter.h"

namespace quasi::io {
namespace {

const char* reason(std::uint8_t tag) {
  switch (tag) {
    case WASI_SOCKETS_IP_NAME_LOOKUP_ERROR_CODE_ACCESS_DENIED:
      return "the host lets this component look up no names; run it with `wasmtime run -S "
             "inherit-network -S allow-ip-name-lookup`, or by the launcher quasi-wasm";
    case WASI_SOCKETS_IP_NAME_LOOKUP_ERROR_CODE_INVALID_ARGUMENT:
    case WASI_SOCKETS_IP_NAME_LOOKUP_ERROR_CODE_NAME_UNRESOLVABLE:
      return "there is no such name; check its spelling";
    case WASI_SOCKETS_IP_NAME_LOOKUP_ERROR_CODE_TEMPORARY_RESOLVER_FAILURE:
      return "the name server does not answer; check the network connection";
    default:
      return "the host's resolver failed; check the name and the network connection";
  }
}

}  // namespace

std::expected<std::vector<SocketAddress>, std::string> resolve(const std::string& host,
                                                               std::uint16_t port) {
  if (const auto address = SocketAddress::parse_ip(host, port)) return std::vector{*address};
  quasi_string_t name;
  quasi_string_set(&name, host.c_str());
  wasi_sockets_ip_name_lookup_result_list_ip_address_error_code_t result{};
  Waiter waiter;
  std::uint32_t task = 0;
  if (!waiter.started(wasi_sockets_ip_name_lookup_resolve_addresses(name, &result), task)) {
    waiter.wait_for(task, [](std::uint32_t) {});
  }
  if (result.is_err) {
    const char* why = reason(result.val.err.tag);
    wasi_sockets_ip_name_lookup_error_code_free(&result.val.err);
    return std::unexpected("The host name \"" + host + "\" cannot be resolved: " + why + ".");
  }
  std::vector<SocketAddress> addresses;
  for (std::size_t i = 0; i < result.val.ok.len; ++i) {
    const SocketAddress address = from_wasi(result.val.ok.ptr[i], port);
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
  }
  wasi_sockets_ip_name_lookup_list_ip_address_free(&result.val.ok);
  if (addresses.empty()) {
    return std::unexpected("The host name \"" + host + "\" has no IPv4 or IPv6 address.");
  }
  return addresses;
}

}  // namespace quasi::io
