package sandbox

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"ratchet/internal/worker"
	"ratchet/shipping"
)

// Faults are what a carrier does badly. Shares are decided by the shipment's key, so a
// shipment always has the same fate. The zero value is a carrier without faults.
type Faults struct {
	// Down is how long the carrier is down, from [New] on: Book and Cancel return
	// ErrUnavailable, and no report is made.
	Down time.Duration
	// Latency is how long Book and Cancel take.
	Latency time.Duration
	// DuplicatePercent is the share of the shipments whose reports are made twice, 0 to 100.
	DuplicatePercent int
	// LostPercent is the share of the shipments whose parcel is lost after it left, 0 to
	// 100. They are reported as Lost, not as Delivered.
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
	}{{"DuplicatePercent", f.DuplicatePercent}, {"LostPercent", f.LostPercent}, {"ReturnedPercent", f.ReturnedPercent}} {
		if p.value < 0 || p.value > 100 {
			faults = append(faults, fmt.Errorf("sandbox: Config.Faults.%s %d: 0 to 100", p.name, p.value))
		}
	}

	return faults
}

// down reports whether the carrier is down now.
func (c *Carrier) down() bool { return time.Since(c.opened) < c.cfg.Faults.Down }

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

	return int(h.Sum32() / 7 % 100)
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
