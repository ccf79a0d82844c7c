// Package shipping books shipments with a [Carrier], once per order and payment.
//
// # Model
//
// [Booker.Book] books with the carrier under the key orderId/transitionId/shipping, and stores the
// tracking number as the result of a claim of that key. The reaction to PAYMENT_RECEIVED calls it.
// Every later call gets the same tracking number. Callers at the same moment may all ask the carrier,
// which books once per key.
//
// [Booker.Cancel] closes the claim before it asks the carrier, so that a later Book does not ask the
// carrier at all.
//
// The folder reports has the package that handles reports of carriers. Three folders have carriers:
// sandbox for demonstrations and tests, httpcarrier behind a URL, sfncarrier behind a state machine.
//
// # Guarantees
//
// If the carrier acts once per key, a shipment is booked once. After Cancel has returned, no parcel
// leaves under the key, unless Cancel reported that the parcel had left before. If a worker is
// suspended while it books, its request may reach the carrier after the cancellation. The carrier must
// refuse it, because Cancel closes the key.
package shipping
