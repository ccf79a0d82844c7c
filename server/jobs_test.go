package server_test

import (
	"context"
	"testing"

	"ratchet/embedded"
	"ratchet/operate/jobs"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

// TestJobsRepairWhatTheStreamHasLost: no worker runs while an order moves, and the stream loses its records. A job brings
// the order's journal and effects, another one gives them to a handler again, which repeats no effect, and a third one
// makes the lists.
func TestJobsRepairWhatTheStreamHasLost(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{NoWorker: true, Server: server.Config{OrderLists: true}})
	b := env.Backend

	env.Place(ratchettest.NewOrder("o-1", "mug"))
	env.Move("o-1", workflow.Pay)

	status, err := b.StreamInspector().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if err := b.Engine.TrimStream(t.Context(), status.Stream, embedded.TrimPoint{}); err != nil {
		t.Fatal(err)
	}

	runner, err := b.JobRunner("test")
	if err != nil {
		t.Fatal(err)
	}

	run := func(n jobs.New, done int) {
		t.Helper()

		n.By, n.Reason, n.Rate = "cli:ann", "the stream has lost records", 1000

		j, err := b.Jobs.Create(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}

		j, err = runner.RunOne(t.Context(), "", j.ID)
		if err != nil || j.State != jobs.Done || j.Counts["done"] != done || j.Results() != done {
			t.Fatalf("%s: %+v, %v", n.Kind, j, err)
		}
	}

	run(jobs.New{Kind: jobs.RefillStream}, 1)
	env.Go("worker", func(ctx context.Context) error { return b.Run(ctx, "worker") })
	env.WantJournal("o-1", workflow.Pending, workflow.PaymentReceived)
	env.WantEffects("o-1", "2/shipping", "2/notify")

	run(jobs.New{Kind: jobs.ReplayStream, Filter: jobs.Filter{Handler: "notify"}}, 1)
	env.Wait("the replayed changes", func() (bool, string, error) {
		item, waits, err := b.RetryQueue().WaitingOf(t.Context(), "notify", b.Orders.Mapping().ItemKey("o-1"))

		return !waits || item.Records == 0, "they wait", err
	})

	run(jobs.New{Kind: jobs.RebuildLists}, lists.Parts)

	if ready, err := b.Lists.Ready(t.Context()); err != nil || !ready {
		t.Errorf("the lists: %t, %v", ready, err)
	}
}
