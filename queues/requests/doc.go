// Package requests applies transition requests from a queue.
//
// # Model
//
// The body of a message is one transitions.Request as JSON:
//
//	{"orderId":"o-1","event":"ship"}
//
// [Handler] decodes it and applies it. The verdict decides what happens to the message:
//
//	Applied, Replayed   done
//	Superseded          done: a newer transition was applied, so this request never can be
//	NotFound            retried: the order may still be placed
//	WrongState          retried while the order can still reach a state that the event
//	                    needs, else rejected
//	Conflict, Illegal   rejected, like a malformed body
//	no answer           retried without counting an attempt
//
// A body with "at" is a request for later ([scheduled.Schedule]). Its message is done as soon as the request is stored:
//
//	{"orderId":"o-1","event":"cancel","requestId":"trial-1","at":"2026-12-24T18:00:00Z"}
//
// The last retry that the consumer's Attempts allow becomes a rejection. The reason of a rejection
// because of a verdict is a [*VerdictError], so that a queues.Middleware can treat some verdicts as
// done.
//
//	h, err := requests.New(requests.Config{Orders: orders})
//	c, err := queues.New(queues.Config{SQS: client, QueueURL: url, DeadLetterURL: dead, Handler: h.Handle})
//
// The same handler runs behind Lambda: queues.NewLambda(queues.LambdaConfig{Handler:
// h.Handle}).
//
// # Guarantees
//
// The request of a message is applied at most once, even if the message is delivered several times
// and to several consumers, within the limits of package transitions. A message without a
// transitionId and a requestId gets a requestId: its deduplication id on a FIFO queue, else its
// message id. So on a standard queue two messages without a requestId are two requests: a sender
// that may repeat itself must set one.
//
// A sender of the queue may request any transition, but not in the name of another part of Ratchet:
// the cause has the source "queue", and the actor begins with "queue:".
//
// # Caveats
//
// On a FIFO queue a request that is retried delays its group. Use the order's id as the group, as
// [Input] does, so that orders do not wait for each other.
//
// If the queue derives deduplication ids from the bodies, equal requests of different senders have
// the same deduplication id. Then the message id becomes the requestId.
package requests
