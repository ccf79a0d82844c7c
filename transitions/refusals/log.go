package refusals

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/worker"
)

// Refusal is a request that was refused.
type Refusal struct {
	// Order is the id of an order that exists.
	Order string
	// Event is the event that was requested, or the kind of an edit.
	Event string
	// Code says why, for programs: a verdict, or "out-of-stock".
	Code string
	// Text says why, for people. The stored text is cut to 200 bytes.
	Text string
	// Describe replaces Text when the refusal is written. It may read. Optional.
	Describe func(context.Context) string
	// Source names the way by which the request came, like "api". Optional.
	Source string
}

// client has the methods of a *dynamodb.Client that this package calls.
type client interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Config says where the log is. DynamoDB and Table are required.
type Config struct {
	DynamoDB client
	// Table is the name of a table as [TableInput] describes it.
	Table string
	// Log gets a warning when refusals cannot be written. Default: slog.Default().
	Log *slog.Logger
}

const (
	// maxPending bounds the different refusals in memory.
	maxPending = 1000
	// writesPerSecond bounds the writes of a process.
	writesPerSecond = 20
	// sameAgain is how long the next write of the same refusal is held back.
	sameAgain = 10 * time.Second
	// stopTimeout bounds the last writes of a process.
	stopTimeout = 2 * time.Second
)

// key identifies a refusal: refusals with one key are counted together.
type key struct{ order, event, code string }

// pending is a refusal in memory.
type pending struct {
	newest      Refusal
	count       int64 // how many are not written yet
	first, last time.Time
	notBefore   time.Time // of the next write
}

// Log is the log of refusals. Its methods may be called from many goroutines.
type Log struct {
	cfg  Config
	now  func() time.Time
	wake chan struct{} // holds one signal

	mu      sync.Mutex
	pending map[key]*pending
	// pauseUntil is when writes go on after writesPerSecond of them were made.
	pauseUntil time.Time

	dropped  int64
	throttle worker.LogThrottle
}

// New checks cfg and returns the log.
func New(cfg Config) (*Log, error) {
	if cfg.DynamoDB == nil || cfg.Table == "" {
		return nil, errors.New("refusals: Config.DynamoDB and Config.Table must be set")
	}

	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}

	return &Log{cfg: cfg, now: time.Now, wake: make(chan struct{}, 1), pending: map[key]*pending{}}, nil
}

// Note takes a refusal. It does not block and does no I/O.
func (l *Log) Note(r Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()

	now := l.now()
	k := key{r.Order, r.Event, r.Code}

	p := l.pending[k]
	if p == nil {
		if len(l.pending) >= maxPending {
			l.dropped++
			return
		}

		p = &pending{notBefore: now}
		l.pending[k] = p
	}

	// All earlier ones are written: this refusal begins a new count.
	if p.count == 0 {
		p.first = now
	}
	p.newest, p.last = r, now
	p.count++

	select {
	case l.wake <- struct{}{}:
	default: // a signal is there
	}
}

// Run writes the noted refusals until ctx ends. Then it finishes the writes under way and writes the
// rest, each for up to 2 s. Several may run at the same time. It returns nil.
func (l *Log) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		timer := time.NewTimer(l.writeDue(ctx))

		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-timer.C:
		}
		timer.Stop()
	}

	// ctx has ended, but the last writes need a context that has not.
	return l.Flush(context.WithoutCancel(ctx))
}

// Flush writes the noted refusals that are not written yet, whether due or not, for up to 2 s. The
// rest is dropped and counted. It returns nil.
func (l *Log) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()

	for _, p := range l.take(maxPending, func(*pending) bool { return true }) {
		l.write(ctx, p)
	}

	return nil
}

// idle is how long Run sleeps when nothing is due. A Note wakes it.
const idle = time.Hour

// writeDue writes the refusals that are due, at most a second's share, and returns how long to wait.
func (l *Log) writeDue(ctx context.Context) time.Duration {
	now := l.now()
	if wait := l.pause(now, 0); wait > 0 {
		return wait
	}

	due := l.take(writesPerSecond, func(p *pending) bool { return !p.notBefore.After(now) })

	// The refusals are taken already: a stop in between must not drop them.
	ctx, cancel := outlasting(ctx)
	defer cancel()

	for _, p := range due {
		l.write(ctx, p)
	}

	return max(l.pause(now, len(due)), l.untilNext(now))
}

// outlasting returns a context that ends stopTimeout after ctx.
func outlasting(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))

	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(stopTimeout)
		defer timer.Stop()

		select {
		case <-longer.Done():
		case <-timer.C:
			cancel()
		}
	})

	return longer, func() { stop(); cancel() }
}

// pause returns how long the next writes have to wait after this number of writes.
func (l *Log) pause(now time.Time, writes int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()

	// Fewer writes than a second's share need no pause: nothing more was due.
	if writes == writesPerSecond {
		l.pauseUntil = now.Add(time.Second)
	}

	return l.pauseUntil.Sub(now)
}

// take returns up to n chosen refusals, and holds back their next writes. It forgets written refusals
// that have waited long enough for another write.
func (l *Log) take(n int, chosen func(*pending) bool) (taken []pending) {
	l.mu.Lock()
	defer l.mu.Unlock()

	now := l.now()
	for k, p := range l.pending {
		switch {
		case p.count == 0 && !p.notBefore.After(now):
			delete(l.pending, k)
		case p.count > 0 && len(taken) < n && chosen(p):
			// A copy: Note goes on counting in the map while the copy is written.
			taken = append(taken, *p)
			p.count, p.notBefore = 0, now.Add(sameAgain)
		}
	}

	return taken
}

// untilNext returns how long it is until something is due to be written.
func (l *Log) untilNext(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()

	wait := idle
	for _, p := range l.pending {
		if p.count > 0 {
			wait = min(wait, max(p.notBefore.Sub(now), 0))
		}
	}

	return wait
}

// write stores a refusal. If that fails, the refusal is dropped: the log is a help and must not pile up
// work.
func (l *Log) write(ctx context.Context, p pending) {
	if p.newest.Describe != nil {
		p.newest.Text = p.newest.Describe(ctx)
	}

	err := l.store(ctx, p)
	if err == nil {
		return
	}

	l.mu.Lock()
	defer l.mu.Unlock()

	l.dropped += p.count
	if l.throttle.Allow() {
		l.cfg.Log.WarnContext(ctx, "a refusal was not written into its log", "order", p.newest.Order, "dropped", l.dropped, "error", err)
	}
}
