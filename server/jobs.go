package server

import (
	"context"

	"ratchet/operate/jobs"
)

func (b *Backend) assembleJobs() (err error) {
	b.Jobs, err = jobs.NewStore(jobs.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Jobs})
	return err
}

// JobRunner returns a runner of the jobs. The name shows in a job while the runner owns it.
func (b *Backend) JobRunner(name string) (*jobs.Runner, error) {
	eraser, err := b.Eraser()
	if err != nil {
		return nil, err
	}

	return jobs.NewRunner(jobs.RunnerConfig{
		Store: b.Jobs,
		Audit: b.Audit,
		Name:  name,
		Log:   b.log,
		Works: map[jobs.Kind]jobs.Work{
			jobs.RedriveExecutions:  jobs.Executions{Executions: b.Executions},
			jobs.RedriveDeadLetters: jobs.DeadLetters{Queue: b.RetryQueue()},
			jobs.DiscardDeadLetters: jobs.DeadLetters{Queue: b.RetryQueue(), Discard: true},
			jobs.ResendDeliveries:   jobs.Deliveries{Deliveries: b.Deliveries},
			jobs.EraseOrders:        jobs.Erasures{Orders: b.Orders, Eraser: eraser},
		},
	})
}

// runJobs runs the jobs until ctx ends.
func (b *Backend) runJobs(ctx context.Context, name string) error {
	runner, err := b.JobRunner(name)
	if err != nil {
		return err
	}

	return runner.Run(ctx)
}
