// Package queues hands the messages of an SQS queue to a handler, whose answer decides what happens
// to the message. The package knows nothing about the meaning of messages.
//
// # Model
//
// A [Handler] gets one [Message] and answers with an [Outcome]. [Done] deletes the message. [Retry]
// lets it come again after a wait. [InProgress] and [NotYet] do so without counting an attempt:
// InProgress when the lease of the worker that does the same work is over, NotYet after an outage
// of something that the work needs. [Reject] sends the message to the dead-letter queue. A
// [Consumer] takes free slots, polls, keeps the messages in flight invisible to other consumers,
// and deletes messages in batches.
//
//	c, err := queues.New(queues.Config{
//		SQS:           sqs.NewFromConfig(cfg),
//		QueueURL:      url,
//		DeadLetterURL: deadLetters,
//		Handler: func(ctx context.Context, m queues.Message) queues.Outcome {
//			if err := work(ctx, m.Body); err != nil {
//				return queues.Retry(0, err)
//			}
//			return queues.Done()
//		},
//	})
//	...
//	err = c.Run(ctx) // until ctx ends and no message is in flight
//
// # Guarantees
//
//   - A poll takes its slots before it is sent, so no received message waits for a slot.
//   - A message is deleted only after its handler has answered Done, or after it was
//     stored in the dead-letter queue. A deletion is repeated until it is confirmed; of a
//     batch, only the entries that failed are sent again.
//   - While a message is in flight, its visibility timeout is extended before a third of it has
//     passed. If the timeout cannot be extended, the handler's context ends with [ErrMessageLost],
//     before the service gives the message to another receiver.
//   - The messages of a group of a FIFO queue are handled one after the other: a message is handled
//     when the message before it is deleted. If a message is not deleted, no handler is called for
//     the later messages of the group. They come again after that message.
//   - Panics and runtime.Goexit are retries. If a handler does not return after its timeout, its
//     slot stays taken, but other consumers get the message.
//   - A stop calls no further handler, returns the messages whose handlers were not
//     called, lets handlers finish for DrainTimeout, and then ends their contexts.
//
// # Caveats
//
// Delivery is at least once, also on a FIFO queue: a deletion that was lost on the way to
// the service, or a consumer that died, repeats the message. Handlers must be idempotent.
// A message may reach the dead-letter queue twice for the same reason.
//
// The attempts of a message are its failures, which [Config.Failures] counts. They are not derived
// from the service's count of receives, so an outage, a stop, or a failing message before it in the
// group costs no attempt. Without Failures, each process counts the failures of the 4,096 messages
// that failed last. Then a message may get more attempts, never fewer. If a message kills its
// consumer, no failure is counted; only the queue's redrive policy moves such a message.
//
// A redrive policy of the queue counts receives, and also moves messages of a FIFO group that only
// wait behind a failing message. Prefer DeadLetterURL, and set the policy's maxReceiveCount to a
// multiple of Attempts, as a safety net.
package queues
