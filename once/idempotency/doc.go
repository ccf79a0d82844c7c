// Package idempotency makes HTTP handlers honor the Idempotency-Key header field, as
// draft-ietf-httpapi-idempotency-key-header-07 describes it.
//
// # Model
//
// [New] returns a middleware. It claims the key of the request together with the caller,
// runs the handler, and stores the response. A retry gets the stored response, with the
// header Idempotent-Replayed: true. The fingerprint of a request covers its method, target
// and body. A JSON body is compared by its value.
//
//	the request                           answer           code
//	has no key                            400              idempotency_key_missing
//	has a key that cannot be read         400              idempotency_key_malformed
//	has a key whose own end has passed    400              idempotency_key_expired
//	has an unknown caller                 401              caller_unknown
//	has the key of another request        409              idempotency_key_reused
//	repeats a request in progress         its response, or in_progress
//	  for longer than Config.Wait         409, Retry-After
//	repeats one with an unknown outcome   409              unknown_outcome
//	repeats one whose response is lost    409              result_unavailable
//	has a body that is too large          413              body_too_large
//	DynamoDB is unavailable               503, Retry-After unavailable
//
// Bodies are problem+json (RFC 9457) with the code as a member. Ratchet's HTTP API answers
// with the same statuses and codes. The draft recommends 422 for the key of another
// request; here it is 409, as for every other id that was used with other content.
//
// A repeat that meets a request in progress waits for its response: [Config.Wait], or as long as its field Prefer:
// wait=SECONDS says. It reads the key at growing intervals, at most 40 times. After that, Retry-After is as long as
// the request has taken so far, because how long it will take is not known.
//
// # Guarantees
//
// A response is stored before it is sent, so every retry gets the response that the client
// has seen. Keys of different callers are independent. Only the status, the body and the
// headers of [Config.Headers] are stored, and cookies never.
//
// [Config.Decide] says which responses are stored. By default all are stored except 5xx and
// the statuses that ask for a retry (408, 409, 425, 429). A stored server error would be
// final. [ClaimFrom] returns the claim under which the handler runs. What is known of a run decides
// about the next one:
//
//	the handler                                  the next request with the key
//	answers, and the response is stored          gets the response
//	answers, and Decide says Release             runs the handler, TakenOver
//	answers, and Decide says Free                runs the handler, Acquired if this run was
//	answers, and Decide says Unknown             409 unknown_outcome
//	answers after the client has gone or the     runs the handler, TakenOver, or 409 unknown_outcome
//	  lease has ended, and Decide says Release     under once.Config.ExpiredIsUnknown
//	panics                                       the same
//	answers, and the response cannot be stored   409 result_unavailable
//
// If the claim is TakenOver, an earlier run may have had an effect: the handler looks for it first.
//
// # Caveats
//
// A handler under this middleware cannot stream: Flush and Hijack are not supported. A
// response larger than [Config.MaxResponse] becomes a stored 500 response_too_large,
// because its effect has happened. Authentication and compression belong outside of this
// middleware.
package idempotency
