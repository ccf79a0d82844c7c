package ratchettest

import (
	"fmt"
	"strings"

	"ratchet/transitions"
	"ratchet/workflow"
)

// Journal returns the order's rows in the journal, oldest first. The rows of the newest transitions may
// not be written yet.
func (e *Env) Journal(id transitions.OrderID) []transitions.Transition {
	e.t.Helper()

	rows, err := e.Backend.Orders.History(e.t.Context(), id, 0, 0)
	if err != nil {
		e.t.Fatalf("read the journal of order %s: %v", id, err)
	}

	return rows
}

// WantJournal waits until the order's journal has exactly one row for each state, in this order. The
// first row is the placing of the order, and each later row begins in the state in which the row before
// ended. WantJournal fails at once if a row differs or if there are too many rows.
func (e *Env) WantJournal(id transitions.OrderID, states ...workflow.State) {
	e.t.Helper()

	e.Wait(fmt.Sprintf("the journal of order %s to be %s", id, list(states)), func() (bool, string, error) {
		rows := e.Journal(id)

		seen := make([]workflow.State, len(rows))
		for i, row := range rows {
			seen[i] = row.To
		}

		var before workflow.State
		for i, row := range rows {
			if i >= len(states) || row.To != states[i] || row.From != before || row.ID != transitions.TransitionID(i+1) {
				return false, "", fmt.Errorf("row %d is transition %d from %q to %s; the journal is %s", i+1, row.ID, row.From, row.To, list(seen))
			}
			before = row.To
		}

		return len(rows) == len(states), list(seen), nil
	})
}

func list[T ~string](values []T) string {
	if len(values) == 0 {
		return "empty"
	}

	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}

	return strings.Join(texts, ", ")
}
