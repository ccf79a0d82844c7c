package webhooks_test

import (
	"errors"
	"net"
	"testing"

	"ratchet/notify/webhooks"
)

// TestTheDialerRefusesEveryBlockedAddress asks the check that the dialer makes of the address
// that it is about to connect to, whatever the name was. Nothing is dialed.
func TestTheDialerRefusesEveryBlockedAddress(t *testing.T) {
	for _, text := range blocked {
		for _, network := range []string{"tcp4", "tcp6"} {
			if err := webhooks.ReachPublic.Control(network, net.JoinHostPort(text, "443")); !errors.Is(err, webhooks.ErrBlocked) {
				t.Errorf("%s %s: %v", network, text, err)
			}
		}
	}

	for _, text := range public {
		if err := webhooks.ReachPublic.Control("tcp4", net.JoinHostPort(text, "443")); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}

	for _, address := range []string{"", "8.8.8.8", "example.com:443", "8.8.8.8:443x"} {
		if err := webhooks.ReachPublic.Control("tcp4", address); !errors.Is(err, webhooks.ErrBlocked) {
			t.Errorf("%q: %v", address, err)
		}
	}

	if err := webhooks.ReachPublic.Control("udp4", "8.8.8.8:443"); !errors.Is(err, webhooks.ErrBlocked) {
		t.Errorf("udp: %v", err)
	}
}
