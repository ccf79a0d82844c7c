// Package actions makes things that may be used once: magic links, coupons, tickets,
// approvals.
//
// # Model
//
// An action is one DynamoDB item. It is pending until ActiveAt, then active, until it is
// consumed, canceled or expires. It may have a PIN, and one caller may hold it for a
// while. [Actions.Consume] is ONE conditional update. With a PIN it is two: the first one
// counts a try, which its condition allows as long as tries are left. The PIN is compared
// only after that, so concurrent callers cannot compare more PINs than tries are left.
// When a condition fails, DynamoDB returns the item as it is, and the [Outcome] follows
// from that image.
//
// [Actions.Create] makes ids, which contain their expiry and a MAC; see [ID]. Codes that
// people type come in batches ([Actions.Bulk]) or are chosen ([Spec].Code).
//
// # Guarantees
//
//   - Of all requests to use an action, at most one is Consumed. Of consuming, canceling
//     and expiring, at most one ever happens. A final outcome never changes.
//   - A caller that consumed the action and lost the answer gets it again, byte for byte,
//     by its ConsumeID.
//   - At most MaxAttempts tries of an action's PIN are compared, however many arrive at
//     once. A repeated try is the same try. Once the action is locked, the right PIN is
//     refused, too.
//   - Without the right PIN a caller learns only the outcome. An id that was never made is
//     answered like any other unknown id.
//   - No id ever names a second action. A late id is Expired, not NotFound, even when TTL
//     has deleted the item.
//
// A small program:
//
//	made, err := all.Create(ctx, actions.Spec{Payload: payload, ExpiresAt: time.Now().Add(time.Hour)})
//	...
//	result, err := all.Consume(ctx, actions.Request{ID: made.ID, ConsumeID: requestID})
//	switch result.Outcome {
//	case actions.Consumed: // by this request, now or in an answer that was lost
//	case actions.AlreadyUsed: // by another request, at result.ConsumedAt
//	}
//
// # Caveats
//
// Consuming an action and acting on its payload are two steps. A caller that may die in
// between repeats the consumption until it has acted. Times are the
// service's, from the Date of its answers, which has whole seconds.
// DynamoDB conditions hold within one Region. Nothing here limits how many actions a
// client creates or how many unknown ids it tries; an API in front must do that.
package actions
