// Package payments takes and returns money through a [Gateway], with one key per
// payment, so that a retry never charges or refunds twice.
//
// # Model
//
// A payment is known to the gateway by its key. Charging under a key again returns
// the first charge; voiding a key undoes whatever was charged under it and refuses
// every later charge, so it is safe to void a payment of which nobody knows whether
// it was made. [Sandbox] is a gateway for demos and tests: it decides by the order's
// id, times out on purpose, and keeps its charges in a DynamoDB table.
//
// # Guarantees
//
// Those of the gateway: one charge per key. A time-out leaves the charge unknown;
// asking again under the same key settles it.
package payments
