package server

import (
	"strings"
	"time"

	"ratchet/shipping/sandbox"
)

// CarrierFaults are the faults of the sandbox carrier, for demonstrations and tests.
type CarrierFaults struct {
	// Down is how long the carrier is down from the start of the process on. Default: 0.
	Down time.Duration `koanf:"carrier-down"`
	// Latency is how long a booking or a cancellation takes. Default: 0.
	Latency time.Duration `koanf:"carrier-latency"`
	// DuplicatePercent is the share of shipments whose reports come twice, EarlyPercent the share
	// whose delivery is reported before the shipment, too, LatePercent the share whose delivery is
	// reported ten times as late, LostPercent the share whose parcel is lost, ReturnedPercent the
	// share whose parcel comes back after the delivery, 0 to 100. Default: 0.
	DuplicatePercent int `koanf:"carrier-duplicate-percent"`
	EarlyPercent     int `koanf:"carrier-early-percent"`
	LatePercent      int `koanf:"carrier-late-percent"`
	LostPercent      int `koanf:"carrier-lost-percent"`
	ReturnedPercent  int `koanf:"carrier-returned-percent"`
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

// executionCarrier begins the value of Config.Carrier for a state machine.
const executionCarrier = "execution:"

func isCarrier(text string) bool {
	arn, execution := strings.CutPrefix(text, executionCarrier)

	return text == Sandbox || isHTTPURL(text) || execution && arn != ""
}
