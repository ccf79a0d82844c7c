package activities

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
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
	// Pollers bounds the polls that are open at a time, at most Slots and at most 1000.
	// Default min(Slots, 4).
	Pollers int
	// Heartbeat is HeartbeatSeconds of the task's state, at least 1 s. Heartbeats are
	// sent at a third of it. 0: the state has none, so none are sent, and a token that
	// was lost on the wire is noticed only after the state's TimeoutSeconds.
	Heartbeat time.Duration
	// Timeout bounds one call of the handler. 0: no bound. It should be less than the
	// state's TimeoutSeconds.
	Timeout time.Duration
}

// Config says what to serve and how. SFN and Activities are required.
type Config struct {
	// SFN is the SDK's client.
	SFN Client
	// Activities are served side by side.
	Activities []Activity
	// Middleware wraps every handler, the first outermost.
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
	// DrainGrace is how long handlers have to return after the end of their contexts,
	// and the last answers to be delivered. Default 10 s.
	DrainGrace time.Duration
	// PollGrace is how long a stop waits for open polls: the service may hand a task to
	// a poll that was canceled, and such a task is lost until its heartbeat times out.
	// More than 65 s is of no use. Default DrainTimeout. Negative cancels polls at once,
	// which is right for an engine in the same process.
	PollGrace time.Duration
	// AnswerTimeout bounds the delivery of an answer, with its retries. Default 5 min.
	AnswerTimeout time.Duration
	// PollTimeout bounds one poll. The service holds a poll open for 60 s, so it must be
	// longer. Default 70 s.
	PollTimeout time.Duration
	// FatalAfter is how long polls of an activity may fail with errors that last until
	// an operator acts (no such activity, access denied) before Run gives up. Default
	// 2 min.
	FatalAfter time.Duration
	// Rates bounds the calls of the whole worker.
	Rates Rates
	// Log gets faults, never inputs, outputs or tokens. Default: slog.Default().
	Log *slog.Logger
	// Events are hooks for metrics.
	Events Events
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

// check returns every fault of the configuration, as one error.
func (c *Config) check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("activities: "+format, args...)) }

	if c.SFN == nil {
		fault("Config.SFN must be set")
	}

	if len(c.Activities) == 0 {
		fault("Config.Activities is empty")
	}

	if utf8.RuneCountInString(c.WorkerName) > maxWorkerName {
		fault("Config.WorkerName has more than %d characters", maxWorkerName)
	}

	if strings.HasPrefix(c.ErrorPrefix, reservedPrefix) {
		fault(`Config.ErrorPrefix starts with %q, which is the service's own`, reservedPrefix)
	}

	seen := make(map[string]bool, len(c.Activities))
	for i, a := range c.Activities {
		if a.ARN == "" || a.Handle == nil {
			fault("activity %d needs an ARN and a Handle", i)
		}

		if a.ARN != "" && seen[a.ARN] {
			fault("%s is served twice", a.ARN)
		}
		seen[a.ARN] = true

		if a.Heartbeat != 0 && a.Heartbeat < time.Second {
			fault("heartbeat of %s is %v, want at least 1s", a.ARN, a.Heartbeat)
		}

		if a.Slots < 0 || a.Pollers < 0 {
			fault("%s has %d slots and %d pollers, want at least 1", a.ARN, a.Slots, a.Pollers)
		}
	}

	return errors.Join(faults...)
}

// withDefaults fills in what was left out, and wraps the handlers.
func (c Config) withDefaults() Config {
	c.WorkerName = cmp.Or(c.WorkerName, "worker-"+rand.Text()[:10])
	c.ErrorPrefix = cmp.Or(c.ErrorPrefix, "Worker.")
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 30*time.Second)
	c.DrainGrace = cmp.Or(c.DrainGrace, 10*time.Second)
	c.PollGrace = cmp.Or(c.PollGrace, c.DrainTimeout)
	c.AnswerTimeout = cmp.Or(c.AnswerTimeout, 5*time.Minute)
	c.PollTimeout = cmp.Or(c.PollTimeout, 70*time.Second)
	c.FatalAfter = cmp.Or(c.FatalAfter, 2*time.Minute)
	c.Log = cmp.Or(c.Log, slog.Default())

	c.Activities = slices.Clone(c.Activities)
	for i := range c.Activities {
		a := &c.Activities[i]
		a.Name = cmp.Or(a.Name, a.ARN[strings.LastIndexByte(a.ARN, ':')+1:])
		a.Slots = cmp.Or(a.Slots, 10)
		a.Pollers = min(cmp.Or(a.Pollers, 4), a.Slots, maxPollers)

		for _, wrap := range slices.Backward(c.Middleware) {
			a.Handle = wrap(a.Handle)
		}
	}

	return c
}
