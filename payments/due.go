package payments

import (
	"fmt"
	"strings"
	"time"

	"ratchet/internal/due"
	"ratchet/once/txn"
)

// The due table has a row for each pending step, from which on it is stale, and a row for each
// payment that expires. The transaction that writes the step or payment also adds or deletes the row,
// so Recover needs no scan of the payments.
const (
	dueSteps  = "steps"
	dueExpiry = "expiry"
)

// dueKinds are the kinds of rows in the order of Recover.
var dueKinds = []string{dueSteps, dueExpiry}

func stepRow(p Payment, step *Step) due.Row {
	return due.Row{Kind: dueSteps, At: step.At.Add(staleAfter), Subject: p.ID, Detail: step.ID}
}

func expiryRow(p Payment) due.Row { return due.Row{Kind: dueExpiry, At: p.ExpiresAt, Subject: p.ID} }

// addDueRows adds and deletes the rows that the next record of the payment requires.
func (s *Payments) addDueRows(next Payment, t *txn.Transaction) {
	if step := next.Pending; step != nil {
		t.Add("due", s.due.PutPart(stepRow(next, step)), nil)
	}

	if step := next.ended; step != nil {
		t.Add("due", s.due.DeletePart(stepRow(next, step)), nil)
	}

	switch {
	case next.ExpiresAt.IsZero():
		// A payment that never expires has no row.
	case next.Revision == 1:
		t.Add("due", s.due.PutPart(expiryRow(next)), nil)
		// Nothing is held any more and no step is pending, so there is nothing left to release.
	case next.Pending == nil && next.Capturable == 0:
		t.Add("due", s.due.DeletePart(expiryRow(next)), nil)
	}
}

// The waits after which a payment that could not be finished is tried again.
const (
	firstRecovery = 15 * time.Second
	lastRecovery  = 5 * time.Minute
)

// duePlace is a place in the table: a kind, and the last row of it that was handled.
type duePlace struct {
	kind int
	row  string
}

func (p duePlace) String() string { return dueKinds[p.kind] + "|" + p.row }

// parseDuePlace reads the text of String. An empty text means the beginning.
func parseDuePlace(text string) (p duePlace, err error) {
	if text == "" {
		return p, nil
	}

	kind, row, found := strings.Cut(text, "|")
	for n, name := range dueKinds {
		if name == kind && found && due.IsNext(row) {
			return duePlace{kind: n, row: row}, nil
		}
	}

	return p, fmt.Errorf("%w: after: what the call before returned", ErrInvalid)
}
