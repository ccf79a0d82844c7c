package embedded

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"ratchet/embedded/door"
	"ratchet/embedded/internal/stepfunctions/lambda"
)

// Config says where the engine keeps its data and which names it uses in ARNs. Only Dir
// must be set.
type Config struct {
	// Dir is the data directory. Open creates it if it does not exist. Only one engine at a
	// time can have it open.
	Dir string
	// Region and AccountID are parts of ARNs. Defaults: "us-east-1" and "000000000000".
	Region, AccountID string
	// Streams says how long stream shards and their records live. Default: as on AWS.
	Streams StreamsConfig
	// Consumed, if set, gets the capacity units that DynamoDB would bill for each call, also
	// for calls whose answer does not report them: a failed condition costs the size of the
	// existing item, a transaction costs double. It runs inside the calls, in many
	// goroutines at a time, and must not block.
	Consumed func(table string, readUnits, writeUnits float64)
	// Functions are the Lambda functions that tasks invoke, by name: through
	// arn:aws:states:::lambda:invoke, or by their ARN
	// (arn:aws:lambda:us-east-1:000000000000:function:NAME, of any region, account and version).
	// Payload and result are JSON. An error is the task's error, named by its method
	// ErrorType() string if it has one, else "errorString"; so is a panic, named by the type of its
	// value. A function runs at least once for a task: again, if the engine stops before it has stored
	// the result. Up to 1,000 run at a time for Standard executions; others wait. Default: none.
	Functions map[string]func(ctx context.Context, payload []byte) ([]byte, error)
	// AllowedHosts are names that requests to Engine.Handler may have in their Host header, see
	// [door.Config]. Default: none beside IP addresses and localhost, and all names if the listener's
	// address is not a loopback address.
	AllowedHosts []string
	// FaultAdmin serves InjectFault, ListFaults, ClearFaults, ShiftClock, StallShard and
	// ReplaceStream over the wire, under the target prefix RatchetEngine_20261121, to callers with
	// the directory's token (see [TokenHeader]). Without it they are refused. The Go API ([Engine.Inject] and
	// the methods that it names) needs no permission.
	FaultAdmin bool
	// BackupFiles are names of files in Dir, beside the engine's own, that Backup includes if they
	// exist. Default: none.
	BackupFiles []string
	// Failed, if set, is called when the disk has refused a write or a sync. Its error says what to do. The engine
	// cannot know what is on disk then: it answers no further change, and panics when Failed returns. A program
	// that wants to end in another way calls os.Exit in Failed.
	Failed func(error)
	// Log receives the engine's internal errors. Default: slog.Default().
	Log *slog.Logger

	inMemory bool // see OpenInMemory
}

// StreamsConfig says how long stream shards and their records live. With the zero value they live
// as on AWS.
type StreamsConfig struct {
	// InitialShards is the number of shards that a new stream starts with, 1 to 1000.
	// Default: 1.
	InitialShards int
	// RollEvery is the age at which an open shard closes and a child shard continues it.
	// Default: 4 hours. Negative: shards close only on command (see Engine.RollShards).
	RollEvery time.Duration
	// Retention is the age at which records are removed. Default: 24 hours.
	Retention time.Duration
}

// fillDefaults sets the defaults and checks Dir, which has none.
func (c *Config) fillDefaults() error {
	if c.Dir == "" {
		return errors.New("open engine: Config.Dir is empty")
	}

	if c.Region == "" {
		c.Region = "us-east-1"
	}

	if c.AccountID == "" {
		c.AccountID = "000000000000"
	}

	if c.Log == nil {
		c.Log = slog.Default()
	}

	return nil
}

// door returns the check of requests that come through a socket.
func (c *Config) door() *door.Door {
	return door.New(door.Config{AllowedHosts: c.AllowedHosts, Probes: []string{"/"}})
}

// functions returns Functions in the form in which Step Functions takes them.
func (c *Config) functions() map[string]lambda.Function {
	functions := map[string]lambda.Function{}
	for name, function := range c.Functions {
		functions[name] = function
	}

	return functions
}
