// Host names to addresses through getaddrinfo (see io/resolve.h).
#include "io/resolve.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "io/linux/sockaddr.h"

namespace quasi::io {

std::expected<std::vector<SocketAddress>, std::string> resolve(const std::string& host,
                                                               std::uint16_t port) {
  if (const auto address = SocketAddress::parse_ip(host, port)) return std::vector{*address};
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, [](addrinfo* first) {
    if (first != nullptr) freeaddrinfo(first);
  });
  if (error != 0) {
    const char* why =
        error == EAI_NONAME || error == EAI_NODATA ? "there is no such name; check its spelling"
        : error == EAI_AGAIN ? "the name server does not answer; check the network connection"
                             : gai_strerror(error);
    return std::unexpected("The host name \"" + host + "\" cannot be resolved: " + why + ".");
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* i = list; i != nullptr; i = i->ai_next) {
    if (i->ai_family != AF_INET && i->ai_family != AF_INET6) continue;
    KernelAddress kernel{};
    std::memcpy(&kernel, i->ai_addr, std::min<std::size_t>(i->ai_addrlen, sizeof kernel));
    SocketAddress address;
    from_kernel(kernel, address);
    address.port = port;
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
  }
  if (addresses.empty()) {
    return std::unexpected("The host name \"" + host + "\" has no IPv4 or IPv6 address.");
  }
  return addresses;
}

}  // namespace quasi::io
