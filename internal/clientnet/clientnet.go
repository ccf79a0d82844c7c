// Package clientnet knows the address of a client, and the network by which clients are limited.
package clientnet

import (
	"net"
	"net/netip"
	"strings"
)

// Addr returns the address of a text with or without a port.
func Addr(text string) (netip.Addr, bool) {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}

	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))

	return addr.Unmap().WithZone(""), err == nil
}

// Of returns the unit in which clients are limited: an IPv4 address, or the /64 network of an IPv6 address, because
// one customer of a provider has all addresses of such a network. A text that is no address is returned as it is.
func Of(remoteAddr string) string {
	addr, ok := Addr(remoteAddr)
	if !ok {
		return remoteAddr
	}

	if addr.Is4() {
		return addr.String()
	}

	prefix, err := addr.Prefix(64)
	if err != nil {
		return addr.String()
	}

	return prefix.String()
}
