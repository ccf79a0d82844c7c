package webhooks

import (
	"context"
	"time"
)

// SetClock makes the keys' clock stand.
func (k *Keys) SetClock(now time.Time) { k.now = func() time.Time { return now } }

// Control asks the check of a client's dialer about an address, before anything is dialed.
func (r Reach) Control(network, address string) error {
	return r.dialer(nil).ControlContext(context.Background(), network, address, nil)
}
