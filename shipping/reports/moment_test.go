package reports_test

import (
	"strings"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/workflow"
)

// TestAParcelEndsWhileAnotherLeavesAndEnds: the report about the first one has read the order when the second one leaves
// and is delivered. Each of the two deliveries may be the one that sees both.
func TestAParcelEndsWhileAnotherLeavesAndEnds(t *testing.T) {
	o := newOffice(t, nil)
	o.order("o-1", workflow.Pay)
	o.receive(parcel("o-1", "a", shipping.Shipped, 2), reports.Applied)

	o.wire.Before(func(c *embeddedtest.Call) error {
		if !c.Is("UpdateItem") || !strings.Contains(string(c.Body()), `"SS":["a"]`) {
			return nil
		}
		o.wire.Clear()
		o.receive(parcel("o-1", "b", shipping.Shipped, 1), reports.Applied)
		o.receive(parcel("o-1", "b", shipping.Delivered, 0), reports.Applied)

		if got := o.state("o-1"); got != workflow.Shipped {
			t.Errorf("with one of two parcels delivered the order is %s", got)
		}

		return nil
	})
	o.receive(parcel("o-1", "a", shipping.Delivered, 0), reports.Applied)

	if got := o.state("o-1"); got != workflow.Delivered {
		t.Errorf("the order is %s", got)
	}
}
