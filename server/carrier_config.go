package server

import (
	"strings"
	"time"

	"ratchet/shipping/sandbox"
)

// CarrierFaults are the faults of the sandbox carrier, for demonstrations and tests.
type CarrierFaults struct {
	// Down is how long the carrier is down after the start of the process. Default: 0.
	Down time.Duration `koanf:"carrier-down"`
	// Latency is how long a booking, a cancellation or a question takes. Default: 0.
	Latency time.Duration `koanf:"carrier-latency"`
	// DuplicatePercent is the share of shipments whose reports come twice, 0 to 100. Default: 0.
	DuplicatePercent int `koanf:"carrier-duplicate-percent"`
	// EarlyPercent is the share of shipments whose delivery is also reported once too early, before the
	// parcel is reported as shipped, 0 to 100. Default: 0.
	EarlyPercent int `koanf:"carrier-early-percent"`
	// LatePercent is the share of shipments whose delivery is reported after ten times CarrierDelay, 0 to
	// 100. Default: 0.
	LatePercent int `koanf:"carrier-late-percent"`
	// LostPercent is the share of shipments whose parcel is lost, 0 to 100. Default: 0.
	LostPercent int `koanf:"carrier-lost-percent"`
	// ReturnedPercent is the share of shipments whose parcel comes back after the delivery, 0 to 100.
	// Default: 0.
	ReturnedPercent int `koanf:"carrier-returned-percent"`
}

// faults returns the configuration of the sandbox, which checks it.
func (f CarrierFaults) faults() sandbox.Faults {
	return sandbox.Faults{
		Down:             f.Down,
		Latency:          f.Latency,
		DuplicatePercent: f.DuplicatePercent,
		EarlyPercent:     f.EarlyPercent,
		LatePercent:      f.LatePercent,
		LostPercent:      f.LostPercent,
		ReturnedPercent:  f.ReturnedPercent,
	}
}

// executionCarrier begins a value of Config.Carrier that names a state machine.
const executionCarrier = "execution:"

func isCarrier(text string) bool {
	arn, execution := strings.CutPrefix(text, executionCarrier)

	return text == Sandbox || isHTTPURL(text) || execution && arn != ""
}
