// Package streams has what handlers of DynamoDB Streams hold: [Record], [Handler], [Retry], [Events] and
// the errors that steer retries. It is for Go what the Kinesis Client Library with its DynamoDB Streams
// adapter is for Java. The package does not interpret the items.
//
// Two packages call handlers: poller reads a stream, with any number of worker processes that share the work
// through a lease table, and lambda runs the same handlers behind a Lambda event source mapping.
//
// # Use
//
// Create the two tables once, then run a poller in each worker:
//
//	p, err := poller.New(poller.Config{
//		Streams:         dynamodbstreams.NewFromConfig(cfg),
//		DynamoDB:        dynamodb.NewFromConfig(cfg),
//		TableName:       "orders",       // its stream must be enabled
//		LeaseTable:      "leases",       // created from leases.TableInput
//		DeadLetterTable: "dead-letters", // created from deadletters.TableInput
//		Handlers: []streams.Handler{{
//			Name:   "notify",
//			Filter: func(r streams.Record) bool { return r.EventName != streams.Remove },
//			Handle: func(ctx context.Context, r streams.Record) error { return send(ctx, r.New) },
//		}},
//	})
//	if err != nil {
//		return err
//	}
//
//	return p.Run(ctx) // until ctx ends; then it drains and releases its leases
//
// A handler that fails is called again with backoff, for three days unless [Retry] says otherwise.
// [Permanent] skips the retries; [NotYet] repeats the call without counting it; [RetryAfter] asks for a
// pause; [Skip] finishes the record.
//
// # Rooms
//
// Each room imports only rooms below it, and none of them this package's users:
//
//	poller       Config, New and Run: takes leases and runs the work on them
//	lambda       the handlers behind an event source mapping
//	status       how far a stream has been handled
//	replay       records again: from the stream (Replay) or from the table (Rebuild)
//	redelivery   the retry queues: their leases, and the calls for what waits
//	shards       one shard under its lease: reading, checkpoints, children
//	lanes        handlers in order for each item, in parallel across items
//	lineage      the shards of a stream, their parents and children, and their first leases
//	retryqueue   records that wait: one row for each item, its parts, and what operators do with them
//	holders      what workers do with leases: heartbeats, the plan, the work under them
//	leases       who works on what, fenced by epochs
//	deadletters  records that handlers gave up on
//	calls        one call of a handler: filter, time-out, panic, batch, pauses
//	store        keys, formats, codecs and conditional writes of the rows
//
// All of them import this package, which imports none of them.
package streams
