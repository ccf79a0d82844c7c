package activities

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"
)

// HandlerFunc does the work of one task. The output is encoded as JSON; a
// json.RawMessage is sent as it is, and nil becomes null. An error made by Fail carries
// its name to the state machine; any other is reported as Unknown.
//
// The context ends when the task is lost, when the call has taken Activity.Timeout, or
// when the worker's DrainTimeout is over; context.Cause returns ErrTaskLost, ErrDeadline
// or ErrShutdown. A handler must return then, because Run waits for it.
type HandlerFunc func(ctx context.Context, t Task) (any, error)

// Middleware wraps a handler, for logging, tracing, metrics and the like.
type Middleware func(HandlerFunc) HandlerFunc

// Activity is one activity that the worker serves.
type Activity struct {
	// ARN is the activity's ARN. Required.
	ARN string
	// Name is for people. Default: the last part of the ARN.
	Name string
	// Handle does the work. Required.
	Handle HandlerFunc
	// Slots bounds the tasks in flight. A slot is taken before a poll is sent, so no
	// token ever waits for one. Default 10.
	Slots int
	// Pollers bounds the polls that are open at a time, at most Slots and at most 1000. The
	// worker keeps two open and more while polls return with tasks at once; after quota
	// errors it keeps fewer. Default min(Slots, 4).
	Pollers int
	// Heartbeat is HeartbeatSeconds of the task's state, at least 1 s. Heartbeats are
	// sent at a third of it. 0: the state has none, so none are sent, and a token that
	// was lost on the wire is noticed only after the state's TimeoutSeconds.
	Heartbeat time.Duration
	// Timeout bounds one call of the handler. 0: no bound. It should be less than the
	// state's TimeoutSeconds.
	Timeout time.Duration
	// PerSecond bounds how many tasks begin per second, such as 0.5 for one every two
	// seconds. Polls wait for it, so that tasks stay in the service; a task that arrives
	// all the same waits its turn, with heartbeats. 0: no bound.
	PerSecond float64
	// Middleware wraps the handler inside Config.Middleware, the first outermost.
	Middleware []Middleware
}

// Config says what to serve and how. SFN is required.
type Config struct {
	// SFN is the SDK's client.
	SFN Client
	// Activities are served side by side. Register adds more.
	Activities []Activity
	// Middleware wraps every handler, the first outermost. Default none.
	Middleware []Middleware
	// WorkerName is shown in execution histories, at most 80 characters. Default:
	// "worker-" and a random suffix.
	WorkerName string
	// ErrorPrefix is put before the names that the worker itself gives to failures
	// (NameUnknown and so on), e.g. "Order.". Default "Worker.".
	ErrorPrefix string
	// Offload stores an output larger than 262,144 bytes and returns the JSON to send in
	// its place: a pointer. nil: such outputs fail as DataLimit.
	Offload func(ctx context.Context, t Task, output json.RawMessage) (json.RawMessage, error)
	// DrainTimeout is how long running handlers may go on after a stop; then their
	// contexts end. Default 30 s.
	DrainTimeout time.Duration
	// PollGrace is how long a stop waits for open polls: the service may hand a task to
	// a poll that was canceled, and such a task is lost until its heartbeat times out.
	// The service holds polls open for 60 s, so 0 stands for 65 s and more is of no use.
	// Negative cancels polls at once, which is right for an engine in the same process.
	PollGrace time.Duration
	// Resolve finds out whether an answer whose outcome is Unknown was accepted, for instance from
	// the record that the handler's effect left. Resolve returns Succeeded, Failed or Lost, or
	// Unknown. nil: the outcome stays Unknown.
	Resolve func(ctx context.Context, d Done) (Outcome, error)
	// Rates bounds the calls of the whole worker, in calls per second. Default 250 for each
	// operation.
	Rates Rates
	// Log gets the start and the stop, and faults; never inputs, outputs or tokens.
	// Default: slog.Default().
	Log *slog.Logger
	// Events are hooks for metrics. Default none.
	Events Events

	// drainGrace is how long handlers have to return after the end of their contexts,
	// and the last answers to be delivered. Default 10 s.
	drainGrace time.Duration
	// answerTimeout bounds the delivery of an answer, with its retries. Default 5 min.
	answerTimeout time.Duration
	// pollTimeout bounds one poll. The service holds a poll open for 60 s, so it is at
	// least 61 s. Default 70 s.
	pollTimeout time.Duration
	// fatalAfter is how long all polls of an activity may be refused, with one and the
	// same error that lasts until an operator acts (no such activity, access denied),
	// before the activity counts as denied. The others go on; Run ends when all are
	// denied. Default 2 min.
	fatalAfter time.Duration
}

// Limits of the service: developer guide, "Step Functions service quotas", and the API
// references of GetActivityTask and SendTaskFailure.
const (
	maxOutput     = 262_144 // bytes
	maxCause      = 32_768  // bytes
	maxName       = 256     // bytes
	maxWorkerName = 80      // characters
	maxPollers    = 1000    // open polls of one activity
)

// reservedPrefix begins the error names that only the service may use.
const reservedPrefix = "States."
