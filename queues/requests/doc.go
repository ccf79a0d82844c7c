// Package requests applies the transition requests that come by a queue.
//
// # Model
//
// A message's body is one [transitions.Request] as JSON:
//
//	{"orderId":"o-1","event":"ship"}
//
// [Handler] decodes it, applies it, and makes of the verdict what becomes of the
// message:
//
//	Applied, Replayed   done
//	Superseded          done: a newer transition stands, and this request never will
//	NotFound            retried: the order may be placed yet
//	WrongState          retried while the order can still come to a state that the
//	                    event needs; rejected once it cannot
//	Conflict, Illegal   rejected, as is what is no request
//	no answer           comes again for as long as it takes, and is no attempt
//
// A retry becomes a rejection after the consumer's attempts. A rejection's reason is a
// [*Refusal], which carries the verdict: a [queues.Middleware] may take some of them
// for done.
//
//	h := requests.Handler{Orders: orders}
//	c, err := queues.New(queues.Config{SQS: client, QueueURL: url, DeadLetterURL: dead, Handler: h.Handle})
//
// The same handler runs behind Lambda: queues.NewLambda(queues.LambdaConfig{Handler:
// h.Handle}).
//
// # Guarantees
//
// A request is applied at most once, however often its message comes, by as many
// consumers as there are: a message that names no transitionId and no requestId is the
// request of its deduplication id on a FIFO queue, and of its message id elsewhere. So
// on a standard queue two sendings without a requestId are two requests; a sender that
// may repeat itself names one.
//
// # Caveats
//
// On a FIFO queue a request that is retried holds up its group for as long: use the
// order's id as the group ([Input] does), so that orders do not wait for each other.
// Where the queue makes deduplication ids from the bodies, an id says what is asked for
// and not by whom or when; the message id counts instead.
package requests
