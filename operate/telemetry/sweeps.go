package telemetry

var sweepMetrics = []Metric{
	{"ratchet_sweeps_total", Counter, []string{"sweep", "result"}, "Sweeps of what is due; sweep is reservations, payments or reports; result is ok or error"},
	{"ratchet_reservations_expired_total", Counter, nil, "Reservations of stock that were due when a sweep looked"},
}

type sweepInstruments struct{ swept, expired counter }

func newSweepInstruments(m *meter) sweepInstruments {
	in := sweepInstruments{
		swept:   m.counter(sweepMetrics, "ratchet_sweeps_total"),
		expired: m.counter(sweepMetrics, "ratchet_reservations_expired_total"),
	}
	in.expired.zero()

	for _, sweep := range []string{"reservations", "payments", "reports"} {
		in.swept.zeroFor(sweep, "ok", "error")
	}

	return in
}

// Swept counts a sweep.
func (t *Telemetry) Swept(sweep string, err error) { t.sweeps.swept.inc(sweep, outcome(err)) }

// ReservationsSwept counts a sweep of reservations. It is a hook of [inventory.Events].
func (t *Telemetry) ReservationsSwept(count int, err error) {
	// Reservations that a sweep expired before its error count, too.
	t.Swept("reservations", err)
	t.sweeps.expired.plus(float64(count))
}
