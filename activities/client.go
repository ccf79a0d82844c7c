package activities

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

// Client has the calls of Step Functions that this package makes. *sfn.Client implements it, and a
// caller may wrap that client. The package passes an option that turns the SDK's retries off, because
// it retries each call by its own rules.
type Client interface {
	GetActivityTask(context.Context, *sfn.GetActivityTaskInput, ...func(*sfn.Options)) (*sfn.GetActivityTaskOutput, error)
	SendTaskSuccess(context.Context, *sfn.SendTaskSuccessInput, ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error)
	SendTaskFailure(context.Context, *sfn.SendTaskFailureInput, ...func(*sfn.Options)) (*sfn.SendTaskFailureOutput, error)
	SendTaskHeartbeat(context.Context, *sfn.SendTaskHeartbeatInput, ...func(*sfn.Options)) (*sfn.SendTaskHeartbeatOutput, error)
}

// withoutRetries turns the SDK's retries off.
func withoutRetries(o *sfn.Options) { o.Retryer = aws.NopRetryer{} }

// timeLimit bounds calls that follow each other. The calls share one context until a call runs out of
// time: a new context for each call would double this package's work for the call.
//
// The context has no Deadline: the SDK would write one into a header of every call, which
// Step Functions does not use.
type timeLimit struct {
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// begin returns the context of the next call, which ends after d with the cause
// context.DeadlineExceeded. The call must be followed by end.
func (l *timeLimit) begin(parent context.Context, d time.Duration) context.Context {
	if l.timer != nil && l.parent == parent && l.ctx.Err() == nil {
		l.timer.Reset(d)
		return l.ctx
	}
	l.close()

	ctx, cancel := context.WithCancelCause(parent)
	l.parent, l.ctx, l.cancel = parent, ctx, cancel
	l.timer = time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })

	return ctx
}

// end ends the time of a call.
func (l *timeLimit) end() {
	if !l.timer.Stop() {
		l.close() // the timer cancels the context, so the next call needs a new one
	}
}

// close frees the context.
func (l *timeLimit) close() {
	if l.timer != nil {
		l.timer.Stop()
		l.cancel(nil)
		l.timer = nil
	}
}
