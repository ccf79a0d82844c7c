// Package embedded is DynamoDB, DynamoDB Streams, Step Functions and SQS in one process:
// an engine that speaks their wire protocols and keeps its data on disk. Code written for
// AWS runs on it unchanged, through the same SDK clients. Nothing is mocked.
//
//	engine, err := embedded.Open(embedded.Config{Dir: "data"})
//	...
//	defer engine.Close()
//	go engine.Run(ctx) // timers, expiry, the life of stream shards and messages
//	db := dynamodb.NewFromConfig(engine.AWSConfig())
//
// For clients in other processes, serve Engine.Handler on a socket.
//
// # Guarantees
//
// A call that was answered is on disk: it survives kill -9 and, if the disk keeps flushed
// data, a power failure. An item and its stream record are written together.
// Concurrent calls share flushes, so many small writes cost little more than one.
//
// Streams behave as on AWS from the first record: shards roll over every four hours and may
// split, records and closed shards are removed after a day, a disabled stream stays
// readable for a day and gets a new ARN when it is enabled again. RollShards, SplitShard
// and TrimStream do the same on command, also over the wire under the target prefix
// RatchetEngine_20261121, so tests of stream consumers can produce every one of these
// events. WatchStream notifies a consumer in the same process of new records.
//
// The engine reads the time from package time, once per decision. Inside testing/synctest
// a day of timers, retention and expiry passes at once.
//
// # Faults
//
// The engine can behave as AWS does on a bad day: throttle, be slow, fail, lose an answer after
// the write, refuse transactions. Package faults describes it, Inject puts it into effect:
//
//	engine.Inject(faults.ExceedThroughput("dynamodb.UpdateItem").WithProbability(0.05, 1))
//
// ShiftClock, StallShard and ReplaceStream cause disturbances that do not belong to a
// call. With Config.FaultAdmin (`ratchet dev --fault-admin`), callers with the directory's token can do the
// same over the wire:
//
//	curl 127.0.0.1:8700 -H 'X-Amz-Target: RatchetEngine_20261121.InjectFault' \
//		-H "X-Ratchet-Token: $(cat data/token)" \
//		-d '{"On":["UpdateItem"],"Error":"Lost","AfterCommit":true,"Times":1}'
//
// # Caveats
//
// Only one process at a time can have a data directory open. There are no credentials:
// every caller that reaches the handler may do everything that AWS has. Web pages are kept out (package door). The engine refuses unsupported
// features with a clear error; the packages under internal list them.
//
// With less than 32 MB of free space on the disk, calls that change something are refused with status
// 507, and reads go on. A write that fails on disk ends the process with a panic, so that nothing
// unsaved is acknowledged. Damaged files are an error, and never read as data.
//
// The engine allocates in every call. A server that is mostly engine uses noticeably less
// CPU with GOGC=400.
package embedded
