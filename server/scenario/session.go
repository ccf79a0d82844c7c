package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/worker"
	"ratchet/server"
)

// Session is one run of a plan.
type Session struct {
	Plan  Plan
	Sent  Sent
	Meter Meter
	// Prepare, if it is set, runs before the first request, while the workers run. It may store orders whose ids
	// begin with [StoredPrefix].
	Prepare func(context.Context, *server.Backend) error
	// Ended, if it is set, is called when the last execution has ended, before the recount.
	Ended func()
	// Took is the time from the first request to the end of the last execution.
	Took time.Duration
}

// maxRunning is how many orders run at the same time. That many keep two cores busy. With more, the
// measured latency of a reaction would mostly be time in a queue.
const maxRunning = 160

// consistentWithin is how long Run waits for reactions after the last execution has ended. If a worker
// was killed during the attempt of a delivery, the next attempt begins after the attempt's lease (60 s)
// and at the next look for due deliveries (15 s). The wait is longer than both together.
const consistentWithin = 100 * time.Second

// Run drives the plan on an embedded backend with two workers, waits until every execution has ended,
// and recounts until everything is consistent, for at most 100 s. Open the backend with the session's
// Meter.Events.
func (s *Session) Run(ctx context.Context, b *server.Backend) (Count, error) {
	if b.Carrier == nil {
		return Count{}, errors.New("the plan needs the sandbox carrier")
	}

	if err := b.Init(ctx); err != nil {
		return Count{}, err
	}

	if err := s.Plan.Fill(ctx, b); err != nil {
		return Count{}, err
	}
	s.Plan.DisturbCarrier(b, &s.Sent)

	// The cause of the end says whether the plan has ended or the caller's context.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return b.Engine.Run(ctx) })
	group.Go(func() error { return b.RunCarrier(ctx) })

	for _, name := range []string{"worker-1", "worker-2"} {
		group.Go(func() error { return b.Run(ctx, name) })
	}

	var count Count
	group.Go(func() (err error) {
		if s.Prepare != nil {
			if err := s.Prepare(ctx, b); err != nil {
				return err
			}
			s.Meter.forgetLatencies()
		}
		began := time.Now()

		if err = s.Plan.Drive(ctx, b, &s.Sent, s.Meter.admit(maxRunning)); err != nil {
			return err
		}

		if err = Wait(ctx, b); err != nil {
			return err
		}
		// Took does not include reactions of the stream that end after the last execution.
		s.Took = time.Since(began)

		if s.Ended != nil {
			s.Ended()
		}
		count, err = s.Plan.RecountUntilConsistent(ctx, b)
		stop(errDone)

		return err
	})

	if err := group.Wait(); err != nil {
		return Count{}, err
	}

	if cause := context.Cause(ctx); !errors.Is(cause, errDone) {
		return Count{}, cause
	}

	return count, nil
}

// errDone is the cause with which Run stops its workers.
var errDone = errors.New("done")

// Wait waits until no execution is running.
func Wait(ctx context.Context, b *server.Backend) error {
	arn, err := b.StateMachineARN(ctx)
	if err != nil {
		return err
	}

	for {
		out, err := b.SFN.ListExecutions(ctx, &sfn.ListExecutionsInput{
			StateMachineArn: &arn,
			StatusFilter:    sfntypes.ExecutionStatusRunning,
			MaxResults:      1,
		})
		if err != nil {
			return fmt.Errorf("list running executions: %w", err)
		}

		if len(out.Executions) == 0 {
			return nil
		}

		if !worker.Wait(ctx, 50*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// RecountUntilConsistent recounts until everything is consistent, for at most 100 s, because the last
// reactions of the stream come after the end of the last execution. It returns the newest count.
func (p Plan) RecountUntilConsistent(ctx context.Context, b *server.Backend) (Count, error) {
	deadline := time.Now().Add(consistentWithin)
	for {
		count, err := p.Recount(ctx, b)
		if err != nil || len(count.Discrepancies) == 0 || time.Now().After(deadline) {
			return count, err
		}

		if !worker.Wait(ctx, 100*time.Millisecond) {
			return count, context.Cause(ctx)
		}
	}
}
