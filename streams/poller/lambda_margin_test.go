package poller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/streams"
	"ratchet/streams/lambda"
)

// TestALambdaReportsBeforeItsDeadline: the handlers' contexts end before the function's deadline, and what
// is not handled by then is reported as failed.
func TestALambdaReportsBeforeItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()

		fn := newLambda(t, lambda.Config{Concurrency: 1, Handlers: []streams.Handler{{
			Name: "slow", Timeout: time.Hour,
			Handle: func(ctx context.Context, _ streams.Record) error {
				<-ctx.Done()
				return ctx.Err()
			},
		}}})

		out, err := fn.Handle(ctx, lambdaEvent(lambdaModify("o-1", 1, 98), lambdaModify("o-2", 1, 99)))
		if err != nil || len(out.Failures) != 2 || ctx.Err() != nil {
			t.Errorf("reported %+v, %v, after the deadline: %v", out, err, ctx.Err())
		}

		if deadline, _ := ctx.Deadline(); time.Until(deadline) != 2*time.Second {
			t.Errorf("%v before the deadline", time.Until(deadline))
		}
	})
}
