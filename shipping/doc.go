// Package shipping books shipments with a [Carrier], once per order and payment.
//
// # Model
//
// [Desk.Book] claims the effect orderId/transitionId/shipping, books with the
// carrier under that very key, and stores the tracking number as the claim's
// result. Whoever asks, the reaction to PAYMENT_RECEIVED or the execution's own
// step, gets the same tracking number. [Sandbox] is a carrier for demos and tests:
// it keeps bookings in a DynamoDB table and reports each one shipped and delivered
// a little later, as a real carrier would by callback.
//
// # Guarantees
//
// One booking per key at a carrier that honours keys. A cancelled key is never
// booked afterwards, however late the request arrives.
package shipping
