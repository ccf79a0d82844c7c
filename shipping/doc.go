// Package shipping books shipments with a [Carrier], once per order and payment.
//
// # Model
//
// [Booker.Book] claims the effect orderId/transitionId/shipping, books with the carrier
// under that key, and stores the tracking number as the result of the claim. The reaction
// to PAYMENT_RECEIVED and the execution's own step both call it, and get the same tracking
// number. shipping/sandbox is a carrier for demos and tests.
//
// # Guarantees
//
// A carrier that acts once per key books once. A canceled key is never booked afterwards,
// however late the request arrives; that, too, is the carrier's part of the contract.
package shipping
