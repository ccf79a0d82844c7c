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
	// Slots bounds the tasks in flight. The worker takes a slot before it sends a poll, so a received
	// token never waits for a slot. Default 10.
	Slots int
	// Pollers bounds the polls that are open at a time: at most Slots and at most 1,000. The worker
	// keeps two polls open, more while polls are answered at once with tasks, and fewer after quota
	// errors. Default min(Slots, 4).
	Pollers int
	// Heartbeat is HeartbeatSeconds of the task's state, at least 1 s. The worker sends a heartbeat
	// after every quarter to third of it. 0: the state has no HeartbeatSeconds and no heartbeats are
	// sent. Then a task whose token was lost on the wire ends only by the state's TimeoutSeconds.
	Heartbeat time.Duration
	// Timeout bounds one call of the handler. 0: no bound. It should be less than the
	// state's TimeoutSeconds.
	Timeout time.Duration
	// PerSecond bounds how many tasks begin per second, such as 0.5 for one every two seconds. Polls
	// wait until a task may begin, so that tasks stay in the service. A task that arrives earlier waits
	// for its turn, with heartbeats. 0: no bound.
	PerSecond float64
	// Middleware wraps the handler, inside Config.Middleware. The first one is the outermost.
	Middleware []Middleware
}

// Config says what to serve and how. SFN is required.
type Config struct {
	// SFN is the SDK's client.
	SFN Client
	// Activities are served side by side. Register adds more.
	Activities []Activity
	// Middleware wraps every handler. The first one is the outermost.
	Middleware []Middleware
	// WorkerName is shown in execution histories, at most 80 characters. Default:
	// "worker-" and a random suffix.
	WorkerName string
	// ErrorPrefix is put before the names that the worker itself gives to failures
	// (NameUnknown and so on), e.g. "Order.". Default "Worker.".
	ErrorPrefix string
	// Offload stores an output larger than 262,144 bytes and returns the JSON to send in its place, such
	// as the address of the stored output. nil: the task fails as DataLimit.
	Offload func(ctx context.Context, t Task, output json.RawMessage) (json.RawMessage, error)
	// DrainTimeout is how long handlers may run on after a stop before their contexts end. Default 30 s.
	DrainTimeout time.Duration
	// PollGrace is how long a stop waits for open polls. A stop does not cancel them at once, because the
	// service may hand a task to a canceled poll, and such a task is lost until its heartbeat times out.
	// The service holds polls open for 60 s, so a longer grace than the default is of no use. Default
	// 65 s. A negative value cancels polls at once, which is right for an engine in the same process.
	PollGrace time.Duration
	// Resolve finds out whether an answer whose outcome is Unknown was accepted, for example from the
	// record that the handler's effect left. It returns Succeeded, Failed or Lost, or Unknown if it does
	// not know. nil: the outcome stays Unknown.
	Resolve func(ctx context.Context, d Done) (Outcome, error)
	// Rates bounds the calls of the whole worker, in calls per second. Default 250 for each
	// operation.
	Rates Rates
	// Log gets the start, the stop and faults. It gets no inputs, outputs or tokens. Default:
	// slog.Default().
	Log *slog.Logger
	// Events are hooks for metrics. Default none.
	Events Events

	// drainGrace is how long a drain waits for handlers to return after their contexts have ended, and
	// then again for the last answers to be delivered. Default 10 s.
	drainGrace time.Duration
	// answerTimeout bounds the delivery of an answer, with its retries. Default 5 min.
	answerTimeout time.Duration
	// pollTimeout bounds one poll. The service holds a poll open for 60 s, so it is at
	// least 61 s. Default 70 s.
	pollTimeout time.Duration
	// fatalAfter is how long all polls of an activity may be refused before the activity counts as
	// denied. All refusals must have the same error, which lasts until an operator acts (no such activity,
	// access denied). The other activities go on. Run ends when all are denied. Default 2 min.
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
