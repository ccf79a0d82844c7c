package server

import (
	"net"
	"net/netip"
	"testing"
)

// TestWebhooksDoNotReachOwnListeners: whatever name leads there, once the API has authenticated callers.
func TestWebhooksDoNotReachOwnListeners(t *testing.T) {
	var o ownListeners
	o.add(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8700})
	o.add(&net.TCPAddr{IP: net.IPv6unspecified, Port: 8701})
	o.add(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 8702})

	own := []string{"127.0.0.1:8700", "127.0.0.2:8700", "[::1]:8700", "[::ffff:127.0.0.1]:8700", "127.0.0.1:8701", "[::1]:8701", "10.0.0.5:8702"}
	others := []string{"127.0.0.1:9000", "10.0.0.6:8702", "192.0.2.1:8701", "10.0.0.5:443"}

	for _, strangers := range []bool{false, true} {
		o.serveStrangers(strangers)

		for _, to := range own {
			if err := o.check(netip.MustParseAddrPort(to)); (err != nil) != strangers {
				t.Errorf("with authenticated callers %t: %s: %v", strangers, to, err)
			}
		}

		for _, to := range others {
			if err := o.check(netip.MustParseAddrPort(to)); err != nil {
				t.Errorf("with authenticated callers %t: %s: %v", strangers, to, err)
			}
		}
	}

	if o.isDev() {
		t.Error("answers are shown to tenants")
	}
}
