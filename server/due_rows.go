package server

import (
	"context"
	"fmt"

	"ratchet/internal/plural"
	"ratchet/operate/doctor"
	"ratchet/transitions/timers"
)

// DueRows is what [Backend.RebuildDueRows] has found.
type DueRows struct {
	timers.Rebuilt

	// Scheduled is how many requests for later wait.
	Scheduled int `json:"scheduled"`
}

// RebuildDueRows writes the due row of every request for later that waits, and of every order that time moves. It may run beside
// workers, be stopped, and be repeated. Each function, when set, is called with how many requests or orders were read so far.
func (b *Backend) RebuildDueRows(ctx context.Context, requests, orders func(read int)) (found DueRows, err error) {
	found.Scheduled, err = b.Scheduled.Rebuild(ctx, requests)
	if err != nil || !b.Orders.HasTimers() {
		return found, err
	}

	found.Rebuilt, err = b.Timers.Rebuild(ctx, func(r timers.Rebuilt) {
		if orders != nil {
			orders(r.Orders)
		}
	})

	return found, err
}

// mostRequestsExamined is for about how many requests for later the doctor looks for a due row. Rows are lost with their table, and
// then all are.
const mostRequestsExamined = 1000

// checkScheduled checks whether requests for later that wait have their due rows.
func (b *Backend) checkScheduled(ctx context.Context) doctor.Check {
	const subject = "requests for later"

	found, err := b.Scheduled.Lacking(ctx, mostRequestsExamined)
	switch {
	case err != nil:
		return doctor.NewUnchecked(subject, err.Error(), "fix the tables first")
	case found.Rowless > 0:
		return doctor.NewWarning(subject, fmt.Sprintf("%d of %s that wait have no due row: nothing applies them", found.Rowless, plural.Of(found.Waiting, "request")),
			"`ratchet orders rebuild-timers`")
	}

	return doctor.NewOK(subject, "")
}
