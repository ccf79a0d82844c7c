package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

var awsMetrics = []Metric{
	{"ratchet_aws_calls_total", Counter, []string{"service", "operation", "result"}, "Calls of AWS, retries included in the call; result is ok, the error's code, canceled, timeout or connection"},
	{"ratchet_aws_call_duration_seconds", Histogram, []string{"service", "operation"}, "Time that a call took with its retries; GetActivityTask and ReceiveMessage wait for work"},
	{"ratchet_aws_retries_total", Counter, []string{"service", "operation"}, "Attempts after the first one of a call"},
	{"ratchet_aws_throttles_total", Counter, []string{"service", "operation"}, "Attempts that AWS answered with a request to slow down"},
	{"ratchet_dynamodb_capacity_units_total", Counter, []string{"table", "kind"}, "Capacity units that answered calls consumed, kind is read or write; DynamoDB reports none for a failed condition"},
}

type awsInstruments struct {
	calls, retries, throttles, capacity counter
	took                                histogram
	codes                               *names
}

func newAWSInstruments(m *meter) awsInstruments {
	return awsInstruments{
		calls:     m.counter(awsMetrics, "ratchet_aws_calls_total"),
		took:      m.histogram(awsMetrics, "ratchet_aws_call_duration_seconds"),
		retries:   m.counter(awsMetrics, "ratchet_aws_retries_total"),
		throttles: m.counter(awsMetrics, "ratchet_aws_throttles_total"),
		capacity:  m.counter(awsMetrics, "ratchet_dynamodb_capacity_units_total"),
		codes:     &names{},
	}
}

// MeasureAWS counts the calls of the clients that are made of cfg afterwards. It makes the clients
// ask DynamoDB for the capacity that each call consumes, which costs nothing.
func (t *Telemetry) MeasureAWS(cfg *aws.Config) {
	measure := middleware.InitializeMiddlewareFunc("RatchetTelemetry",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
			out middleware.InitializeOutput, metadata middleware.Metadata, err error,
		) {
			in.Parameters = askingForCapacity(in.Parameters)
			began := time.Now()

			out, metadata, err = next.HandleInitialize(ctx, in)
			t.aws.called(ctx, metadata, time.Since(began), err)

			if err == nil {
				t.aws.consumed(out.Result)
			}

			return out, metadata, err
		})

	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		// In the first step of the stack, so that the time includes retries; last in this step,
		// so that the context has the names of the service and the operation.
		return stack.Initialize.Add(measure, middleware.After)
	})
}

// called counts a call.
func (a *awsInstruments) called(ctx context.Context, metadata middleware.Metadata, took time.Duration, err error) {
	service, operation := middleware.GetServiceID(ctx), middleware.GetOperationName(ctx)
	a.calls.inc(service, operation, a.result(ctx, err))
	a.took.observe(took, service, operation)

	attempts, _ := retry.GetAttemptResults(metadata)
	// The first attempt is no retry.
	if n := len(attempts.Results); n > 1 {
		a.retries.plus(float64(n-1), service, operation)
	}

	throttled := 0
	// Each attempt is looked at: a call may succeed after throttled attempts.
	for _, attempt := range attempts.Results {
		if attempt.Err != nil && isThrottle.IsErrorThrottle(attempt.Err) == aws.TrueTernary {
			throttled++
		}
	}

	if throttled > 0 {
		a.throttles.plus(float64(throttled), service, operation)
	}
}

var isThrottle = retry.IsErrorThrottles(retry.DefaultThrottles)

// result is the label of a call's result.
func (a *awsInstruments) result(ctx context.Context, err error) string {
	var answer smithy.APIError
	var canceled *aws.RequestCanceledError

	// The order matters: a timeout wraps a cancellation, and a service's answer says more than
	// either.
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &answer):
		return a.codes.of(answer.ErrorCode())
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled), errors.As(err, &canceled):
		return "canceled"
	}

	return "connection"
}
