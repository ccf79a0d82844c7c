package shards

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/lanes"
	"ratchet/streams/lineage"
	"ratchet/streams/store"
)

const (
	// A shard counts as active for activePauses times PollActive after its last record.
	activePauses = 40

	// A shard that has children and is listed as open counts as closed after this
	// many empty pages over this time.
	closedAfterPages = 20
	closedAfterTime  = 30 * time.Second

	// caughtUpPages is how many empty pages in a row say that a shard has no more records.
	caughtUpPages = 2
)

// The results of reading, beside the end of a context.
var (
	ErrShardEnd  = errors.New("streams: end of shard")
	errShardGone = errors.New("streams: shard is no longer listed")
)

// Reader pages through one shard. Its position is the sequence number of the last record
// delivered. An iterator is only used to continue from the position: an expired iterator is
// replaced, and records that come twice are dropped.
type Reader struct {
	Cfg    *Config
	Stream *lineage.Stream
	Shard  string
	Lanes  *lanes.Shard
	Wake   chan struct{} // a value ends an idle pause

	OnGap func(streams.Gap) // stores the gap in the lease

	// ChildKnown says that the shard has a child and therefore must be closed.
	ChildKnown atomic.Bool

	iterator  string
	ahead     chan page            // the page after the last one, while it is being fetched; nil: none
	last      string               // the position: the newest sequence number delivered, or the checkpoint
	lastAt    time.Time            // when the record at the position was created
	startAt   time.Time            // where to begin while last is ""
	skipUntil time.Time            // drop older records, if AT_TIMESTAMP is not supported
	gaps      []streams.Gap        // gaps of the parent and of this shard whose ends are not known yet
	atHorizon bool                 // set after a gap: begin with the oldest record left
	missing   lineage.Confirmation // answers that the shard does not exist
	trimmed   lineage.Confirmation // answers that the records after the position were trimmed

	faults      int // in a row
	log         worker.LogThrottle
	EmptyPages  int // in a row
	activeSince time.Time

	caughtUpAt atomic.Int64 // when the shard was last found empty, Unix ns; 0 after records
	newestAt   atomic.Int64 // creation of the newest record read, Unix ms
	unread     atomic.Bool  // the newest page had records, so there may be more
}

// Run reads until ctx ends (nil), the shard ends (ErrShardEnd), the shard no longer
// exists (errShardGone) or a gap ends it (*GapError).
func (r *Reader) Run(ctx context.Context) error {
	// The lease shows a gap before anything is read. Under GapHalt no record after it is read.
	if len(r.gaps) > 0 && r.Cfg.OnGap == streams.GapHalt {
		return &streams.GapError{Gap: r.closeGaps("")}
	}

	r.activeSince = time.Now()
	// The duration has no effect: wait sets the timer before each use.
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	defer r.dropAhead()

	for {
		if r.Lanes.Window.WaitForRoom(ctx) != nil {
			return nil
		}

		records, err := r.readPage(ctx)

		// The end of the shard is reported even if ctx has ended meanwhile.
		if ctx.Err() != nil && !errors.Is(err, ErrShardEnd) {
			return nil
		}

		// No pause after a page with records: the next page may have records, too.
		var halt *streams.GapError
		pause := time.Duration(0)
		switch {
		case errors.Is(err, ErrShardEnd), errors.Is(err, errShardGone):
			r.closeGaps("")
			return err
		case errors.As(err, &halt):
			return err
		case errors.Is(err, lineage.ErrUnconfirmed):
			pause = r.confirmPause()
		case err != nil:
			pause = r.pauseAfterFault(err)
		case records == 0 && r.mustBeClosed():
			return ErrShardEnd
		case records == 0 && r.ChildKnown.Load() && r.EmptyPages <= closedAfterPages:
			// A closed shard may have empty pages before its last one.
		case records == 0:
			pause = r.idlePause()
		}

		if pause > 0 && !r.wait(ctx, timer, pause, err == nil) {
			return nil
		}
	}
}

// wait waits for the pause. It returns false if ctx ended. A hint cuts the pause
// short, but only an idle one: after a fault the service needs the time.
func (r *Reader) wait(ctx context.Context, timer *time.Timer, pause time.Duration, idle bool) bool {
	wake := r.Wake
	if !idle {
		wake = nil
	}
	timer.Reset(pause)

	select {
	case <-ctx.Done():
		return false
	case <-wake:
		r.activeSince = time.Now()
	case <-timer.C:
	}

	return true
}

// idlePause returns the pause after an empty page. It grows with the time that the
// shard has been empty, so that idle shards cost little.
func (r *Reader) idlePause() time.Duration {
	quiet := time.Since(r.activeSince) - activePauses*r.Cfg.PollActive
	if quiet <= 0 {
		return r.Cfg.PollActive
	}

	return min(r.Cfg.PollActive+quiet/4, r.Cfg.PollIdle)
}

// mustBeClosed recognizes a shard that has children although the service still answers with a next
// iterator. A parent gets no records after its children were created, so a parent that has stayed
// empty is at its end.
func (r *Reader) mustBeClosed() bool {
	return r.ChildKnown.Load() && r.EmptyPages >= closedAfterPages && time.Since(r.activeSince) > closedAfterTime
}

// readPage reads and delivers one page. It returns the number of records in it, and
// ErrShardEnd if the shard has no further page.
func (r *Reader) readPage(ctx context.Context) (records int, err error) {
	if r.iterator == "" {
		// Without an error and without an iterator, records were trimmed, and the next
		// page begins at the oldest record left.
		if err := r.openIterator(ctx); err != nil || r.iterator == "" {
			return 0, err
		}
	}

	p := r.nextPage(ctx)
	if p.err != nil {
		return 0, r.handleFault(ctx, p.err)
	}

	// A page ends the row of faults, and proves that the shard and its records exist.
	r.faults, r.missing, r.trimmed = 0, lineage.Confirmation{}, lineage.Confirmation{}
	records = len(p.records)
	r.Cfg.Events.Page(streams.Page{Shard: r.Shard, Records: records, Took: p.took})

	// While this page is delivered, the next one is fetched, unless there is no room for it.
	r.iterator = p.next
	if records > 0 && r.iterator != "" && r.Lanes.Window.HasRoomFor(records) {
		r.fetchAhead(ctx)
	}

	if err := r.deliver(ctx, p.records); err != nil {
		return records, err
	}

	if records == 0 {
		// The gap is reported now: it may take long until a record shows where it ends.
		r.closeGaps("")
		r.EmptyPages++
	} else {
		r.EmptyPages = 0
		r.activeSince = p.began
	}
	r.noteCaughtUp(p)

	if r.iterator == "" {
		r.unread.Store(false)
		return records, ErrShardEnd
	}

	return records, nil
}

// noteCaughtUp notes when the shard was found to have no more records: after several empty pages in
// a row. One empty page does not show it: the service also returns empty pages where old records
// were trimmed, and in a closed shard. A shard that is caught up is not suspect any more.
func (r *Reader) noteCaughtUp(p page) {
	switch {
	case len(p.records) > 0:
		r.caughtUpAt.Store(0)
	case r.EmptyPages >= caughtUpPages:
		r.caughtUpAt.Store(p.began.UnixNano())
		r.Lanes.Suspect.Store(nil)
	}
}

// page is one answer of GetRecords. Its records are converted later, while the next page is
// fetched.
type page struct {
	records []streamtypes.Record
	next    string // iterator of the next page; "" at the end of the shard
	err     error
	began   time.Time
	took    time.Duration
}

// nextPage returns the page of the iterator, which may have been fetched before.
func (r *Reader) nextPage(ctx context.Context) page {
	if r.ahead == nil {
		return r.getRecords(ctx, r.iterator)
	}

	p := <-r.ahead
	r.ahead = nil

	return p
}

// fetchAhead fetches the page of the iterator in the background.
func (r *Reader) fetchAhead(ctx context.Context) {
	ahead, iterator := make(chan page, 1), r.iterator
	r.ahead = ahead
	go func() { ahead <- r.getRecords(ctx, iterator) }()
}

// dropAhead waits for the page that is being fetched, and drops it.
func (r *Reader) dropAhead() {
	if r.ahead != nil {
		<-r.ahead
		r.ahead = nil
	}
}

// getRecords fetches a page. It may run at the same time as the reader, because it uses no field
// that changes.
func (r *Reader) getRecords(ctx context.Context, iterator string) page {
	call, cancel := context.WithTimeout(ctx, lineage.CallTimeout)
	defer cancel()

	began := time.Now()

	out, err := r.Cfg.Streams.GetRecords(call, &dynamodbstreams.GetRecordsInput{
		ShardIterator: &iterator,
		// A page may exceed the limit of pending records, but not by more than maxPending.
		Limit: aws.Int32(int32(min(r.Cfg.PageSize, r.Cfg.MaxPending))),
	}, withoutStreamRetries)
	if err != nil {
		return page{err: err, began: began}
	}

	return page{records: out.Records, next: aws.ToString(out.NextShardIterator), began: began, took: time.Since(began)}
}

// openIterator gets an iterator that starts directly after the last record
// delivered.
func (r *Reader) openIterator(ctx context.Context) error {
	var from lineage.Position
	switch {
	case r.atHorizon:
	case r.last != "":
		from.After = r.last
	case r.skipUntil.IsZero():
		from.Since = r.startAt
	}
	in := from.Input(r.Stream.Arn, r.Shard)

	call, cancel := context.WithTimeout(ctx, lineage.CallTimeout)
	defer cancel()

	out, err := r.Cfg.Streams.GetShardIterator(call, in, withoutStreamRetries)
	if err != nil {
		if in.Timestamp != nil && lineage.IsInvalidInput(err) {
			// Not every endpoint supports AT_TIMESTAMP. Read from the oldest record, and drop the
			// records that were created before startAt. Creation times are whole seconds, so
			// startAt is truncated to a second.
			r.skipUntil = r.startAt.Truncate(time.Second)
			return r.openIterator(ctx)
		}

		return r.handleFault(ctx, err)
	}

	r.iterator = aws.ToString(out.ShardIterator)
	if r.iterator == "" {
		return ErrShardEnd
	}

	return nil
}

// deliver hands the records of a page to the handlers, except for records that were delivered
// before. It returns ctx.Err() if ctx ends before the whole page was handed over.
func (r *Reader) deliver(ctx context.Context, in []streamtypes.Record) error {
	if len(in) == 0 {
		r.unread.Store(false)
		return nil
	}

	out := make([]streams.Record, 0, len(in))
	for i := range in {
		record := lineage.FromSDK(&in[i])

		// A page may come again after an iterator was replaced or an answer was lost.
		if record.SequenceNumber == "" || (r.last != "" && store.CompareSequence(record.SequenceNumber, r.last) <= 0) {
			continue
		}

		r.last, r.lastAt, r.atHorizon = record.SequenceNumber, record.CreatedAt, false
		r.closeGaps(record.SequenceNumber)

		if record.CreatedAt.Before(r.skipUntil) {
			r.Lanes.Window.Skip(&record)
			continue
		}

		record.StreamARN = r.Stream.Arn
		record.ShardID = r.Shard
		record.Owner, record.Group = r.Cfg.Owner, r.Cfg.Group
		record.Remember()
		out = append(out, record)
	}

	r.newestAt.Store(lanes.UnixMilli(r.lastAt))
	// Before the records are handed over, which may take long.
	r.unread.Store(true)

	return r.submit(ctx, out)
}

// submit hands the records to the lanes, batch by batch if the shard is suspect. If ctx ends before
// the last batch, Submit returns ctx.Err(). The other records are after the checkpoint, so the next
// holder reads them.
func (r *Reader) submit(ctx context.Context, records []streams.Record) error {
	// Loaded again for each batch, because suspect becomes nil after the last record that could
	// have ended a worker.
	for suspect := r.Lanes.Suspect.Load(); suspect != nil && len(records) > 0; suspect = r.Lanes.Suspect.Load() {
		batch, err := suspect.BeginBatch(ctx, r.Lanes, records)
		if err != nil {
			return err
		}
		r.Lanes.Submit(batch)

		if err := r.Lanes.Window.WaitUntilHandled(ctx); err != nil {
			return err
		}

		records = records[len(batch):]

		if suspect.Left -= len(batch); suspect.Left <= 0 {
			r.Lanes.Suspect.Store(nil)
		}
	}
	r.Lanes.Submit(records)

	return nil
}

// Lag returns how far the shard is behind at now. It may be called while run runs.
func (r *Reader) Lag(now time.Time) streams.Lag {
	clock := r.Cfg.Clock
	oldest, pending := r.Lanes.Window.Oldest()

	// Without unfinished records the shard is as current as its last page.
	age := time.Duration(0)
	caughtUpAt, newestAt := r.caughtUpAt.Load(), lanes.FromUnixMilli(r.newestAt.Load())
	switch {
	case !oldest.IsZero():
		age = clock.Service(now).Sub(oldest)
	case caughtUpAt != 0:
		age = now.Sub(time.Unix(0, caughtUpAt))
	case !newestAt.IsZero():
		age = clock.Service(now).Sub(newestAt)
	}
	age = max(age, 0) // the clocks may differ by a few seconds

	unread := time.Duration(0)
	if r.unread.Load() && !newestAt.IsZero() {
		unread = max(0, clock.Service(now).Sub(newestAt))
	}

	return streams.Lag{
		Shard:     r.Shard,
		Age:       age,
		Unread:    unread,
		ToHorizon: max(r.Cfg.Horizon-age, 0),
		Pending:   pending,
		CaughtUp:  pending == 0 && caughtUpAt != 0,
	}
}

// withoutStreamRetries turns the SDK's retries off. Every reader retries by itself, so that one
// failing shard does not use up the client's retry budget for all shards.
func withoutStreamRetries(o *dynamodbstreams.Options) { o.Retryer = aws.NopRetryer{} }
