// Package httpcarrier is a shipping.Carrier that is reached over HTTP. openapi.yaml, which
// [OpenAPI] returns, describes the calls that the carrier has to serve; shipping/sandbox has a server
// for them, and examples/carrier runs that server as a program. Put such a server in front of a real
// carrier's own API.
//
// # Calls
//
//	PUT  /shipments/{id}         book: once per id
//	POST /shipments/{id}/cancel  cancel unless it has left, and close the id
//	GET  /shipments/{id}         ask: the carrier is a shipping.Asker
//
// The id is the effect key, orderId/incarnation/transitionId/shipping, with "~" instead of "/". Each call has
// a bearer token, if one is configured, and the effect key as Idempotency-Key. A repeat has the
// same id, so the carrier acts once per id.
//
// # Errors
//
// Time-outs, broken connections, 408, 425, 429 and 5xx may pass: the call is to be repeated, not
// before the Retry-After of the answer. 409 with the code shipment_canceled is
// shipping.ErrCanceled, and 404 to a question shipping.ErrUnknownShipment. Every other answer is
// shipping.ErrRefused: no repeat can change it, so a person has to look. A redirect is not
// followed.
package httpcarrier
