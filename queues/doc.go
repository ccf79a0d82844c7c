// Package queues hands the messages of an SQS queue to a handler and makes of its
// answer what the queue understands. It knows nothing of what the messages are
// about.
//
// # Model
//
// A [Handler] gets one [Message] and answers with one of four outcomes: [Done]
// deletes it; [Retry] lets it come again after a pause; [InProgress] lets it come
// again when the worker who is at it must have ended, and is no attempt ([NotYet] says
// the same of something out of reach); [Reject] sends it to the dead letters. A [Consumer] takes a free slot, polls, keeps every
// message that it holds invisible to others, and deletes in batches.
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
//	err = c.Run(ctx) // until ctx ends and the last message is answered for
//
// The same handlers run behind a Lambda event source mapping: see [Lambda].
//
// # Guarantees
//
//   - A slot is held before a poll is sent: no message waits in the process for one.
//   - A message is deleted only after its handler has answered Done, or after the
//     service has taken it as a dead letter. A deletion is repeated until it is
//     confirmed; the entries of a batch that failed, and only those, are sent again.
//   - While a message is held its visibility time-out is renewed before a third of it
//     has passed. A message that cannot be renewed is given up before the service gives
//     it to others: its handler's context ends with [ErrMessageLost].
//   - The messages of a group of a FIFO queue are handled one after the other, each
//     when the one before is deleted. Behind one that is not, none of its group is
//     begun; they come again behind it.
//   - Panics and runtime.Goexit are retries. A handler that does not return after its
//     time-out keeps a slot, and no message.
//   - A stop begins no handler, gives back what was not begun, lets handlers finish for
//     DrainTimeout, and then ends their contexts.
//
// # Caveats
//
// Delivery is at least once, also on a FIFO queue: a deletion that was lost on the way
// to the service, or a consumer that died, repeats the message. Handlers must be
// idempotent. A message may reach the dead letters twice for the same reason.
//
// The attempts of a message are the service's count of its receives, less those that
// this consumer has pardoned; after a restart or at another consumer none are. The
// pardons are remembered for the latest 4,096 messages.
//
// A redrive policy of the queue moves messages without asking anybody, also those of a
// FIFO group that wait behind a failing one. Prefer DeadLetterURL, and set the
// policy's maxReceiveCount a multiple of Attempts, as the net below.
package queues
