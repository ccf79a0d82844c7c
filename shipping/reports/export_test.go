package reports

import "time"

// Names for the tests of package reports_test, beside the exported ones.

var ParcelAmount = parcelAmount
var RefundStep = refundStep

// SetClock replaces the clock, before the first report. In a bubble of synctest the engine needs seconds for
// each week of its time.
func (d *Receiver) SetClock(now func() time.Time) { d.now = now }
