// Package events makes handlers of queue messages, and Lambda functions, do the work of each event
// once, also if the event is delivered several times.
//
// # Model
//
// [Messages] wraps a queues.Handler, behind the consumer or behind an event source mapping with
// partial batch responses. For each message it claims the message's key. The outcome of the claim
// decides what happens to the message:
//
//	the claim                        the message
//	acquired, taken over             the handler decides; Done and Reject are stored
//	replayed                         deleted, without a call of the handler
//	a final failure, replayed        rejected again, for the stored reason
//	in progress                      kept, hidden for the rest of the lease; no attempt
//	unknown outcome                  kept and read again later; no attempt
//	another payload, a bad key       rejected: a bug of the sender
//	DynamoDB unavailable             kept and tried again; no attempt
//
// What is known of a run decides about the next delivery, and about the next invocation of a function:
//
//	the handler, or the function              the next run
//	Done, or no error                         none: done
//	Reject, or an error that is final         none: the same failure
//	Retry or NotYet, or another error         runs, TakenOver: there may have been an effect
//	the same with an error of once.NotBegun   runs, Acquired if this run was
//	any of these with once.ErrAmbiguous       none: unknown outcome
//	is cut off (the context ended), panics    runs, TakenOver, or unknown outcome under
//	                                            once.Config.ExpiredIsUnknown
//	a result that cannot be stored            none: done; a function gets once.ErrResultUnavailable
//
// [Failures] counts the failed receives of messages, so that the attempts of a message hold
// across restarts and for all consumers of a queue together.
//
// [Function] wraps a Lambda function, JSON in and JSON out. An invocation that was finished
// before returns the stored result.
//
// # Guarantees
//
// If a function dies in the middle of a batch, the batch is delivered again. The messages that were
// finished before are not handled again. A message that another consumer is working on never counts
// as a failed attempt.
//
// The examples run: [Messages] in a consumer and behind Lambda, and [Function].
//
// # Caveats
//
// SQS gives a message a new ID each time it is sent. If senders may send a message twice, set
// [Config.Key] to a function that returns the same key for both.
package events
