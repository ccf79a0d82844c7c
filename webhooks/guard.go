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

// ErrBlocked: the address is not one that webhooks may go to. Nothing was sent.
var ErrBlocked = errors.New("the address is not reachable for webhooks")

// Reach says which addresses deliveries may go to. It is set by whoever runs the
// service, never by whoever registers a URL.
type Reach string

// How far deliveries reach.
const (
	// ReachPublic is https to ports 443 and 8443 of public addresses. The default.
	ReachPublic Reach = "public"
	// ReachLoopback is that, and any port of this machine, also by http.
	ReachLoopback Reach = "loopback"
	// ReachPrivate is that, and any port of private networks, also by http. Where
	// clouds hand out credentials (169.254.169.254, fd00:ec2::254) stays out of reach.
	ReachPrivate Reach = "private"
)

// ports are those that public addresses are reached at.
var ports = []uint16{443, 8443}

var (
	global6 = netip.MustParsePrefix("2000::/3")
	// never are blocks of the two global ranges that are not what they look like: special
	// purposes, and ways to write an IPv4 address as an IPv6 one.
	// https://www.iana.org/assignments/iana-ipv4-special-registry
	// https://www.iana.org/assignments/iana-ipv6-special-registry
	never = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"2001::/23",         // protocol assignments: Teredo, ORCHID, benchmarking
		"2001:db8::/32",     // documentation
		"2002::/16",         // 6to4
		"2620:4f:8000::/48", // AS112
		"3ffe::/16",         // 6bone, given back
		"3fff::/20",         // documentation
	)
	// metadata are where clouds hand out credentials within private ranges.
	metadata = prefixes("fd00:ec2::/32", "fd20:ce::/32")
)

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, text := range all {
		out[i] = netip.MustParsePrefix(text)
	}

	return out
}

// validate names the rule that the reach breaks.
func (r Reach) validate() error {
	switch r {
	case ReachPublic, ReachLoopback, ReachPrivate:
		return nil
	}

	return fmt.Errorf("%w: reach %q: public, loopback or private", ErrInvalid, string(r))
}

// Permits reports whether deliveries may go to the address and port.
func (r Reach) Permits(to netip.AddrPort) bool {
	ip := to.Addr().Unmap()
	switch {
	case !ip.IsValid() || ip.Zone() != "":
		return false
	case r != ReachPublic && ip.IsLoopback():
		return true
	case r == ReachPrivate && ip.IsPrivate():
		return !slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.Contains(ip) })
	case ip.Is6() && !global6.Contains(ip):
		return false
	case slices.ContainsFunc(never, func(p netip.Prefix) bool { return p.Contains(ip) }):
		return false
	}

	return slices.Contains(ports, to.Port())
}

const maxURL = 2048

// CheckURL checks a URL before it is kept: https (outside [ReachPublic] also http), a
// host, no user information. What the host's name resolves to is checked when it is
// dialled.
func (r Reach) CheckURL(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, fmt.Errorf("%w: url: at most %d bytes", ErrInvalid, maxURL)
	}

	u, err := url.Parse(raw)
	if err != nil { // the error holds the URL, and a URL may hold secrets
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
	case err != nil && numeric(u.Hostname()):
		return nil, fmt.Errorf("%w: url: the host is a number, but no address", ErrInvalid)
	case err != nil && r == ReachPublic && !slices.Contains(ports, port):
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

// numeric: the host's last label begins with a digit and could be a number, as in
// 2130706433, 0x7f.1 or 0177.0.0.1, which some resolvers take for an address. No
// top-level domain is one.
func numeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return last == "" || err == nil || strings.Trim(last, "0123456789") == ""
}

// control looks at the address that is really dialled, after all resolving: a name
// that resolves to something else a moment later gains nothing.
func (r Reach) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || (network != "tcp4" && network != "tcp6") || !r.Permits(to) {
		return ErrBlocked
	}

	return nil
}

// dialer dials only where the reach permits.
func (r Reach) dialer() *net.Dialer {
	return &net.Dialer{Timeout: dialTimeout, ControlContext: r.control}
}
