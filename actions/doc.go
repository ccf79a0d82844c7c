// Package actions makes things that may be used once: magic links, coupons, tickets,
// approvals.
//
// # Model
//
// An action is one DynamoDB item. It is pending until ActiveAt, then active, until it
// is consumed, canceled or expires; it may have a PIN, and may be held for a while by
// one caller. [Actions.Consume] is ONE conditional update. With a PIN it is two: the
// first spends a try, which its condition allows as long as tries are left; only then
// the PIN is compared, so that no concurrency compares more. When a condition fails,
// DynamoDB returns the item as it stands, and the [Outcome] is read off that image.
//
// Ids are allotted and carry their expiry and a MAC; see [ID]. Codes that people type
// come in batches ([Actions.Bulk]) or are chosen ([Spec].Code).
//
// # Guarantees
//
//   - Of all requests to use an action, at most one is Consumed; of consuming,
//     cancelling and expiring, at most one ever happens. Whoever was told a final
//     outcome is told it again.
//   - The winner whose answer was lost gets it again, byte for byte, by its ConsumeID.
//   - At most MaxAttempts tries of an action's PIN are compared, however many arrive at
//     once. (A try that is repeated is the same try.) The right PIN is refused once the
//     action is locked.
//   - Before the right PIN was given, nothing is told but the outcome. An id that was
//     never made answers like any other unknown one.
//   - An id is never good for a second action, and a late one is Expired, not NotFound,
//     even when TTL has swept the item.
//
// A small program:
//
//	made, err := all.Create(ctx, actions.Spec{Payload: payload, ExpiresAt: time.Now().Add(time.Hour)})
//	...
//	result, err := all.Consume(ctx, actions.Request{ID: made.ID, ConsumeID: requestID})
//	switch result.Outcome {
//	case actions.Consumed: // yours, now or in the answer that was lost
//	case actions.AlreadyUsed: // somebody else's since result.ConsumedAt
//	}
//
// # Caveats
//
// What the winner does with the payload is its own affair: consuming and acting on it
// are two steps, unless the consumption is repeated until the act is done. Times are
// compared with the callers' clocks; a clock that is ahead expires an action early,
// for everybody. DynamoDB conditions hold within one Region. Nothing here limits how
// many actions a client creates or how many unknown ids it tries: an API in front does.
package actions
