// Package inventory keeps stock: the available pieces, and the pieces that are reserved for
// orders.
//
// # Model
//
// A SKU is one item with three counters: available, reserved, committed. A reservation
// is one item per order (under "order#" and its name) with its lines and its status:
// RESERVED, then COMMITTED, RELEASED or EXPIRED. Each step is ONE TransactWriteItems of
// the reservation and the counters. The reservation's condition makes a repeat harmless,
// and the counters' conditions make overselling impossible. A reservation may expire
// ([Stock.ReserveUntil]). Its end moves only forward: to a later time, or to none.
// [Stock.ExpireDue] finds the expired ones in a table that is ordered by time, and reads
// no others.
//
// # Guarantees
//
// For each SKU the sum of available, reserved and committed pieces changes only by [Stock.Set].
// Reserving, committing and releasing are idempotent per order. A release that arrives
// before its reservation leaves a tombstone, and the late reservation is refused. An
// expired reservation cannot be committed, whether it has been swept or not: each attempt of the
// write compares the end with the time of DynamoDB. Its pieces return once, however many sweeps, releases and commits race.
//
//	err := stock.ReserveUntil(ctx, "o-1", lines, time.Now().Add(15*time.Minute))
//	...
//	if err := stock.Commit(ctx, "o-1"); errors.Is(err, inventory.ErrExpired) {
//		// the customer took too long: reserve again, or apologize
//	}
//
// # Costs
//
// With n SKUs of up to 1 KB each, reserving takes 2+2n write units, and 2 more with an
// end. Committing and releasing take one read unit and 2+2n write units. Refused calls
// cost the same. For the cost of a sweep see [Stock.ExpireDue]. An order's reservation is
// never deleted.
//
// # Caveats
//
// A reservation has at most maxLines lines. Orders that write the same SKU at the same
// moment conflict and are retried. That limits how many orders per second one SKU can
// take.
package inventory
