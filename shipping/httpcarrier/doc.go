// Package httpcarrier is a shipping.Carrier that calls a carrier over HTTP. openapi.yaml, which
// [OpenAPI] returns, describes the calls that the carrier has to serve. To use a real carrier, put a
// server for these calls in front of its API. shipping/sandbox has such a server, and examples/carrier
// runs it as a program.
//
// # Calls
//
//	PUT  /shipments/{id}         book: once per id
//	POST /shipments/{id}/cancel  cancel unless it has left, and close the id
//	GET  /shipments/{id}         ask: the carrier is a shipping.Asker
//
// The id is the effect key, orderId/incarnation/transitionId/shipping, with "~" instead of "/". An order's id
// with other characters than A-Z a-z 0-9 _ . : - has "%XX" for each of their bytes, which the path encodes once
// more; the body has the id as it is. Each call has
// a bearer token, if one is configured, and the effect key as Idempotency-Key. A repeat has the
// same id. The carrier must act once per id.
//
// # Errors
//
// Time-outs, broken connections, answers that cannot be read, statuses that openapi.yaml does not have, 408,
// 425, 429 and 5xx may pass: repeat the call after the Retry-After of the answer. 409 with the code
// shipment_canceled is shipping.ErrCanceled. 404 is shipping.ErrUnknownShipment, and also
// shipping.ErrRefused. Every other HTTP status but 200 and 201 is shipping.ErrRefused: no repeat can change
// it, so a person has to look. A redirect is not followed.
package httpcarrier
