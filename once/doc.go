// Package once makes work happen once in effect: a caller claims a key, works, and
// stores the result; everybody else who brings the key gets that result.
//
// # Model
//
// A claim is one DynamoDB item under an idempotency key. Claiming is ONE
// conditional update that succeeds when the key is free, released, past its
// retention, or held by a lease that has run out; each success raises the claim's
// fence. Completing and releasing are conditional on owner and fence, so that a
// worker whose lease ran out can neither complete nor overwrite. An expired claim
// is taken over at once; TTL only cleans up.
//
// # Guarantees
//
// At most one holder at a time, as far as the clocks of the callers agree to
// within [Config.Margin]. A completed key keeps its result for the retention. A
// lost answer is recognised from the returned image: the winner learns that it won.
//
//	result, err := claims.Do(ctx, "o-1/2/notify", payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
//		return nil, sink.Send(ctx, n)
//	})
//
// # Caveats
//
// Work that reaches the outside and then loses its lease runs a second time: give
// the outside the key. A result is stored in the item and must fit into
// [MaxResult] bytes.
package once
