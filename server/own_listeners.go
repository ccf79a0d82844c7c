package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// errOwnListener refuses a webhook to a listener of the process itself.
var errOwnListener = errors.New("webhooks may not go to a listener of this process")

// ownListeners are the addresses on which a process listens. Where tenants choose the destinations of webhooks, no
// webhook may go there: the engine and the admin listener take this process for their owner.
type ownListeners struct {
	mu        sync.Mutex
	addresses []netip.AddrPort
	// strangers says that tenants choose destinations, dev that the only caller owns the machine.
	strangers, dev bool
}

// add notes an address. Addresses that are no longer listened on stay.
func (o *ownListeners) add(address net.Addr) {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return
	}

	o.mu.Lock()
	defer o.mu.Unlock()

	o.addresses = append(o.addresses, netip.AddrPortFrom(tcp.AddrPort().Addr().Unmap(), tcp.AddrPort().Port()))
}

// serveStrangers notes whether the API has authenticated callers.
func (o *ownListeners) serveStrangers(strangers bool) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.strangers, o.dev = o.strangers || strangers, !strangers
}

// isDev reports whether the API serves everybody on this machine, and no one else.
func (o *ownListeners) isDev() bool {
	o.mu.Lock()
	defer o.mu.Unlock()

	return o.dev && !o.strangers
}

// check returns an error if tenants choose destinations, and the address leads to one of the listeners. It gets the
// address that a name has resolved to.
func (o *ownListeners) check(to netip.AddrPort) error {
	o.mu.Lock()
	defer o.mu.Unlock()

	ip := to.Addr().Unmap().WithZone("")

	isOwn := func(own netip.AddrPort) bool {
		if own.Port() != to.Port() {
			return false
		}

		return own.Addr().WithZone("") == ip || own.Addr().IsLoopback() && ip.IsLoopback() || own.Addr().IsUnspecified() && isOfThisMachine(ip)
	}

	if !o.strangers || !slices.ContainsFunc(o.addresses, isOwn) {
		return nil
	}

	return fmt.Errorf("%w: %s", errOwnListener, to)
}

// isOfThisMachine reports whether the address is one of this machine. If the machine does not tell its addresses, every
// address counts.
func isOfThisMachine(ip netip.Addr) bool {
	if ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}

	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}

	return slices.ContainsFunc(addresses, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr().Unmap() == ip
	})
}
