package listeners

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"ratchet/internal/clientnet"
)

// The sources of a client's address.
const (
	forwarded     = "forwarded"       // the header of RFC 7239
	xForwardedFor = "x-forwarded-for" // the header of most load balancers
	proxyProtocol = "proxy-protocol"  // version 1 or 2, before the first byte of the connection
)

// Proxies are the peers that may name another address as the client's. A nil Proxies trusts no one.
type Proxies struct {
	source  string
	trusted []netip.Prefix
}

// NewProxies returns the proxies at the addresses and networks (10.0.0.1, 10.0.0.0/8), which name their clients in
// the source. It returns nil if both are empty, and an error if only one is, or if a value is not valid.
func NewProxies(source string, trusted ...string) (*Proxies, error) {
	switch source {
	case "":
		if len(trusted) > 0 {
			return nil, errors.New("trusted-proxies: must be set with proxy-header, which says where they name their clients")
		}

		return nil, nil
	case forwarded, xForwardedFor, proxyProtocol:
	default:
		return nil, fmt.Errorf("proxy-header: must be %q, %q or %q", forwarded, xForwardedFor, proxyProtocol)
	}

	if len(trusted) == 0 {
		return nil, errors.New("proxy-header: must be set with trusted-proxies; otherwise every caller could name any address")
	}

	p := &Proxies{source: source}
	for _, text := range trusted {
		prefix, err := parsePrefix(text)
		if err != nil {
			return nil, errors.New("trusted-proxies: each must be an address or a network like 10.0.0.0/8")
		}
		p.trusted = append(p.trusted, prefix)
	}

	return p, nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		prefix, err := netip.ParsePrefix(text)
		return prefix.Masked(), err
	}

	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	addr = addr.Unmap().WithZone("")

	return netip.PrefixFrom(addr, addr.BitLen()), nil
}

// trusts reports whether the address is one of the proxies.
func (p *Proxies) trusts(addr netip.Addr) bool {
	if p == nil {
		return false
	}

	for _, prefix := range p.trusted {
		if prefix.Contains(addr) {
			return true
		}
	}

	return false
}

// Handler sets the RemoteAddr of each request to its client, if the proxies name it in a header.
func (p *Proxies) Handler(next http.Handler) http.Handler {
	if p == nil || p.source == proxyProtocol {
		return next
	}

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client, named := p.client(r); named {
			// The port is not known. The copy keeps the request of others, such as a tracer, as it is.
			copied := *r
			copied.RemoteAddr = net.JoinHostPort(client.String(), "0")
			r = &copied
		}

		next.ServeHTTP(w, r)
	})
}

// client returns the address of the client, and whether it is another one than the peer's. The header's
// elements are read from the end, where the nearest proxy has written: behind the first address that is no
// proxy, everything may be forged.
func (p *Proxies) client(r *http.Request) (client netip.Addr, named bool) {
	peer, ok := clientnet.Addr(r.RemoteAddr)
	if !ok || !p.trusts(peer) {
		return peer, false
	}

	client = peer
	for chain := strings.Join(r.Header.Values(p.source), ","); ; {
		var last string
		chain, last = cutLast(chain)

		hop, ok := p.parseHop(last)
		if !ok {
			return client, named
		}
		client, named = hop, true

		if !p.trusts(hop) || chain == "" {
			return client, named
		}
	}
}

// cutLast returns what is before the last comma, and what is behind it.
func cutLast(list string) (rest, last string) {
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		return list[:i], list[i+1:]
	}

	return "", list
}

// parseHop returns the address of an element of the header. It reports false for an element that names none, such as
// "unknown".
func (p *Proxies) parseHop(element string) (netip.Addr, bool) {
	if p.source == xForwardedFor {
		return clientnet.Addr(strings.TrimSpace(element))
	}

	for pair := range strings.SplitSeq(element, ";") {
		name, value, _ := strings.Cut(pair, "=")
		if strings.EqualFold(strings.TrimSpace(name), "for") {
			return clientnet.Addr(strings.Trim(strings.TrimSpace(value), `"`))
		}
	}

	return netip.Addr{}, false
}
