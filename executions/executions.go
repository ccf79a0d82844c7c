package executions

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/transitions"
	"ratchet/workflow"
)

// StepFunctions is what this package calls of a *sfn.Client.
type StepFunctions interface {
	StartExecution(context.Context, *sfn.StartExecutionInput, ...func(*sfn.Options)) (*sfn.StartExecutionOutput, error)
	DescribeExecution(context.Context, *sfn.DescribeExecutionInput, ...func(*sfn.Options)) (*sfn.DescribeExecutionOutput, error)
	RedriveExecution(context.Context, *sfn.RedriveExecutionInput, ...func(*sfn.Options)) (*sfn.RedriveExecutionOutput, error)
}

// Config configures [Executions]. SFN, Orders and Machine are required.
type Config struct {
	SFN    StepFunctions
	Orders *transitions.Orders
	// Machine returns the ARN of the state machine. It is called for every operation.
	Machine func(context.Context) (string, error)
	// Settled are the states whose orders need no execution any more, beside the terminal
	// states of orders without one. Default: the states of [workflow.Order] from DELIVERED
	// on.
	Settled []workflow.State
	// Deadline is how long an execution may run without moving its order before a survey
	// calls the order overdue. Default 7 days, the deadline of the state machine's waits.
	Deadline time.Duration
	// StartWithin is how long an order may exist without an execution before a survey names
	// it. Default 10 minutes.
	StartWithin time.Duration
}

const (
	defaultDeadline    = 7 * 24 * time.Hour
	defaultStartWithin = 10 * time.Minute
)

// Executions looks after the executions of one state machine. It is safe for concurrent
// use.
type Executions struct{ cfg Config }

// New returns Executions. The error names every field that is missing.
func New(cfg Config) (*Executions, error) {
	var faults []error
	require := func(set bool, name string) {
		if !set {
			faults = append(faults, errors.New("executions: Config."+name+": must be set"))
		}
	}
	require(cfg.SFN != nil, "SFN")
	require(cfg.Orders != nil, "Orders")
	require(cfg.Machine != nil, "Machine")

	if cfg.Deadline < 0 || cfg.StartWithin < 0 {
		faults = append(faults, errors.New("executions: Config.Deadline and Config.StartWithin: must not be negative"))
	}

	if len(cfg.Settled) == 0 {
		cfg.Settled = []workflow.State{
			workflow.Delivered,
			workflow.ReturnRequested,
			workflow.Returned,
			workflow.Refunded,
			workflow.Completed,
		}
	}

	if cfg.Deadline == 0 {
		cfg.Deadline = defaultDeadline
	}

	if cfg.StartWithin == 0 {
		cfg.StartWithin = defaultStartWithin
	}

	return &Executions{cfg}, errors.Join(faults...)
}
