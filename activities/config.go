package activities

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

// sfnAPI is what the worker calls of *sfn.Client.
type sfnAPI interface {
	GetActivityTask(context.Context, *sfn.GetActivityTaskInput, ...func(*sfn.Options)) (*sfn.GetActivityTaskOutput, error)
	SendTaskSuccess(context.Context, *sfn.SendTaskSuccessInput, ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error)
	SendTaskFailure(context.Context, *sfn.SendTaskFailureInput, ...func(*sfn.Options)) (*sfn.SendTaskFailureOutput, error)
	SendTaskHeartbeat(context.Context, *sfn.SendTaskHeartbeatInput, ...func(*sfn.Options)) (*sfn.SendTaskHeartbeatOutput, error)
}

// HandlerFunc does the work of one task. The output is encoded as JSON
// (json.RawMessage goes through as it is; nil becomes null). An error from Fail
// carries its name to the state machine; any other is reported as Unknown.
//
// The context ends when the task is lost, when the call has taken
// Activity.Timeout, or when the worker's first drain period is over;
// context.Cause tells which. A handler must honour it: Run waits.
type HandlerFunc func(ctx context.Context, t Task) (any, error)

// Middleware wraps a handler, for logging, tracing, metrics and the like.
type Middleware func(HandlerFunc) HandlerFunc

// Activity is one activity that the worker serves.
type Activity struct {
	// ARN is the activity's; Name is for people. Default: the ARN's last part.
	ARN, Name string
	// Handle does the work.
	Handle HandlerFunc
	// Slots bounds the tasks held at once. A slot is taken before a poll is sent,
	// so no token ever waits for one. Default 10.
	Slots int
	// Pollers bounds the polls open at once, at most Slots and at most 1000.
	// Default min(Slots, 4).
	Pollers int
	// Heartbeat is HeartbeatSeconds of the task's state; beats are sent at a third
	// of it. 0: the state has none, so nothing is sent (and a token lost on the
	// wire is noticed only at the state's TimeoutSeconds).
	Heartbeat time.Duration
	// Timeout bounds one call of the handler. Default none; set it below the
	// state's TimeoutSeconds.
	Timeout time.Duration
}

// Config says what to work on and how. SFN and Activities must be set.
type Config struct {
	// SFN is the SDK's client.
	SFN sfnAPI
	// Activities are served side by side.
	Activities []Activity
	// Middleware wraps every handler, the first outermost.
	Middleware []Middleware
	// WorkerName is shown in execution histories, at most 80 characters.
	// Default: "worker-" and something random.
	WorkerName string
	// ErrorPrefix stands before the names that the worker itself gives to
	// failures (NameUnknown and so on), e.g. "Order.". Default "Worker.".
	ErrorPrefix string
	// Offload stores an output larger than 262,144 bytes and returns the small
	// JSON to send instead, a pointer. nil: such outputs fail as DataLimit.
	Offload func(ctx context.Context, t Task, output json.RawMessage) (json.RawMessage, error)
	// DrainTimeout is how long running handlers may go on after a stop; then their
	// contexts end and they have DrainGrace to return and be answered.
	// Defaults 30 s and 10 s.
	DrainTimeout, DrainGrace time.Duration
	// PollGrace is how long a stop waits for polls that are open: the service may
	// hand a task to a poll that was cut off, and such a task is lost until its
	// heartbeat times out. At most 65 s make sense. Default DrainTimeout; negative
	// cuts polls off at once, which is right for an engine in the same process.
	PollGrace time.Duration
	// AnswerTimeout is how long an answer is retried. Default 5 min.
	AnswerTimeout time.Duration
	// PollTimeout bounds one poll. The service holds a poll open for 60 s, so it
	// must be longer. Default 70 s.
	PollTimeout time.Duration
	// FatalAfter is how long polls of an activity may fail with errors that no
	// retry cures (no such activity, access denied) before Run gives up.
	// Default 2 min.
	FatalAfter time.Duration
	// BeatsPerSecond bounds the heartbeats of the whole worker. The service's
	// quota is 300 to 500 per second for an account. Default 250.
	BeatsPerSecond int
	// Log gets faults, never inputs, outputs or tokens. Default: slog.Default().
	Log *slog.Logger
	// Events are hooks for metrics.
	Events Events
}

// Limits of the service: developer guide, "Step Functions service quotas", and
// the API reference of SendTaskFailure.
const (
	maxOutput = 262_144
	maxCause  = 32_768
	maxName   = 256
	maxWorker = 80
)

// withDefaults checks the configuration and fills in what was left out.
func (c Config) withDefaults() (Config, error) {
	switch {
	case c.SFN == nil:
		return c, errors.New("activities: Config.SFN must be set")
	case len(c.Activities) == 0:
		return c, errors.New("activities: Config.Activities is empty")
	case utf8.RuneCountInString(c.WorkerName) > maxWorker:
		return c, fmt.Errorf("activities: Config.WorkerName has more than %d characters", maxWorker)
	case strings.HasPrefix(c.ErrorPrefix, "States."):
		return c, errors.New(`activities: Config.ErrorPrefix starts with "States.", which is the service's own`)
	}
	or(&c.WorkerName, "worker-"+rand.Text()[:10])
	or(&c.ErrorPrefix, "Worker.")
	or(&c.DrainTimeout, 30*time.Second)
	or(&c.DrainGrace, 10*time.Second)
	or(&c.PollGrace, c.DrainTimeout)
	or(&c.AnswerTimeout, 5*time.Minute)
	or(&c.PollTimeout, 70*time.Second)
	or(&c.FatalAfter, 2*time.Minute)
	or(&c.BeatsPerSecond, 250)

	if c.Log == nil {
		c.Log = slog.Default()
	}

	seen := make(map[string]bool, len(c.Activities))
	out := make([]Activity, len(c.Activities))
	for i, a := range c.Activities {
		switch {
		case a.ARN == "" || a.Handle == nil:
			return c, fmt.Errorf("activities: activity %d needs an ARN and a Handle", i)
		case seen[a.ARN]:
			return c, fmt.Errorf("activities: %s is served twice", a.ARN)
		case a.Heartbeat != 0 && a.Heartbeat < time.Second:
			return c, fmt.Errorf("activities: heartbeat of %s is %v, want at least 1s", a.ARN, a.Heartbeat)
		}
		seen[a.ARN] = true
		or(&a.Name, a.ARN[strings.LastIndexByte(a.ARN, ':')+1:])
		or(&a.Slots, 10)
		or(&a.Pollers, 4)

		a.Pollers = min(a.Pollers, a.Slots, 1000)
		if a.Slots < 1 || a.Pollers < 1 {
			return c, fmt.Errorf("activities: %s has %d slots and %d pollers, want at least 1", a.Name, a.Slots, a.Pollers)
		}

		for j := len(c.Middleware) - 1; j >= 0; j-- {
			a.Handle = c.Middleware[j](a.Handle)
		}
		out[i] = a
	}
	c.Activities = out

	return c, nil
}

// or gives *p the value d when it is zero.
func or[T comparable](p *T, d T) {
	var zero T
	if *p == zero {
		*p = d
	}
}
