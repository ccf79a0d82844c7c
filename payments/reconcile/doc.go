// Package reconcile compares a payment processor's own list of its operations with the payments and
// the ledger. It reports every difference with its reason.
//
// # Model
//
// Run reads three lists once each: the processor's file, the steps of the payments, and
// the transfers that payments made in the ledger. It writes each record to one of many
// partitions, which are temporary files, by the hash of its key. Then it joins the
// partitions in memory, one after the other. So it needs memory for the largest partition only.
//
// The processor's file is CSV (RFC 4180, one record per line) with a header. It has these
// columns in any order; other columns are ignored:
//
//	key       the key of the step's request: paymentId/stepId
//	kind      charge, capture, refund or chargeback
//	amount    in minor units of the currency: a whole number above 0
//	currency  three capitals (ISO 4217)
//	state     succeeded, failed or pending
//
// # Guarantees
//
// Every key on which the lists disagree is reported, once for each reason, in an order that
// depends on the keys and on the number of partitions. A line that cannot be read is
// reported by its number and skipped. Run writes temporary files only, and removes them.
//
// # Caveats
//
// The lists are not read at one moment, so a step that ends during the run may look missing.
// Config.Until prevents this: a step or transfer of that time or later is not reported as missing in
// another list. If the file has its key, the kind, amount, currency and state are compared; a state
// is not if one of the two is pending.
package reconcile
