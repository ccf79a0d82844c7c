package lists

import (
	"context"

	"ratchet/once/txn"
	"ratchet/transitions"
)

// Erase takes an order out of the lists of its customer and of its reference, in one transaction with
// the part that erases the person from the order itself. From then on the lists show the order's newest
// transition, so that a late record does not list the order for its customer again, and [Lists.Unerased]
// leaves the order out. The order is as it was read; an error of the part is returned in a [*txn.CanceledError].
func (l *Lists) Erase(ctx context.Context, o *transitions.Order, erase func(*txn.Transaction)) error {
	return l.race(ctx, o.ID, func(shown head) error {
		next := headOf(o)
		gone := next.rows()
		next.customer, next.reference = "", ""

		return l.write(ctx, change{id: o.ID, shown: shown, next: next, erased: true, drop: gone, with: erase})
	})
}
