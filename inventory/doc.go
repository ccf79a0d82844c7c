// Package inventory keeps stock: what is available, and what is reserved for which
// order.
//
// # Model
//
// A SKU is one item with three counters: available, reserved, committed. A reservation
// is one item per order (under "order#<orderId>") with its lines and its status:
// RESERVED, then COMMITTED, RELEASED or EXPIRED. Each step is ONE TransactWriteItems of
// the reservation and the counters; the reservation's condition makes a repeat
// harmless, the counters' conditions make overselling impossible. A reservation may
// have an end ([Stock.ReserveUntil]); [Stock.ExpireDue] finds those that have passed
// theirs in a table that is ordered by time, without looking at any other.
//
// # Guarantees
//
// For each SKU available + reserved + committed stays what was put in. Reserving,
// committing and releasing are idempotent per order; released before reserved leaves a
// tombstone, so that a late reservation is refused. An expired reservation cannot be
// committed, swept or not, and its pieces come back once, however many sweepers,
// releases and commits race.
//
//	err := stock.ReserveUntil(ctx, "o-1", lines, time.Now().Add(15*time.Minute))
//	...
//	if err := stock.Commit(ctx, "o-1"); errors.Is(err, inventory.ErrExpired) {
//		// the customer took too long: reserve again, or apologise
//	}
//
// # What it costs
//
// With n SKUs of up to 1 KB each: reserving 2+2n write units, 2 more with an end;
// committing and releasing one read unit and 2+2n write units. Refusals cost the same.
// Sweeping is at [Stock.ExpireDue]. An order's reservation is kept for good.
//
// # Caveats
//
// A reservation takes at most [MaxLines] lines. Orders that share a SKU conflict when
// they write at the same moment; the losers try again, which bounds how many orders a
// second one SKU can take.
package inventory
