package activities

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestAWishToWaitBecomesTheSmallestClassThatIsLongEnough(t *testing.T) {
	down := errors.New("carrier is down")

	for _, row := range []struct {
		err         error
		name, cause string
	}{
		{err: RetryAfter(0, down), name: "Order.RetryAfter10s", cause: "carrier is down"},
		{err: RetryAfter(10*time.Second, down), name: "Order.RetryAfter10s", cause: "carrier is down"},
		{err: RetryAfter(10*time.Second+1, down), name: "Order.RetryAfter1m", cause: "carrier is down"},
		{err: RetryAfter(5*time.Minute, down), name: "Order.RetryAfter10m", cause: "carrier is down"},
		{err: RetryAfter(time.Hour, down), name: "Order.RetryAfter1h", cause: "carrier is down"},
		{err: RetryAfter(24*time.Hour, nil), name: "Order.RetryAfter1h", cause: ""},
		{err: fmt.Errorf("book: %w", RetryAfter(0, down)), name: "Order.RetryAfter10s", cause: "carrier is down"},
		// The outermost error decides.
		{err: RetryAfter(0, Fail("Order.Down", down)), name: "Order.RetryAfter10s", cause: "Order.Down: carrier is down"},
		{err: Fail("Order.Down", RetryAfter(0, down)), name: "Order.Down", cause: "RetryAfter10s: carrier is down"},
	} {
		if name, cause := nameOf("Order.", row.err); name != row.name || cause != row.cause {
			t.Errorf("%v is reported as %s: %s, want %s: %s", row.err, name, cause, row.name, row.cause)
		}
	}

	if !errors.Is(RetryAfter(0, down), down) {
		t.Error("RetryAfter hides its error")
	}
}

func TestRetryClassesAreInTheirOrderAndCannotBeChanged(t *testing.T) {
	RetryClasses()[0].Name = "changed"
	last := time.Duration(0)

	for _, c := range RetryClasses() {
		if c.Wait <= last || c.Name == "changed" {
			t.Errorf("%+v follows a wait of %v", c, last)
		}
		last = c.Wait
	}
}
