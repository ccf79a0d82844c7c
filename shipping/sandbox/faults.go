package sandbox

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"ratchet/internal/worker"
	"ratchet/shipping"
)

// Faults are the faults of a carrier. The shipment's key alone decides whether a shipment belongs to a
// share, so every run and every process decides the same. The zero value is a carrier without faults.
type Faults struct {
	// Down is how long the carrier is down after [New]: Book, Cancel and Get return ErrUnavailable, and
	// no report is made.
	Down time.Duration
	// Latency is how long Book, Cancel and Get wait before they act.
	Latency time.Duration
	// DuplicatePercent is the share of the shipments whose reports are made twice, 0 to 100.
	DuplicatePercent int
	// EarlyPercent is the share of the shipments whose second report is also made once before the first
	// one, 0 to 100. The carrier ignores the shop's answer to this early report.
	EarlyPercent int
	// LatePercent is the share of the shipments whose reports after the first one come after ten times
	// Config.Delay, 0 to 100.
	LatePercent int
	// LostPercent is the share of the shipments whose parcel is lost after it left, 0 to 100. Such a
	// parcel is reported as Lost and not as Delivered.
	LostPercent int
	// ReturnedPercent is the share of the shipments whose parcel comes back after the
	// delivery, 0 to 100.
	ReturnedPercent int
}

func (f Faults) check() (faults []error) {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"Down", f.Down}, {"Latency", f.Latency}} {
		if d.value < 0 {
			faults = append(faults, fmt.Errorf("sandbox: Config.Faults.%s %v: must not be negative", d.name, d.value))
		}
	}

	for _, p := range []struct {
		name  string
		value int
	}{{"DuplicatePercent", f.DuplicatePercent}, {"EarlyPercent", f.EarlyPercent}, {"LatePercent", f.LatePercent}, {"LostPercent", f.LostPercent}, {"ReturnedPercent", f.ReturnedPercent}} {
		if p.value < 0 || p.value > 100 {
			faults = append(faults, fmt.Errorf("sandbox: Config.Faults.%s %d: 0 to 100", p.name, p.value))
		}
	}

	return faults
}

// down reports whether the carrier is down now.
func (c *Carrier) down() bool { return c.cfg.Now().Sub(c.opened) < c.cfg.Faults.Down }

// misbehave fails or delays a call, as the configuration says.
func (c *Carrier) misbehave(ctx context.Context) error {
	if c.down() {
		return ErrUnavailable
	}

	if c.cfg.Faults.Latency > 0 && !worker.Wait(ctx, c.cfg.Faults.Latency) {
		return context.Cause(ctx)
	}

	return nil
}

// draw returns a number from 0 to 99 that depends on the purpose and the key only.
func draw(purpose, key string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(purpose + "/" + key)) // a hash does not fail

	// A hash and not a random number: a repeat, also in another process, must draw the same number.
	return int(h.Sum32() / 7 % 100)
}

// lateBy is how many times Config.Delay a late report waits in addition to the first one.
const lateBy = 9

// lateness returns how long the reports after a shipment's first one wait in addition to Config.Delay.
func (c *Carrier) lateness(key string) time.Duration {
	if draw("late", key) < c.cfg.Faults.LatePercent {
		return lateBy * c.cfg.Delay
	}

	return 0
}

// deliverEarly makes the report of the next milestone too early, if the shipment belongs to
// EarlyPercent. The report is made again at its time, so the answer to the early one is ignored.
func (c *Carrier) deliverEarly(ctx context.Context, r shipping.Report) {
	next := c.next(r.Shipment, r.Milestone)
	if r.Milestone != shipping.Shipped || draw("early", r.Shipment) >= c.cfg.Faults.EarlyPercent {
		return
	}

	// The id of the report that is made at its time: to the shop both must be one report and its repeat.
	r.ID, r.Milestone = reportID(r.Shipment, next), next
	if _, err := c.cfg.Deliver(ctx, r); err != nil {
		c.cfg.Log.DebugContext(ctx, "sandbox carrier's early report", "order", r.OrderID, "error", err)
	}
}

// next returns the milestone after m for the shipment, "" if m is the last.
func (c *Carrier) next(key string, m shipping.Milestone) shipping.Milestone {
	switch {
	case m == shipping.Shipped && draw("lost", key) < c.cfg.Faults.LostPercent:
		return shipping.Lost
	case m == shipping.Shipped:
		return shipping.Delivered
	case m == shipping.Delivered && draw("returned", key) < c.cfg.Faults.ReturnedPercent:
		return shipping.Returned
	}

	return ""
}
