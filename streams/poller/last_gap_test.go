package poller_test

import (
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/streams/leases"
	"ratchet/streams/retryqueue"
	"ratchet/streams/status"
)

// Before the first worker, the stream's ARN is not known, and no gap was noticed.
func TestThereIsNoGapBeforeTheFirstWorker(t *testing.T) {
	for _, group := range []string{"", "blue"} {
		queue := retryqueue.Queue{DynamoDB: embeddedtest.DynamoDB(t, leases.TableInput("leases")), LeaseTable: "leases", TableName: "orders", Group: group}
		i := status.Inspector{Queue: queue}

		if last, err := i.LastGap(t.Context()); err != nil || !last.IsZero() {
			t.Errorf("group %q: %v, %v", group, last, err)
		}
	}
}
