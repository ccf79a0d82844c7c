package server

import (
	"context"
	"fmt"
	"slices"

	"ratchet/operate/erasure"
	"ratchet/operate/jobs"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/streams/replay"
	"ratchet/transitions"
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

	works := map[jobs.Kind]jobs.Work{
		jobs.RedriveExecutions:  jobs.Executions{Executions: b.Executions},
		jobs.RedriveDeadLetters: jobs.DeadLetters{Queue: b.RetryQueue()},
		jobs.DiscardDeadLetters: jobs.DeadLetters{Queue: b.RetryQueue(), Discard: true},
		jobs.ResendDeliveries:   jobs.Deliveries{Deliveries: b.Deliveries},
		jobs.EraseOrders:        jobs.Erasures{Ended: erasure.Ended{Orders: b.Orders, Lists: b.Lists}, Eraser: eraser},
		jobs.ReplayStream:       jobs.Stream{Orders: b.Orders, Rebuild: b.jobReplay},
		jobs.RefillStream:       jobs.Stream{Orders: b.Orders, Rebuild: b.jobRefill},
		jobs.MigrateOrders:      &jobs.Migrations{Orders: b.Orders},
	}
	if b.Lists != nil {
		works[jobs.RebuildLists] = jobs.Lists{Lists: b.Lists}
	}

	return jobs.NewRunner(jobs.RunnerConfig{Store: b.Jobs, Audit: b.Audit, Name: name, Log: b.log, Works: works})
}

// jobReplay gives handled changes of an order to handlers again, as `ratchet streams replay --from-journal` does.
func (b *Backend) jobReplay(j jobs.Job, order transitions.OrderID) (replay.Rebuild, error) {
	r, err := b.jobRebuild(j, order)
	r.Name, r.Repeat, r.Expand = "replay", true, b.Expander(Repair{FromJournal: true})

	if j.Again {
		// The same for every owner of the job, so that an effect is repeated once.
		r.Again = j.ID
	}

	return r, err
}

// jobRefill gives handlers what a gap of the stream has kept from them, as `ratchet streams rebuild --from-journal` does.
func (b *Backend) jobRefill(j jobs.Job, order transitions.OrderID) (replay.Rebuild, error) {
	r, err := b.jobRebuild(j, order)
	closes := j.Filter.Handler == "" || j.Filter.Handler == reactions.JournalHandler
	r.Name, r.Expand = "rebuild", b.Expander(Repair{FromJournal: true, CloseJournal: closes})

	return r, err
}

func (b *Backend) jobRebuild(j jobs.Job, order transitions.OrderID) (replay.Rebuild, error) {
	handlers := b.Handlers()
	if j.Filter.Handler != "" {
		handlers = slices.DeleteFunc(slices.Clone(handlers), func(h streams.Handler) bool { return h.Name != j.Filter.Handler })
	}

	if len(handlers) == 0 {
		return replay.Rebuild{}, fmt.Errorf("handler %s: this worker has none of the name", j.Filter.Handler)
	}
	r := b.Rebuild(handlers, order)
	r.Since = j.Filter.Since

	return r, nil
}

// runJobs runs the jobs until ctx ends.
func (b *Backend) runJobs(ctx context.Context, name string) error {
	runner, err := b.JobRunner(name)
	if err != nil {
		return err
	}

	return runner.Run(ctx)
}
