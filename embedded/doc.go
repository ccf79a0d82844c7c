// Package embedded is an engine in the same process that speaks the wire
// protocols of DynamoDB, DynamoDB Streams, Step Functions and SQS and keeps its data
// on disk. Code written for AWS runs on it unchanged, through the same SDK
// clients: nothing is mocked, and there is no second storage path.
//
//	engine, err := embedded.Open(embedded.Config{Dir: "data"})
//	...
//	defer engine.Close()
//	go engine.Run(ctx) // timers, expiry, the life of stream shards and messages
//	db := dynamodb.NewFromConfig(engine.AWSConfig())
//
// For clients in other processes serve Engine.Handler on a socket.
//
// # Guarantees
//
// A call that was answered is on disk: neither kill -9 nor a power failure takes
// it back, as far as the disk keeps what it has flushed. An item and its stream
// record are written together. Concurrent calls share flushes, so that many small
// writes cost little more than one.
//
// Streams live as on AWS from the first record on: shards roll over every four
// hours and may split, records and closed shards are trimmed after a day, a
// disabled stream stays readable for a day and comes back under a new ARN. All of
// it can be had on command (RollShards, SplitShard, TrimStream), also over the
// wire under the target prefix RatchetEngine_20261121, which makes the engine a
// simulator for stream consumers. WatchStream tells a consumer in the same
// process of new records at once.
//
// Time is the time package's, read once per decision: inside testing/synctest a
// day of timers, retention and expiry passes in an instant.
//
// # Caveats
//
// One process at a time has a data directory open. There are no credentials:
// whoever reaches the handler may do everything. What is not supported is refused
// with a clear error; the lists are in the documentation of the packages under
// internal. A disk that fails while writing ends the process with a panic, so
// that nothing unsaved is acknowledged.
//
// The engine allocates with every call: a server that is mostly engine runs
// noticeably cheaper with GOGC=400.
package embedded
