package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/operate/audit"
)

// Subject is one thing that a job acts on.
type Subject struct {
	// ID is the stored id.
	ID string
	// Place orders the subjects of a job; it is unique. Default: ID.
	Place string
	// Mark is the version of the subject that the selection has seen. An act compares it, so that an act that
	// has happened is not repeated.
	Mark string
	// Code, if it is set, says why the subject is selected without an act.
	Code string
}

// Work is what a kind of job does.
type Work interface {
	// Select calls found for each subject that the filter of the job selects. It may name a subject twice.
	Select(ctx context.Context, j Job, found func(Subject) error) error
	// Look returns the subject with the id. It has a code if there is nothing to act on.
	Look(ctx context.Context, j Job, id string) (Subject, error)
	// Act does the act of the job once. It returns [codeDone], also if it was done since the selection, or the
	// code of why it was not done. An error that is no code of the subject ends the attempt; the act is tried
	// again.
	Act(ctx context.Context, j Job, s Subject) (code string, err error)
}

// refuser is a Work that not every process can do.
type refuser interface {
	// Refuses returns why this process cannot work on the job, an ErrElsewhere, or nil.
	Refuses(j Job) error
}

// ErrElsewhere says that another process must run the job. The text says why.
var ErrElsewhere = errors.New("jobs: not in this process")

// RunnerConfig configures a [Runner]. Store, Works, Audit and Name are required.
type RunnerConfig struct {
	Store *Store
	Works map[Kind]Work
	// Audit gets a row for each act.
	Audit *audit.Log
	// Name names the owner in jobs.
	Name string
	// Lease is how long a job has no other owner after the last sign of life, at least a second. Default: 30 s.
	Lease time.Duration
	// Look is the time between two looks for jobs, at least a millisecond. Default: 5 s.
	Look time.Duration
	// AtOnce is how many jobs run at the same time, half of them for one tenant at most. Default: 4.
	AtOnce int
	// Log gets failures. Default: slog.Default().
	Log *slog.Logger

	// turn is how long a job runs before it makes room, between two acts, for one that waits for its place. Default: 1 min.
	turn time.Duration
}

// Runner runs jobs. Any number of runners share the jobs of a table.
type Runner struct {
	cfg RunnerConfig

	mu      sync.Mutex
	turns   map[string]*turn     // the jobs that run
	begun   map[string]time.Time // the last turn of open jobs
	refused map[string]bool      // jobs that this process has said it cannot run
}

// NewRunner checks cfg and returns a runner.
func NewRunner(cfg RunnerConfig) (*Runner, error) {
	cfg.Lease = cmp.Or(cfg.Lease, 30*time.Second)
	cfg.Look = cmp.Or(cfg.Look, 5*time.Second)
	cfg.AtOnce = cmp.Or(cfg.AtOnce, 4)
	cfg.turn = cmp.Or(cfg.turn, time.Minute)

	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}

	var faults []error
	require := func(ok bool, rule string) {
		if !ok {
			faults = append(faults, errors.New("jobs: RunnerConfig."+rule))
		}
	}
	require(cfg.Store != nil, "Store: must be set")
	require(len(cfg.Works) > 0, "Works: must be set")
	require(cfg.Audit != nil, "Audit: must be set")
	require(cfg.Name != "", "Name: must be set")
	require(cfg.Lease >= time.Second, "Lease: at least 1s")
	require(cfg.Look >= time.Millisecond, "Look: at least 1ms")
	require(cfg.AtOnce >= 1, "AtOnce: at least 1")

	return &Runner{cfg: cfg, turns: map[string]*turn{}, begun: map[string]time.Time{}, refused: map[string]bool{}}, errors.Join(faults...)
}

// Run runs jobs until ctx ends. It ends the acts that run, and gives the jobs back.
func (r *Runner) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()

	for {
		open, err := r.cfg.Store.open(ctx)
		if err != nil && ctx.Err() == nil {
			r.cfg.Log.WarnContext(ctx, "the open jobs cannot be read", "error", err)
		}

		if err == nil {
			r.forget(open)
			r.inOrder(open)
		}

		for _, j := range open {
			if !r.free(j) {
				continue
			}

			if err := r.refuses(j); err != nil {
				r.sayOnce(ctx, j, err)
				continue
			}

			turn := r.begin(j)
			if turn == nil {
				continue
			}

			group.Go(func() {
				defer r.end(j.ID)
				r.take(ctx, j, turn)
			})
		}

		if !worker.Wait(ctx, r.cfg.Look) {
			return nil
		}
	}
}

// RunOne runs one job until it has ended or is paused, and returns it. If ctx ends, it pauses the job. It fails with
// ErrElsewhere if this process cannot run it.
func (r *Runner) RunOne(ctx context.Context, tenant, id string) (Job, error) {
	for {
		j, err := r.cfg.Store.Get(context.WithoutCancel(ctx), tenant, id)
		if err != nil || j.State.Ended() || j.State == Paused {
			return j, err
		}

		if ctx.Err() != nil {
			return r.cfg.Store.Pause(context.WithoutCancel(ctx), tenant, id)
		}

		if r.free(j) {
			if err := r.refuses(j); err != nil {
				return j, err
			}
			r.take(ctx, j, nil)

			// A job that was given back after an error is not taken again at once.
			if j, err = r.cfg.Store.Get(context.WithoutCancel(ctx), tenant, id); err != nil || j.State.Ended() || j.State == Paused {
				continue
			}
		}
		worker.Wait(ctx, time.Second)
	}
}

// free reports whether the job waits for an owner.
func (r *Runner) free(j Job) bool {
	return (j.State == Waiting || j.State == Running) && !j.owned(r.cfg.Store.now())
}

// refuses returns why this process cannot run the job.
func (r *Runner) refuses(j Job) error {
	work := r.cfg.Works[j.Kind]
	if work == nil {
		return fmt.Errorf("%w: job %s of the kind %s", ErrElsewhere, j.ID, j.Kind)
	}

	if w, may := work.(refuser); may {
		return w.Refuses(j)
	}

	return nil
}

// sayOnce logs that the job waits for another process.
func (r *Runner) sayOnce(ctx context.Context, j Job, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if !r.refused[j.ID] {
		r.refused[j.ID] = true
		r.cfg.Log.WarnContext(ctx, "a job is left to other processes", "job", j.ID, "reason", why)
	}
}

// forget drops what was said about jobs that are open no more.
func (r *Runner) forget(open []Job) {
	r.mu.Lock()
	defer r.mu.Unlock()

	gone := func(id string) bool {
		return !slices.ContainsFunc(open, func(j Job) bool { return j.ID == id })
	}
	maps.DeleteFunc(r.refused, func(id string, _ bool) bool { return gone(id) })
	maps.DeleteFunc(r.begun, func(id string, _ time.Time) bool { return gone(id) })
}

// take becomes the owner of the job and works on it, until the turn is over; without a turn, to the end.
func (r *Runner) take(ctx context.Context, j Job, turn *turn) {
	s := r.cfg.Store
	update := s.ifEpoch(j).
		SetValue(epochName, dynamo.N(j.Epoch+1)).
		SetValue(stateName, dynamo.S(string(Running))).
		SetValue(ownerName, dynamo.S(r.cfg.Name)).
		SetValue(leaseName, dynamo.Millis(s.now().Add(r.cfg.Lease)))

	taken, err := s.apply(ctx, update)
	if err != nil {
		if !errors.Is(err, errLost) && ctx.Err() == nil {
			r.cfg.Log.WarnContext(ctx, "a job cannot be taken", "job", j.ID, "error", err)
		}

		return
	}

	o := &owned{r: r, turn: turn, s: s, work: r.cfg.Works[j.Kind], job: taken, log: r.cfg.Log.With("job", j.ID, "kind", string(j.Kind))}
	o.run(ctx)
}

// errWanted means that a person has asked for another state.
var errWanted = errors.New("jobs: another state is wanted")

// run works on the job until it ends, is lost, or ctx ends.
func (o *owned) run(ctx context.Context) {
	// An act that runs when the process is to stop goes on to its end. If the lease is lost, it is cut short.
	lease, lose := context.WithCancelCause(context.WithoutCancel(ctx))

	var group sync.WaitGroup
	taken := o.job // its progress changes meanwhile
	group.Go(func() { o.renew(lease, lose, taken) })

	err := o.do(ctx, lease)

	lose(nil)
	group.Wait()
	o.leave(ctx, err)
}

// leave gives the job back, in the state that the work has come to.
func (o *owned) leave(ctx context.Context, err error) {
	// Also after the end of ctx, so that another owner needs not wait for the end of the lease.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
	defer cancel()

	var end *endError

	switch {
	case errors.Is(err, errLost):
		return
	case errors.As(err, &end):
		_, err = o.settle(ctx, end.state, end.problem)
	case errors.Is(err, errWanted):
		// A person may have changed their mind since.
		if err = o.follow(ctx, o.wanted()); errors.Is(err, errLost) {
			err = o.release(ctx)
		}
	default:
		if err != nil && !errors.Is(err, context.Canceled) {
			o.log.WarnContext(ctx, "the work on a job is interrupted, and goes on later", "error", err)
		}
		err = o.release(ctx)
	}

	if err != nil && !errors.Is(err, errLost) {
		o.log.WarnContext(ctx, "a job cannot be given back; it goes on when its lease has ended", "error", err)
	}
}

const leaveWithin = 10 * time.Second

// endError ends the work with a state.
type endError struct {
	state   State
	problem string
}

func (e *endError) Error() string { return fmt.Sprintf("jobs: %s %s", e.state, e.problem) }
