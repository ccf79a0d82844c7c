package jobs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"ratchet/operate/jobs"
)

// manySubjects is a kind of work with many subjects. It notes which jobs have acted.
type manySubjects struct {
	mu   sync.Mutex
	acts map[string]map[string]bool // jobs by tenant
}

func (*manySubjects) Select(_ context.Context, _ jobs.Job, found func(jobs.Subject) error) error {
	for i := range 500 {
		if err := found(jobs.Subject{ID: fmt.Sprintf("s-%05d", i)}); err != nil {
			return err
		}
	}

	return nil
}

func (*manySubjects) Look(_ context.Context, _ jobs.Job, id string) (jobs.Subject, error) {
	return jobs.Subject{ID: id}, nil
}

func (e *manySubjects) Act(ctx context.Context, j jobs.Job, _ jobs.Subject) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()

	if e.acts[j.Tenant] == nil {
		e.acts[j.Tenant] = map[string]bool{}
	}
	e.acts[j.Tenant][j.ID] = true

	return "done", ctx.Err()
}

// TestTenantsShareThePlacesOfARunner: two tenants have more endless jobs than a runner has places. The job of a third one
// ends, and each of theirs goes on.
func TestTenantsShareThePlacesOfARunner(t *testing.T) {
	o := newOffice(t)
	work := &manySubjects{acts: map[string]map[string]bool{}}
	kinds := []jobs.Kind{jobs.RedriveExecutions, jobs.ResendDeliveries, jobs.EraseOrders}

	filter := map[jobs.Kind]jobs.Filter{jobs.ResendDeliveries: {Endpoint: "shop"}, jobs.EraseOrders: {EndedBefore: time.Unix(1, 0)}}
	for _, tenant := range []string{"a", "b"} {
		for _, kind := range kinds {
			o.create(func(n *jobs.New) { n.Tenant, n.Kind, n.Filter, n.Rate = tenant, kind, filter[kind], 20 })
		}
	}

	stop := o.run(o.runner("worker", o.db, o.sfn, func(cfg *jobs.RunnerConfig) {
		cfg.Works = map[jobs.Kind]jobs.Work{}
		for _, kind := range kinds {
			cfg.Works[kind] = work
		}
		cfg.SetTurn(100 * time.Millisecond)
	}))
	defer stop()

	all := func(want map[string]int) bool {
		work.mu.Lock()
		defer work.mu.Unlock()

		for tenant, n := range want {
			if len(work.acts[tenant]) != n {
				return false
			}
		}

		return true
	}
	within := func(what string, holds func() bool) {
		t.Helper()

		for began := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("%s: the acts: %v", what, work.acts)
			}
		}
	}

	within("every job of both tenants has had a turn", func() bool { return all(map[string]int{"a": 3, "b": 3}) })

	last := o.create(func(n *jobs.New) { n.Tenant, n.IDs = "z", []string{"s-1", "s-2", "s-3"} })
	within("the job of the third tenant ends", func() bool {
		j, err := o.store.Get(t.Context(), "z", last.ID)
		if err != nil {
			t.Fatal(err)
		}

		return j.State == jobs.Done
	})
}

// TestATenantHasItsShareOfARunner: with its own jobs only, a tenant has half of the places.
func TestATenantHasItsShareOfARunner(t *testing.T) {
	o := newOffice(t)
	work := &gauge{let: make(chan struct{})}
	filter := map[jobs.Kind]jobs.Filter{jobs.ResendDeliveries: {Endpoint: "shop"}, jobs.EraseOrders: {EndedBefore: time.Unix(1, 0)}}
	works := map[jobs.Kind]jobs.Work{}

	for _, kind := range []jobs.Kind{jobs.RedriveExecutions, jobs.ResendDeliveries, jobs.EraseOrders} {
		o.create(func(n *jobs.New) { n.Tenant, n.Kind, n.Filter = "a", kind, filter[kind] })
		works[kind] = work
	}
	other := o.create(func(n *jobs.New) { n.Tenant = "b" })

	stop := o.run(o.runner("worker", o.db, o.sfn, func(cfg *jobs.RunnerConfig) { cfg.Works = works }))
	defer stop()

	// The job of the other tenant, which is the youngest, acts beside two of the three older ones.
	acts := map[string]int{}
	for range 3 {
		j := work.next(t)
		acts[j.Tenant]++
	}

	if acts["a"] != 2 || acts["b"] != 1 {
		t.Errorf("at the same time act: %v (the other job is %s)", acts, other.ID)
	}
	close(work.let)
}

// gauge is work whose acts wait.
type gauge struct {
	let chan struct{}

	mu    sync.Mutex
	began []jobs.Job
}

func (*gauge) Select(_ context.Context, _ jobs.Job, found func(jobs.Subject) error) error {
	return found(jobs.Subject{ID: "s-1"})
}

func (*gauge) Look(_ context.Context, _ jobs.Job, id string) (jobs.Subject, error) {
	return jobs.Subject{ID: id}, nil
}

func (g *gauge) Act(ctx context.Context, j jobs.Job, _ jobs.Subject) (string, error) {
	g.mu.Lock()
	g.began = append(g.began, j)
	g.mu.Unlock()

	select {
	case <-g.let:
		return "done", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// next waits for the next act that begins.
func (g *gauge) next(t *testing.T) jobs.Job {
	t.Helper()

	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(5 * time.Millisecond) {
		g.mu.Lock()
		if len(g.began) > 0 {
			j := g.began[0]
			g.began = g.began[1:]
			g.mu.Unlock()

			return j
		}
		g.mu.Unlock()
	}
	t.Fatal("no act begins")

	return jobs.Job{}
}
