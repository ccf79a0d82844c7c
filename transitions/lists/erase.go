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
	placed := placeAt(o.ID, o.CreatedAt)

	var gone []row
	if o.Customer != "" {
		gone = append(gone, row{customerList(ownerOf(o.ID), o.Customer), placed})
	}

	if o.Reference != "" {
		gone = append(gone, row{referenceList(ownerOf(o.ID), o.Reference), placed})
	}

	return l.race(ctx, o.ID, func(shown head) error {
		next := headOf(o)
		next.erased = true

		// The shown row is dropped as well, in case the records of the last transitions are still to come.
		return l.replace(ctx, o.ID, shown, next, []row{next.row, {timeList(o.ID), placed}}, append(gone, shown.rows()...), erase)
	})
}
