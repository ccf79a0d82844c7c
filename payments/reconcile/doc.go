// Package reconcile compares what a payment processor says it has done with what the
// payments and the ledger say, and lists every difference with its reason.
//
// # Model
//
// Three lists are read once each: the processor's file, the steps of the payments, and
// the ledger's transfers that payments made. Each line goes into one of many small
// files by the hash of its key; then the small files are joined, one after the other, in
// memory. So memory is bounded by the largest small file, whatever the size of the
// lists.
//
// The processor's file is CSV (RFC 4180, one record per line) with a header. Columns,
// in any order; others are passed over:
//
//	key       what the step was asked for under: paymentId/stepId
//	kind      capture, refund or chargeback
//	amount    in minor units of the currency: a whole number above 0
//	currency  three capitals of ISO 4217
//	state     succeeded, failed or pending
//
// # Guarantees
//
// Every key that the lists do not agree about is reported, once for each reason, in an
// order that depends on the keys only. A line that cannot be read is reported by its
// number and the rest goes on. Nothing is written but temporary files, which are
// removed.
//
// # Caveats
//
// The lists are not read at one moment: steps that end meanwhile may look missing. Until
// leaves younger steps out.
package reconcile
