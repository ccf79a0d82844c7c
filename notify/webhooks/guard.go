package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ErrBlocked means that deliveries may not go to the address. Nothing was sent.
var ErrBlocked = errors.New("the address is not reachable for webhooks")

// Reach limits the addresses of deliveries. The operator of the service must set it, not the user
// who registers a URL.
type Reach string

// The limits of deliveries.
const (
	// ReachPublic allows https to ports 443 and 8443 of public addresses.
	ReachPublic Reach = "public"
	// ReachLoopback also allows any port of this machine, and http.
	ReachLoopback Reach = "loopback"
	// ReachPrivate also allows any port of private networks. The addresses where clouds
	// serve credentials (169.254.169.254, fd00:ec2::254) stay forbidden.
	ReachPrivate Reach = "private"
)

// publicPorts are the ports that are allowed on public addresses.
var publicPorts = []uint16{443, 8443}

var (
	// global6 contains all public IPv6 addresses.
	global6 = netip.MustParsePrefix("2000::/3")
	// specialPurpose are blocks of IPv4 and of global6 that are not public: they have a
	// special purpose, or encode an IPv4 address in an IPv6 one.
	// https://www.iana.org/assignments/iana-ipv4-special-registry
	// https://www.iana.org/assignments/iana-ipv6-special-registry
	specialPurpose = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"2001::/23",         // protocol assignments: Teredo, ORCHID, benchmarking
		"2001:db8::/32",     // documentation
		"2002::/16",         // 6to4
		"2620:4f:8000::/48", // AS112
		"3ffe::/16",         // 6bone, returned to IANA
		"3fff::/20",         // documentation
	)
	// metadata are addresses at which clouds serve credentials, or instances reach their host. They
	// are blocked for every reach. 168.63.129.16 is Azure's, although it is in the public range.
	metadata = prefixes("169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::/32")
)

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, text := range all {
		out[i] = netip.MustParsePrefix(text)
	}

	return out
}

// validate returns ErrInvalid if the reach is none of the constants.
func (r Reach) validate() error {
	switch r {
	case ReachPublic, ReachLoopback, ReachPrivate:
		return nil
	}

	return fmt.Errorf("%w: reach %q: public, loopback or private", ErrInvalid, string(r))
}

// Permits reports whether deliveries may go to the address and port.
func (r Reach) Permits(to netip.AddrPort) bool {
	// ::ffff:10.0.0.1 is the IPv4 address 10.0.0.1, and is checked as such.
	ip := to.Addr().Unmap()
	switch {
	case !ip.IsValid() || ip.Zone() != "":
		return false
	// Checked first, so that no reach permits the addresses that serve credentials.
	case slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.Contains(ip) }):
		return false
	case r != ReachPublic && ip.IsLoopback():
		return true
	case r == ReachPrivate && ip.IsPrivate():
		return true
	case ip.Is6() && !global6.Contains(ip):
		return false
	case slices.ContainsFunc(specialPurpose, func(p netip.Prefix) bool { return p.Contains(ip) }):
		return false
	}

	return slices.Contains(publicPorts, to.Port())
}

const maxURL = 2048

// CheckURL checks a URL before it is stored: at most 2,048 bytes, https (or http, unless the
// reach is [ReachPublic]), a host, no user information and no fragment. It does not resolve
// the host's name: the client checks the address when it dials.
func (r Reach) CheckURL(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, fmt.Errorf("%w: url: at most %d bytes", ErrInvalid, maxURL)
	}

	u, err := url.Parse(raw)
	if err != nil { // err contains the URL, which may contain secrets
		return nil, fmt.Errorf("%w: url: cannot be read", ErrInvalid)
	}

	switch {
	case u.Scheme != "https" && (u.Scheme != "http" || r == ReachPublic):
		return nil, fmt.Errorf("%w: url: must begin with https://", ErrInvalid)
	case u.User != nil:
		return nil, fmt.Errorf("%w: url: must hold no user information", ErrInvalid)
	case u.Hostname() == "" || u.Opaque != "":
		return nil, fmt.Errorf("%w: url: must hold a host", ErrInvalid)
	case u.Fragment != "":
		return nil, fmt.Errorf("%w: url: must hold no fragment", ErrInvalid)
	}

	port, err := portOf(u)
	if err != nil {
		return nil, err
	}

	ip, err := netip.ParseAddr(u.Hostname())
	switch {
	case err == nil && !r.Permits(netip.AddrPortFrom(ip, port)):
		return nil, fmt.Errorf("url: %w", ErrBlocked)
	// A resolver may read the number as an address, which Permits has not checked.
	case err != nil && isNumeric(u.Hostname()):
		return nil, fmt.Errorf("%w: url: the host is a number, but no address", ErrInvalid)
	case err != nil && r == ReachPublic && !slices.Contains(publicPorts, port):
		return nil, fmt.Errorf("url: port %d: %w", port, ErrBlocked)
	}

	return u, nil
}

func portOf(u *url.URL) (uint16, error) {
	switch text := u.Port(); {
	case text != "":
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return 0, fmt.Errorf("%w: url: port: 1 to 65535", ErrInvalid)
		}

		return uint16(port), nil
	case u.Scheme == "http":
		return 80, nil
	default:
		return 443, nil
	}
}

// isNumeric reports whether the last label of the host is a number, as in 2130706433, 0x7f.1 or
// 0177.0.0.1. Some resolvers read such hosts as addresses. No name is refused by this check,
// because no top-level domain is a number.
func isNumeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)

	return last == "" || err == nil || strings.Trim(last, "0123456789") == ""
}

// dialer returns a dialer that checks each address before it dials. So a name that resolves to a
// forbidden address after CheckURL is refused here. It calls dialing, if set, with each permitted
// address.
func (r Reach) dialer(dialing func(netip.AddrPort) error) *net.Dialer {
	control := func(_ context.Context, network, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		switch {
		// control is called after the name was resolved, with the address that is dialed.
		case err != nil || (network != "tcp4" && network != "tcp6") || !r.Permits(to):
			return ErrBlocked
		case dialing != nil:
			return dialing(to)
		}

		return nil
	}

	return &net.Dialer{Timeout: dialTimeout, ControlContext: control}
}
