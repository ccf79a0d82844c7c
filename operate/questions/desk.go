package questions

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ratchet/internal/worker"
	"ratchet/operate/processes"
)

var (
	// ErrUnknown says that there is no such question.
	ErrUnknown = errors.New("questions: no such question")
	// ErrRuns says that a run of the question goes on, for the same owner.
	ErrRuns = errors.New("questions: it is being answered")
	// ErrBusy says that the process answers as many questions as it may.
	ErrBusy = errors.New("questions: too many at the same time")
	// ErrStopped says that the process stops, and answers no question any more.
	ErrStopped = errors.New("questions: the process stops")
)

// The codes of runs without an answer.
const (
	failed      = "failed"      // the log of the process has the error
	tooLong     = "too_long"    // it was ended after an hour
	stopped     = "stopped"     // its process was stopped
	interrupted = "interrupted" // its process gives no sign of life
)

// Question is a question that a [Desk] answers.
type Question struct {
	// Shared says that it is about what belongs to all owners, so only the owner "" may ask it.
	Shared bool
	// Answer reads until ctx ends, and reports to r.
	Answer func(ctx context.Context, r *Run) error
}

// Config configures a [Desk]. Store and Questions are required.
type Config struct {
	Store *processes.Store
	// Questions are the questions by name.
	Questions map[string]Question
	// Log gets the errors of runs. Default: slog.Default().
	Log *slog.Logger
}

const (
	// lease is how long a run counts as running after its last sign of life.
	lease = 30 * time.Second
	// within is how long a run may take.
	within = time.Hour
	// atOnce is how many runs of a process go on at the same time.
	atOnce = 2
)

// storeTimeout bounds the write of an answer, also of one that ends with its process.
const storeTimeout = 8 * time.Second

// Desk answers questions.
type Desk struct {
	cfg    Config
	places chan struct{} // one element for each run
	asked  chan asked
	closed atomic.Bool
}

// asked is a run that has a lease and a place, and has not begun.
type asked struct {
	owner string
	run   processes.Question
}

// New checks cfg and returns a desk.
func New(cfg Config) (*Desk, error) {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}

	var faults []error
	if cfg.Store == nil {
		faults = append(faults, errors.New("questions: Config.Store: must be set"))
	}

	if len(cfg.Questions) == 0 {
		faults = append(faults, errors.New("questions: Config.Questions: must be set"))
	}

	return &Desk{cfg: cfg, places: make(chan struct{}, atOnce), asked: make(chan asked, atOnce)}, errors.Join(faults...)
}

// Names returns the names of the questions that an owner may ask, sorted.
func (d *Desk) Names(owner string) []string {
	names := slices.Sorted(maps.Keys(d.cfg.Questions))

	return slices.DeleteFunc(names, func(name string) bool { return owner != "" && d.cfg.Questions[name].Shared })
}

// Shared reports whether only the owner "" may ask the question.
func (d *Desk) Shared(name string) bool { return d.cfg.Questions[name].Shared }

// Ask begins to answer a question and returns its state. If it is being answered, that is an ErrRuns. by is who asks.
func (d *Desk) Ask(ctx context.Context, owner, name, by string) (processes.Question, error) {
	if _, known := d.cfg.Questions[name]; !known {
		return processes.Question{}, ErrUnknown
	}

	if d.closed.Load() {
		return processes.Question{}, ErrStopped
	}

	select {
	case d.places <- struct{}{}:
	default:
		return processes.Question{}, ErrBusy
	}

	run, mine, err := d.cfg.Store.StartQuestion(ctx, owner, name, by, time.Now(), lease)
	if err == nil && !mine {
		err = ErrRuns
	}

	if err != nil {
		<-d.places
		return run, err
	}
	d.asked <- asked{owner, run} // as many fit in as have a place

	return run, nil
}

// Get returns the state of a question, with its newest answer.
func (d *Desk) Get(ctx context.Context, owner, name string) (processes.Question, error) {
	if _, known := d.cfg.Questions[name]; !known {
		return processes.Question{}, ErrUnknown
	}

	q, err := d.cfg.Store.Question(ctx, owner, name)
	if !q.AskedAt.IsZero() && q.EndedAt.IsZero() && !q.Runs(time.Now()) {
		q.Problem = interrupted
	}

	return q, err
}

// Findings returns what the newest answer of a question has found; see [processes.Store.Findings].
func (d *Desk) Findings(ctx context.Context, owner string, q processes.Question) ([]processes.Finding, error) {
	return d.cfg.Store.Findings(ctx, owner, q)
}

// Run answers what is asked until ctx ends. Then it ends the runs, and waits for them.
func (d *Desk) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()

	d.closed.Store(false)
	defer d.closed.Store(true)

	for {
		select {
		case a := <-d.asked:
			group.Go(func() {
				defer func() { <-d.places }()
				d.answer(ctx, a)
			})
		case <-ctx.Done():
			return nil
		}
	}
}

// answer does a run, and stores how it has ended.
func (d *Desk) answer(ctx context.Context, a asked) {
	r := &Run{Owner: a.owner, counts: map[string]int64{}}

	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()

	held := make(chan struct{})
	go func() {
		defer close(held)
		defer cancel() // without the lease another process may answer
		d.hold(limited, a, r)
	}()

	err := d.cfg.Questions[a.run.Name].Answer(limited, r)
	late := errors.Is(limited.Err(), context.DeadlineExceeded)

	cancel()
	<-held

	run := a.run
	run.EndedAt, run.Looked = time.Now().UTC(), r.looked.Load()

	var answer *processes.Answer
	if err == nil {
		answer = &processes.Answer{AskedAt: run.AskedAt, At: run.EndedAt, Counts: r.counts, Found: r.found, Findings: r.findings}
	}

	stored, end := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer end()

	code := failed
	switch {
	case ctx.Err() != nil:
		code = stopped
	case late:
		code = tooLong
	}

	unstored := d.cfg.Store.EndQuestion(stored, a.owner, run, answer, code)
	if answer == nil && code == failed || unstored != nil {
		d.cfg.Log.WarnContext(ctx, "a question was not answered", "question", run.Name, "error", errors.Join(err, unstored))
	}
}

// hold keeps the lease of a run, and says how far it is, until ctx ends or the lease is lost.
func (d *Desk) hold(ctx context.Context, a asked, r *Run) {
	for until := time.Now().Add(lease); worker.Wait(ctx, lease/10); {
		now := time.Now()

		mine, err := d.cfg.Store.HoldQuestion(ctx, a.owner, a.run, r.looked.Load(), now.Add(lease))
		switch {
		case err == nil && !mine:
			return
		case err == nil:
			until = now.Add(lease)
		case now.After(until):
			return
		}
	}
}
