package executions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/transitions"
	"ratchet/workflow"
)

// StepFunctions has the methods of a *sfn.Client that this package calls.
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
	// Finished are the states whose orders need no execution any more, beside the terminal
	// states of orders without one. Default, if it is nil: the states of [workflow.Order] from
	// DELIVERED on.
	Finished []workflow.State
	// Deadline is how long an execution may run without moving its order before a survey
	// calls the order overdue. Default 14 days, the deadline of the state machine's waits
	// for the shipment and for a release.
	Deadline time.Duration
	// Deadlines replace Deadline for single states. Default: 30 days in SHIPPED, the deadline of
	// the state machine's wait for the delivery.
	Deadlines map[workflow.State]time.Duration
	// LostParcel returns the carrier's report that a parcel of the order was lost. A survey
	// calls it for orders of which a parcel has left, from several goroutines. Without it,
	// no order is listed for that reason.
	LostParcel func(context.Context, transitions.OrderID) (report LostParcel, found bool, err error)
	// StartWithin is how long an order may exist without an execution before a survey names
	// it. Default 10 minutes.
	StartWithin time.Duration
	// EndWithin is how long an execution may run when its order is in a terminal state. Default
	// one hour; after that, a survey also names a compensation that only waits for the end of
	// an outage.
	EndWithin time.Duration
}

const (
	defaultDeadline         = 14 * 24 * time.Hour
	defaultDeliveryDeadline = 30 * 24 * time.Hour
	defaultStartWithin      = 10 * time.Minute
	defaultEndWithin        = time.Hour
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

	if cfg.Deadline < 0 || cfg.StartWithin < 0 || cfg.EndWithin < 0 {
		faults = append(faults, errors.New("executions: Config.Deadline, Config.StartWithin and Config.EndWithin: must not be negative"))
	}

	for state, d := range cfg.Deadlines {
		if d <= 0 {
			faults = append(faults, fmt.Errorf("executions: Config.Deadlines[%s]: must be positive", state))
		}
	}

	// An empty list is a choice of the caller: no state is settled then. Only nil means the
	// default.
	if cfg.Finished == nil {
		cfg.Finished = []workflow.State{
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

	if cfg.Deadlines == nil {
		cfg.Deadlines = map[workflow.State]time.Duration{workflow.Shipped: defaultDeliveryDeadline}
	}

	if cfg.StartWithin == 0 {
		cfg.StartWithin = defaultStartWithin
	}

	if cfg.EndWithin == 0 {
		cfg.EndWithin = defaultEndWithin
	}

	return &Executions{cfg}, errors.Join(faults...)
}
