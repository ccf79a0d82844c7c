// Package shipping books shipments with a [Carrier], once per order and payment.
//
// # Model
//
// [Booker.Book] books with the carrier under the key orderId/incarnation/transitionId/shipping, and stores the
// tracking number as the result of a claim of that key. The reaction to PAYMENT_RECEIVED calls it, and
// every later call gets the same tracking number; callers at the same moment may all ask the carrier, which
// honors the key. Below this package are the reports of carriers (reports) and three carriers: sandbox
// for demonstrations and tests, httpcarrier behind a URL, sfncarrier behind a state machine.
//
// [Booker.Cancel] closes that claim before it asks the carrier, so that a later booking is not even
// sent.
//
// # Guarantees
//
// A carrier that acts once per key books once. After Cancel has returned, no parcel leaves
// under the key unless Cancel said that it had left before. A request of a worker that was
// suspended while it booked may still reach the carrier later; refusing it is the carrier's
// part of the contract.
package shipping
