package executions

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/transitions"
)

// StepFunctions has the methods of a *sfn.Client that this package calls.
type StepFunctions interface {
	StartExecution(context.Context, *sfn.StartExecutionInput, ...func(*sfn.Options)) (*sfn.StartExecutionOutput, error)
	DescribeExecution(context.Context, *sfn.DescribeExecutionInput, ...func(*sfn.Options)) (*sfn.DescribeExecutionOutput, error)
	RedriveExecution(context.Context, *sfn.RedriveExecutionInput, ...func(*sfn.Options)) (*sfn.RedriveExecutionOutput, error)
	ListExecutions(context.Context, *sfn.ListExecutionsInput, ...func(*sfn.Options)) (*sfn.ListExecutionsOutput, error)
	GetExecutionHistory(context.Context, *sfn.GetExecutionHistoryInput, ...func(*sfn.Options)) (*sfn.GetExecutionHistoryOutput, error)
}

// Marks stores the [Mark] of the surveys.
type Marks interface {
	// Mark returns the zero value if none is stored.
	Mark(context.Context) (Mark, error)
	// SetMark stores next unless the stored mark is another one than seen by now.
	SetMark(ctx context.Context, seen, next Mark) error
}

// Config configures [Executions]. SFN, Orders and Machine are required.
type Config struct {
	SFN    StepFunctions
	Orders *transitions.Orders
	// Machine returns the ARN of the state machine. It is called for every operation.
	Machine func(context.Context) (string, error)
	// Marks bounds how far back a survey looks for executions without an order. Without it, a survey looks
	// at all executions that have failed.
	Marks Marks
	// LostParcel returns the carrier's report that a parcel of the order was lost. A survey
	// calls it for orders of which a parcel has left, from several goroutines. Without it,
	// no order is listed for that reason.
	LostParcel func(context.Context, *transitions.Order) (report LostParcel, found bool, err error)
}

const (
	// deadline is the deadline of states that have no other one.
	deadline         = 14 * 24 * time.Hour
	deliveryDeadline = 30 * 24 * time.Hour
	// startWithin is how long an order may exist without an execution before a survey names it.
	startWithin = 10 * time.Minute
	// endWithin is how long an execution may run when its order is in a terminal state. After that,
	// a survey also names a compensation that only waits for the end of an outage.
	endWithin = time.Hour
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

	return &Executions{cfg}, errors.Join(faults...)
}
