package sandbox

import (
	"context"
	"strconv"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/shipping"
)

// drawn returns a key for which the draw of the purpose is n.
func drawn(purpose string, n int) string {
	for i := 0; ; i++ {
		if key := strconv.Itoa(i); draw(purpose, key) == n {
			return key
		}
	}
}

// TestAShareOfNoneIsNone, and one of all is all: the lowest draw has no fault at 0 percent, the highest one
// has it at 100. In between the share begins with the lowest draw.
func TestAShareOfNoneIsNone(t *testing.T) {
	db := embeddedtest.DynamoDB(t, Table("carrier"))
	delivered := 0
	carrier := func(percent int) *Carrier {
		delivered = 0

		return &Carrier{cfg: Config{
			DynamoDB: db, Table: "carrier", Delay: time.Minute,
			Faults: Faults{DuplicatePercent: percent, EarlyPercent: percent, LatePercent: percent, LostPercent: percent, ReturnedPercent: percent},
			Deliver: func(context.Context, shipping.Report) (shipping.Answer, error) {
				delivered++
				return shipping.Accepted, nil
			},
		}}
	}

	for purpose, has := range map[string]func(c *Carrier, key string) bool{
		"duplicate": func(c *Carrier, key string) bool {
			if err := c.deliver(t.Context(), c.reportItem(time.Now(), key, "o-1", shipping.Lost)); err != nil {
				t.Fatal(err)
			}

			return delivered == 2
		},
		"early": func(c *Carrier, key string) bool {
			c.deliverEarly(t.Context(), shipping.Report{Shipment: key, Milestone: shipping.Shipped})
			return delivered == 1
		},
		"late":     func(c *Carrier, key string) bool { return c.lateness(key) > 0 },
		"lost":     func(c *Carrier, key string) bool { return c.next(key, shipping.Shipped) == shipping.Lost },
		"returned": func(c *Carrier, key string) bool { return c.next(key, shipping.Delivered) == shipping.Returned },
	} {
		for _, row := range []struct {
			percent, draw int
			want          bool
		}{{0, 0, false}, {1, 0, true}, {1, 1, false}, {99, 98, true}, {99, 99, false}, {100, 99, true}} {
			if got := has(carrier(row.percent), drawn(purpose, row.draw)); got != row.want {
				t.Errorf("%s: draw %d at %d percent: %t", purpose, row.draw, row.percent, got)
			}
		}
	}
}

// TestEveryDrawComes, with nearly its share of the keys.
func TestEveryDrawComes(t *testing.T) {
	var count [100]int
	for i := range 100_000 {
		count[draw("late", "o-"+strconv.Itoa(i)+"/2/shipping")]++
	}

	for n, found := range count {
		if found < 500 || found > 2000 {
			t.Errorf("draw %d comes %d times of 100,000", n, found)
		}
	}
}
