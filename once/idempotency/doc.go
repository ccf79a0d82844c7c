// Package idempotency makes HTTP handlers honour the Idempotency-Key header field, as
// draft-ietf-httpapi-idempotency-key-header-07 describes it.
//
// # Model
//
// [New] returns a middleware. It claims the key of the request, together with who
// sends it, runs the handler, and stores the response. A retry gets the stored
// response, with the header Idempotent-Replayed: true. The fingerprint of a request
// covers method, target and body; a JSON body counts as its value, not its spelling.
//
//	the request                           answer           code
//	no key                                400              idempotency_key_missing
//	a key that cannot be read             400              idempotency_key_malformed
//	a key whose own end has passed        400              idempotency_key_expired
//	its sender is not known               401              caller_unknown
//	a key that another request had        422              idempotency_key_reused
//	the first one is still at work        409, Retry-After request_in_progress
//	nobody knows what the first one did   409              outcome_unknown
//	a body beyond the limit               413              request_too_large
//	DynamoDB cannot be asked              503, Retry-After store_unavailable
//
// Bodies are problem+json (RFC 9457) with the code as a member.
//
// # Guarantees
//
// A response is stored before it is sent: what a client has seen is what every retry
// gets. Keys of different callers never meet. What is stored is status, body and the
// headers that [Config.Headers] names; cookies never.
//
// Which responses are stored is [Config.Judge]'s to say. By default all are but those
// that ask for a retry (408, 409, 425, 429) and 5xx: a server error must not be for
// ever, and the handler's own effects carry the key. After those the key is free.
//
// # Caveats
//
// A handler under this middleware cannot stream: Flush and Hijack are not supported,
// and a response beyond [Config.MaxResponse] becomes a stored 500 response_too_large,
// because its effect has happened. Authentication belongs outside of it, compression
// too.
package idempotency
