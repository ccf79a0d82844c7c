package streams

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
)

// Pauses of a reader after faults, and how long an open shard that has children
// must have been empty to count as closed.
const (
	firstPause    = 10 * time.Millisecond
	faultPause    = 200 * time.Millisecond
	faultPauseMax = 10 * time.Second
	emptyPages    = 20
	emptyFor      = 30 * time.Second
	horizon       = 24 * time.Hour
	// briskFor is how many pauses of PollActive a shard stays active for after
	// its last record.
	briskFor = 40
)

// What ends reading besides a cancelled context.
var (
	errShardEnd  = errors.New("streams: end of shard")
	errShardGone = errors.New("streams: shard is no longer listed")
)

// GapError ends Run under GapHalt.
type GapError struct{ Gap Gap }

func (e *GapError) Error() string {
	return "streams: records of shard " + e.Gap.Shard + " after " + orText(e.Gap.From, "its start") +
		" were trimmed before they were read; repair from the table, then start with GapContinue"
}

func orText(s, d string) string {
	if s == "" {
		return d
	}
	return s
}

// reader pages through one shard.
type reader struct {
	p     *Poller
	shard *shard
	wake  chan struct{}

	iterator  string
	last      string    // newest sequence number delivered, or the checkpoint
	lastAt    time.Time // its creation
	startAt   time.Time // while there is no last
	skipUntil time.Time // drop older records: AT_TIMESTAMP is not served
	gap       *Gap      // declared, its end not yet known

	faults   int // in a row
	log      sparse
	empties  int // empty pages in a row
	activeAt time.Time
	caughtUp atomic.Int64 // when the shard was last found empty, Unix ns; 0 after records
	newest   atomic.Int64 // creation of the newest record read, Unix ms
}

// run reads until ctx ends (nil), or the shard does (errShardEnd), or it is gone
// (errShardGone), or a gap halts it (*GapError).
func (r *reader) run(ctx context.Context) error {
	r.activeAt = time.Now()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()

	for {
		if r.shard.group.window.room(ctx) != nil {
			return nil
		}

		n, err := r.page(ctx)
		if ctx.Err() != nil && !errors.Is(err, errShardEnd) {
			return nil
		}

		pause := time.Duration(0)
		switch {
		case errors.Is(err, errShardEnd), errors.Is(err, errShardGone):
			if r.gap != nil {
				r.declare("")
			}
			return err
		case err != nil:
			var halt *GapError
			if errors.As(err, &halt) {
				return err
			}
			pause = r.fault(err)
		case n == 0:
			if r.closedParent() {
				return errShardEnd
			}
			pause = r.idle()
		}

		if pause > 0 && !r.sleep(ctx, timer, pause, err == nil) {
			return nil
		}
	}
}

// sleep waits; a hint cuts the wait short unless a fault is being waited out.
func (r *reader) sleep(ctx context.Context, timer *time.Timer, pause time.Duration, wakeable bool) bool {
	wake := r.wake
	if !wakeable {
		wake = nil
	}
	timer.Reset(pause)

	select {
	case <-ctx.Done():
		return false
	case <-wake:
		r.activeAt = time.Now()
	case <-timer.C:
	}

	return true
}

// idle is the pause after an empty page.
func (r *reader) idle() time.Duration {
	cfg := &r.p.cfg
	quiet := time.Since(r.activeAt) - briskFor*cfg.PollActive
	if quiet <= 0 {
		return cfg.PollActive
	}
	// Pauses grow with the silence, so that idle shards cost next to nothing.
	return min(cfg.PollActive+quiet/4, cfg.PollIdle)
}

// closedParent recognises a shard that is listed as open although it has
// children: it cannot get records any more, and it has none left.
func (r *reader) closedParent() bool {
	return r.empties >= emptyPages && r.shard.hasChild.Load() && time.Since(r.activeAt) > emptyFor
}

// page reads and delivers one page and returns the number of its records.
func (r *reader) page(ctx context.Context) (int, error) {
	if r.iterator == "" {
		if err := r.open(ctx); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	call, cancel := context.WithTimeout(ctx, 30*time.Second)
	out, err := r.p.cfg.Streams.GetRecords(call, &dynamodbstreams.GetRecordsInput{
		ShardIterator: &r.iterator, Limit: aws.Int32(int32(min(r.p.cfg.PageSize, r.p.cfg.MaxPending))),
	}, unretried)
	cancel()

	if err != nil {
		return 0, r.failed(ctx, err)
	}

	r.faults = 0
	if f := r.p.cfg.Events.Page; f != nil {
		f(Page{Shard: r.shard.id, Records: len(out.Records), Took: time.Since(began)})
	}
	n := len(out.Records)
	r.deliver(out.Records)

	if n == 0 {
		if r.gap != nil {
			r.declare("")
		}
		r.empties++
		r.caughtUp.Store(began.UnixNano())
	} else {
		r.empties, r.activeAt = 0, began
		r.caughtUp.Store(0)
	}

	if r.iterator = deref(out.NextShardIterator); r.iterator == "" {
		return n, errShardEnd
	}

	return n, nil
}

// open gets an iterator for the position: strictly after what was delivered.
func (r *reader) open(ctx context.Context) error {
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &r.shard.stream.arn, ShardId: &r.shard.id,
		ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	}
	switch {
	case r.last != "":
		in.ShardIteratorType = streamtypes.ShardIteratorTypeAfterSequenceNumber
		in.SequenceNumber = &r.last
	case !r.startAt.IsZero() && r.skipUntil.IsZero():
		in.ShardIteratorType = streamtypes.ShardIteratorTypeAtTimestamp
		in.Timestamp = &r.startAt
	}
	call, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()

	out, err := r.p.cfg.Streams.GetShardIterator(call, in, unretried)
	if err != nil {
		if in.Timestamp != nil && refusesInput(err) {
			// Not every endpoint knows AT_TIMESTAMP: read all, drop what is older.
			r.skipUntil = r.startAt.Truncate(time.Second)
			return r.open(ctx)
		}

		return r.failed(ctx, err)
	}

	if r.iterator = deref(out.ShardIterator); r.iterator == "" {
		return errShardEnd
	}

	return nil
}

// deliver hands records on, except those seen already.
func (r *reader) deliver(in []streamtypes.Record) {
	if len(in) == 0 {
		return
	}

	out := make([]Record, 0, len(in))
	for i := range in {
		rec := convert(in[i])
		if rec.SequenceNumber == "" || (r.last != "" && CompareSequence(rec.SequenceNumber, r.last) <= 0) {
			continue
		}

		r.last, r.lastAt = rec.SequenceNumber, rec.CreatedAt
		if r.gap != nil {
			r.declare(rec.SequenceNumber)
		}

		if rec.CreatedAt.Before(r.skipUntil) {
			r.shard.group.window.skip(&rec)
			continue
		}
		rec.StreamARN, rec.ShardID, rec.Owner = r.shard.stream.arn, r.shard.id, r.p.cfg.Owner
		out = append(out, rec)
	}
	r.newest.Store(unixMilli(r.lastAt))
	r.shard.group.submit(out)
}

// failed sorts an error of the service: nil means "go on".
func (r *reader) failed(ctx context.Context, err error) error {
	var expired *streamtypes.ExpiredIteratorException
	var trimmed *streamtypes.TrimmedDataAccessException
	var missing *streamtypes.ResourceNotFoundException
	switch {
	case errors.As(err, &expired):
		if r.iterator = ""; r.faults == 0 {
			r.faults++
			return nil
		}
	case errors.As(err, &trimmed):
		r.iterator = ""
		return r.trimmed(ctx, err)
	case errors.As(err, &missing):
		r.iterator = ""
		if listed, lerr := r.shard.stream.listed(ctx, r.shard.id); lerr == nil && !listed {
			r.openGap()
			r.declare("")

			if r.p.cfg.OnGap == GapHalt {
				return &GapError{*r.shard.lastGap()}
			}

			return errShardGone
		}
	}

	return err
}

// trimmed declares a gap and goes on at the oldest record that is left, or
// halts. A closed shard that was handled to its last record has no gap.
func (r *reader) trimmed(ctx context.Context, cause error) error {
	if r.last == "" && r.startAt.IsZero() {
		// The horizon itself is out of reach: nothing to skip to, so ask again.
		return cause
	}

	if end, err := r.shard.stream.ending(ctx, r.shard.id); err == nil && end != "" && CompareSequence(end, r.last) <= 0 {
		return errShardEnd
	}
	r.openGap()

	if r.p.cfg.OnGap == GapHalt {
		gap := *r.gap
		r.declare("")
		return &GapError{gap}
	}
	// Records from the horizon on are newer than what was delivered.
	r.last, r.startAt = "", time.Time{}

	return nil
}

func (r *reader) openGap() {
	if r.gap == nil {
		r.gap = &Gap{Shard: r.shard.id, From: r.last, Since: r.lastAt, Until: time.Now()}
	}
}

// declare reports the gap, once it is known where it ends.
func (r *reader) declare(to string) {
	gap := *r.gap
	gap.To, r.gap = to, nil
	r.shard.noteGap(gap)
	r.p.cfg.Log.Error("records were trimmed before they were read", "shard", gap.Shard, "from", gap.From, "to", gap.To,
		"since", gap.Since, "until", gap.Until)

	if f := r.p.cfg.Events.Gap; f != nil {
		f(gap)
	}
}

// fault counts and logs a failed call and returns how long to wait.
func (r *reader) fault(err error) time.Duration {
	r.faults++
	r.p.cfg.fault("GetRecords", r.shard.id, err)

	if r.log.due() {
		r.p.cfg.Log.Warn("reading a shard failed; retrying", "shard", r.shard.id, "err", err)
	}
	d := min(faultPause<<min(r.faults-1, 10), faultPauseMax)

	return d/2 + rand.N(d/2+1) //nolint:gosec // jitter
}

// lag tells how far the shard is behind at now.
func (r *reader) lag(now time.Time) Lag {
	oldest, pending := r.shard.group.window.oldest()
	lag := Lag{Shard: r.shard.id, Pending: pending}
	switch empty := r.caughtUp.Load(); {
	case !oldest.IsZero():
		lag.Age = now.Sub(oldest)
	case empty != 0:
		lag.Age = now.Sub(time.Unix(0, empty))
	default:
		if newest := fromMilli(r.newest.Load()); !newest.IsZero() {
			lag.Age = now.Sub(newest)
		}
	}
	lag.Age = max(lag.Age, 0)
	lag.ToHorizon = max(horizon-lag.Age, 0)

	return lag
}

// unretried switches the SDK's retries off: a reader has its own, so that one
// shard in trouble does not use up the retry budget of all.
func unretried(o *dynamodbstreams.Options) { o.Retryer = aws.NopRetryer{} }

// refusesInput reports whether the service did not accept the parameters.
func refusesInput(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}

	switch api.ErrorCode() {
	case "ValidationException", "SerializationException", "UnknownOperationException":
		return true
	}

	return false
}

// fault reports a failed call to the Events.
func (c *Config) fault(op, shard string, err error) {
	if f := c.Events.Fault; f != nil {
		f(op, shard, err)
	}
}
