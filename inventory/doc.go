// Package inventory keeps stock: what is available, and what is reserved for which
// order.
//
// # Model
//
// A SKU is one item with two counters, available and reserved. A reservation is one
// item per order (under "order#<orderId>") with its lines and its status: RESERVED,
// then COMMITTED or RELEASED. Each step is ONE TransactWriteItems of the
// reservation and the counters; the reservation's condition makes a repeat harmless,
// the counters' conditions make overselling impossible.
//
// # Guarantees
//
// For each SKU available + reserved + committed stays what was put in. Reserving,
// committing and releasing are idempotent per order; released before reserved
// leaves a tombstone, so that a late reservation is refused.
//
// # Caveats
//
// A reservation takes at most [MaxLines] different SKUs, the limit of one
// transaction less the reservation itself.
package inventory
