// Package events makes the handlers of queue messages and the functions of Lambda do
// each event's work once in effect.
//
// # Model
//
// [Messages] wraps a queues.Handler, be it behind the consumer or behind an event
// source mapping with partial batch responses. It claims the message's key and turns
// what the claim says into what becomes of the message:
//
//	the claim                        the message
//	acquired, taken over             the handler decides; Done and Reject are stored
//	replayed                         done: deleted
//	a final failure, replayed        rejected again, for the stored reason
//	in progress                      kept, invisible for the rest of the lease; no attempt
//	unknown outcome                  kept and looked at again; no attempt
//	another payload, a bad key       rejected: a bug of the sender's
//	the store cannot be asked        retried
//
// [Function] wraps a Lambda function, JSON in and JSON out. An invocation that was
// finished before returns the stored result.
//
// # Guarantees
//
// A batch that is delivered again, because the function was killed behind message k,
// runs none of the first k again. A message that somebody else is working on is never
// counted as poison.
//
//	handle, err := events.Messages(events.Config{Claims: claims})
//	function, err := queues.NewLambda(queues.LambdaConfig{Handler: charge, Middleware: []queues.Middleware{handle}})
//	lambda.Start(function.Handle)
//
// # Caveats
//
// A message's ID is new with every sending: where senders repeat themselves, set
// [Config.Key] to what stays the same.
package events
