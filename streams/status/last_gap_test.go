package status_test

import (
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/streams/leases"
	"ratchet/streams/status"
)

// Before the first worker, the stream's ARN is not known, and no gap was noticed.
func TestThereIsNoGapBeforeTheFirstWorker(t *testing.T) {
	for _, group := range []string{"", "blue"} {
		i := status.Inspector{DynamoDB: embeddedtest.DynamoDB(t, leases.TableInput("leases")), LeaseTable: "leases", TableName: "orders", Group: group}

		if last, err := i.LastGap(t.Context()); err != nil || !last.IsZero() {
			t.Errorf("group %q: %v, %v", group, last, err)
		}
	}
}
