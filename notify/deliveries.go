package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"ratchet/internal/dynamo"
)

// firstTry is how long Accept waits for the end of the first attempt. After that it stores the
// delivery without an outcome.
const firstTry = 250 * time.Millisecond

// Config configures [Deliveries]. DynamoDB, Table, Endpoints and Open are required.
type Config struct {
	DynamoDB dynamoAPI
	// Table is described by DeliveryTableInput.
	Table     string
	Endpoints *Endpoints
	// Open returns the destination of an endpoint. It is called again after a change of the
	// endpoint.
	Open func(Endpoint) (Destination, error)

	// Schedule has the pauses between attempts, 1 to 63. Default: the schedule of Standard
	// Webhooks, ten attempts within 76 to 91 hours, depending on the random parts of the pauses.
	Schedule Schedule
	// Timeout bounds one attempt. Default 20 s.
	Timeout time.Duration
	// DisableAfter is how long an endpoint may fail without a success before it is disabled. Time
	// counts if it has attempts: at least one a day, or as often as the Schedule says. Default 120 h.
	DisableAfter time.Duration
	// LookEvery is how often an idle queue is read, to find deliveries that other workers have left
	// behind. Default 15 s.
	LookEvery time.Duration
	// DrainTimeout is how long attempts may go on after Run's context has ended. Default Timeout.
	DrainTimeout time.Duration

	// Events observes the attempts. Default none.
	Events Events
	// Log gets a warning when an endpoint is disabled and when the tables fail. Default
	// slog.Default().
	Log *slog.Logger

	// places is how many places the endpoints share, beside the one place that each endpoint has
	// for itself. There are as many again for endpoints whose newest attempt took longer than
	// firstTry. Default 256.
	places int
}

// Events are called by workers. They must not block.
type Events struct {
	// Attempting is called before an attempt, with the delivery as it is then. It returns the
	// context for the attempt, and a function that is called with the attempt's answer and error.
	Attempting func(ctx context.Context, d Delivery) (context.Context, func(Answer, error))
	// Attempted is called after an attempt, with the delivery as it is then.
	Attempted func(d Delivery, took time.Duration)
	// Disabled is called when this worker has disabled an endpoint.
	Disabled func(endpoint, reason string)
}

const (
	defaultTimeout      = 20 * time.Second
	defaultDisableAfter = 120 * time.Hour
	defaultLookEvery    = 15 * time.Second
	defaultPlaces       = 256

	// maxStoreTimeout bounds the write of an outcome.
	maxStoreTimeout = 10 * time.Second
)

// silence is the longest time between two attempts at a failing endpoint that counts as a failure.
func (c Config) silence() time.Duration {
	longest := slices.Max(c.Schedule)
	return max(maxSilence, longest+longest/5+c.lease())
}

func (c Config) storeTimeout() time.Duration { return min(c.Timeout, maxStoreTimeout) }

func (c *Config) check() error {
	var faults []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("%w: Config."+format, append([]any{ErrInvalid}, args...)...))
		}
	}

	require(c.DynamoDB != nil, "DynamoDB: must be set")
	require(c.Table != "", "Table: must be set")
	require(c.Endpoints != nil, "Endpoints: must be set")
	require(c.Open != nil, "Open: must be set")

	if c.Schedule == nil {
		c.Schedule = defaultSchedule()
	}
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.DisableAfter = cmp.Or(c.DisableAfter, defaultDisableAfter)
	c.LookEvery = cmp.Or(c.LookEvery, defaultLookEvery)
	c.places = cmp.Or(c.places, defaultPlaces)
	// After Timeout is set, because DrainTimeout defaults to Timeout.
	c.DrainTimeout = cmp.Or(c.DrainTimeout, c.Timeout)

	require(c.Timeout > 0, "Timeout %s: must be more than 0", c.Timeout)
	require(c.DisableAfter > 0, "DisableAfter %s: must be more than 0", c.DisableAfter)
	require(c.LookEvery > 0, "LookEvery %s: must be more than 0", c.LookEvery)

	if err := c.Schedule.check(); err != nil {
		faults = append(faults, err)
	}

	if c.Events.Attempting == nil {
		c.Events.Attempting = func(ctx context.Context, _ Delivery) (context.Context, func(Answer, error)) {
			return ctx, func(Answer, error) {}
		}
	}

	if c.Events.Attempted == nil {
		c.Events.Attempted = func(Delivery, time.Duration) {}
	}

	if c.Events.Disabled == nil {
		c.Events.Disabled = func(string, string) {}
	}

	if c.Log == nil {
		c.Log = slog.Default()
	}

	return errors.Join(faults...)
}

// lease is how long an attempt may take, including the write of its outcome. After that another
// worker repeats the attempt.
func (c Config) lease() time.Duration { return c.Timeout + 2*c.storeTimeout() + c.DrainTimeout }

// Deliveries brings notifications to endpoints. It is safe for concurrent use. Close it after
// use, unless Run was called.
type Deliveries struct {
	cfg     Config
	clock   *dynamo.Clock // the service's, which every worker has
	records records

	handed handed

	wake chan struct{}  // has room for one
	work sync.WaitGroup // attempts and looks

	presence presence
	former   map[former]time.Time // when to look for their deliveries next; only Run uses it

	mu       sync.Mutex // guards the fields below, and the lanes
	lanes    map[string]*lane
	free     places
	shared   map[string]int  // the shared places that the endpoints of each tenant have
	workers  int             // how many workers share the rates of endpoints, including this one
	running  bool            // attempts may start
	attempts context.Context // ends the attempts; nil before Run
}

// New returns Deliveries. The error names every field that breaks a rule.
func New(cfg Config) (*Deliveries, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	return &Deliveries{
		cfg:     cfg,
		clock:   cfg.Endpoints.clock,
		records: records{cfg.DynamoDB, cfg.Table, cfg.Endpoints.clock},
		wake:    make(chan struct{}, 1),
		lanes:   map[string]*lane{},
		free:    places{quick: cfg.places, slow: cfg.places},
		shared:  map[string]int{},
		// This worker alone, until others are counted.
		workers: 1,

		presence: newPresence(),
		former:   map[former]time.Time{},
	}, nil
}

// lane returns the endpoint's lane in this process, and applies the endpoint's settings to it. The
// caller holds the lock.
func (d *Deliveries) lane(e Endpoint) *lane {
	l := d.lanes[e.ID]
	if l == nil {
		l = &lane{busy: map[string]bool{}}
		d.lanes[e.ID] = l
	}
	l.use(e, d.workers, d.clock.Now())

	return l
}

// nudge makes Run look at the lanes.
func (d *Deliveries) nudge() {
	select {
	// One waiting wake-up is enough, because Run looks at all lanes.
	case d.wake <- struct{}{}:
	default:
	}
}

// Close closes the destinations. Call it when no attempt runs.
func (d *Deliveries) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()

	var err error
	for _, l := range d.lanes {
		err = errors.Join(err, l.close())
	}
	clear(d.lanes)

	return err
}
