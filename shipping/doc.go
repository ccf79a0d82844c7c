// Package shipping books shipments with a [Carrier], once per order and payment.
//
// # Model
//
// [Booker.Book] claims the effect orderId/transitionId/shipping, books with the carrier
// under that key, and stores the tracking number as the result of the claim. The reaction to
// PAYMENT_RECEIVED calls it, and every repeat gets the same tracking number. shipping/sandbox is a
// carrier for demonstrations and tests.
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
