package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
)

// The row of a stream's state, under the stream's ARN beside its leases.
const (
	streamStateRow       = "#stream"
	streamStateCreatedAt = "createdAt"
	streamStateBegunAt   = "begunAt"
	streamStateStartAt   = "startAt"
	streamStateReady     = "ready"
	streamStateListings  = "listings"
)

// streamState says how reading of a stream began, and how many listings were begun.
type streamState struct {
	createdAt time.Time // when the stream was created; see isOtherStream
	begunAt   time.Time // when the state was stored
	startAt   time.Time // where the shards of the first listing begin; zero: at the oldest record
	ready     bool      // the leases of the first listing are stored
	listings  int64     // how many listings were begun
}

func decodeStreamState(row dynamo.Item) *streamState {
	return &streamState{
		createdAt: dynamo.Time(row, streamStateCreatedAt),
		begunAt:   dynamo.Time(row, streamStateBegunAt),
		startAt:   dynamo.Time(row, streamStateStartAt),
		ready:     dynamo.Flag(row, streamStateReady),
		listings:  dynamo.Number(row, streamStateListings),
	}
}

// bootstrap makes sure that the stream has a state and that the shards of the first listing have
// leases. Any number of workers may call bootstrap at once, and any of them may crash: a repeat of
// a step has no effect, and ready is set last. One worker makes the listing. The others wait until
// the state is ready. If it is not ready after a lease duration, another worker makes the listing.
func (d *discovery) bootstrap(ctx context.Context) error {
	leases, state, err := d.table.read(ctx)
	if err != nil {
		return err
	}

	l, err := d.stream.head(ctx)
	if err != nil {
		return err
	}

	if err := d.checkView(l); err != nil {
		return err
	}

	if l.gone {
		// The readers of unread shards declare the lost records.
		if slices.ContainsFunc(leases, func(l Lease) bool { return !l.Finished() }) {
			return nil
		}

		return fmt.Errorf("%w: %s does not exist", ErrStreamEnded, d.stream.arn)
	}

	if state != nil && isOtherStream(state, l) {
		if err := d.forgetStream(ctx, state); err != nil {
			return err
		}
		state = nil
	}

	if state == nil {
		if state, err = d.insertState(ctx, l); err != nil {
			return err
		}
	}

	// By this worker's clock, from the moment when it first saw the listing begun: the clocks of
	// two workers may differ.
	since := time.Now()

	for !state.ready {
		claimed, err := d.claimListing(ctx, state, since)
		if err != nil {
			return err
		}

		if claimed {
			return d.insertFirstLeases(ctx)
		}

		before := state.listings

		if !worker.Wait(ctx, d.scanInterval) {
			return ctx.Err()
		}

		if _, state, err = d.readState(ctx); err != nil {
			return err
		}

		if state.listings != before {
			since = time.Now()
		}
	}

	return nil
}

// claimListing reports whether this worker makes the first listing. It does if no listing was
// begun, or if the one that was begun is not done after a lease duration.
func (d *discovery) claimListing(ctx context.Context, state *streamState, since time.Time) (bool, error) {
	if state.listings > 0 && time.Since(since) < d.cfg.LeaseDuration {
		return false, nil
	}

	_, applied, err := applyUpdate(ctx, d.table.api, d.table.nextListing(state))

	return applied, err
}

// nextListing returns the update that counts the next listing. Of all workers that send it for the
// same state, one succeeds and makes the listing.
func (t *leaseTable) nextListing(state *streamState) *dynamo.Update {
	return t.update(streamStateRow).
		IfEquals(streamStateListings, dynamo.N(state.listings)).
		SetValue(streamStateListings, dynamo.N(state.listings+1))
}

// insertFirstLeases lists the stream and stores the leases of all shards.
func (d *discovery) insertFirstLeases(ctx context.Context) error {
	l, err := d.stream.list(ctx)
	if err != nil {
		return err
	}

	// Some leases may exist: another worker has stored them, or their holders have restored them.
	leases, state, err := d.readState(ctx)
	if err != nil {
		return err
	}

	if _, err := d.insertListed(ctx, l, leasesByShard(leases), d.firstLeases(l, state)); err != nil {
		return err
	}

	// Last: a crash before this makes another worker list again.
	ready := d.table.update(streamStateRow).
		IfPresent(leaseShard).
		SetValue(streamStateReady, dynamo.Bool(true))
	if _, _, err := applyUpdate(ctx, d.table.api, ready); err != nil {
		return fmt.Errorf("streams: note that %s is begun: %w", d.stream.arn, err)
	}

	return nil
}

// firstLeases returns a function that makes the leases of the first listing. Records that were
// trimmed after the state was stored are a gap for this group. This happens if the worker that has
// stored the state ended before it listed the shards, and the next worker starts a day later.
func (d *discovery) firstLeases(l listing, state *streamState) func(shard, parent string) Lease {
	now := d.cfg.clock.Now()

	return func(shard, parent string) Lease {
		lease := Lease{StartAt: state.startAt, AtHorizon: state.startAt.IsZero()}

		// A parent that is not listed any more may have had records at begunAt. It had none if it
		// ended, which is when its child was created, a day or more before begunAt.
		_, listed := l.shards[parent]
		createdAt := shardCreatedAt(shard)
		endedBefore := !createdAt.IsZero() && state.begunAt.Sub(createdAt) >= d.cfg.horizon
		lease.ParentLost = parent != "" && !listed && !endedBefore && now.Sub(state.begunAt) > d.cfg.horizon

		// A shard that was created after begunAt has no records from before its creation.
		asked := state.begunAt
		if createdAt.After(asked) {
			asked = createdAt
		}

		if lease.AtHorizon {
			lease.ListedAt = asked
		}

		return lease
	}
}

// readState reads the leases and the state, which must exist.
func (d *discovery) readState(ctx context.Context) ([]Lease, *streamState, error) {
	leases, state, err := d.table.read(ctx)
	if err == nil && state == nil {
		err = errors.New("streams: the state of " + d.stream.arn + " was deleted")
	}

	if err != nil {
		return nil, nil, err
	}

	d.mu.Lock()
	d.state = state
	d.mu.Unlock()

	return leases, state, nil
}

// checkView returns errViewType if the stream's records lack the images that Config.NeedImages asks
// for.
func (d *discovery) checkView(l listing) error {
	const want = streamtypes.StreamViewTypeNewAndOldImages
	if d.cfg.NeedImages && l.viewType != "" && l.viewType != want {
		return fmt.Errorf("%w: %s has %s, want %s", errViewType, d.stream.arn, l.viewType, want)
	}

	return nil
}

// isOtherStream reports whether the state belongs to an earlier stream with the same
// ARN. AWS never reuses an ARN, but an emulator that was started on empty storage
// does. The sequence numbers of the earlier stream mean nothing in the new one.
func isOtherStream(state *streamState, l listing) bool {
	return !state.createdAt.IsZero() && !l.createdAt.IsZero() &&
		state.createdAt.UnixMilli() != l.createdAt.UnixMilli()
}

// insertState stores the state of a stream that has none. It returns the stored state, which
// another worker may have stored first.
func (d *discovery) insertState(ctx context.Context, l listing) (*streamState, error) {
	row := leaseKey(d.table.stream, streamStateRow)
	row[streamStateListings] = dynamo.N(0)
	row[streamStateBegunAt] = dynamo.Millis(d.cfg.clock.Now())

	if !l.createdAt.IsZero() {
		row[streamStateCreatedAt] = dynamo.Millis(l.createdAt)
	}

	if d.start == Latest {
		// By the service's clock, if it is known. If this machine's clock is ahead, records up to
		// its time would be skipped.
		now := l.serverTime
		if now.IsZero() {
			now = time.Now()
		}
		row[streamStateStartAt] = dynamo.Millis(now)
	}

	if _, err := d.table.insertRow(ctx, row); err != nil {
		return nil, err
	}

	_, state, err := d.readState(ctx)

	return state, err
}

// forgetStream deletes all rows of an earlier stream with the same ARN, the state
// last.
func (d *discovery) forgetStream(ctx context.Context, state *streamState) error {
	// Asked again: one answer is not enough to delete the checkpoints.
	again, err := d.stream.head(ctx)
	if err != nil {
		return err
	}

	leases, err := readLeases(ctx, d.table.api, d.table.table, d.table.stream)
	if err != nil {
		return err
	}

	if !isOtherStream(state, again) {
		return fmt.Errorf("%w: stream %s has another creation time", errUnconfirmed, d.stream.arn)
	}

	gap := Gap{Reason: GapReplaced, Stream: d.stream.arn, Since: lastHandledAt(leases), Until: d.cfg.clock.Now()}
	if d.cfg.OnGap == GapHalt {
		declareGap(d.cfg.Log, d.cfg.Events, gap)
		return &GapError{Gap: gap}
	}

	// The epochs of the deleted leases are not needed: new epochs start at the Unix time (see
	// firstEpoch).
	d.cfg.Log.Warn("the stream was recreated under the same ARN; starting over", "stream", d.stream.arn)

	for _, l := range leases {
		err := d.table.deleteLease(ctx, l)
		if err == nil && l.Finished() {
			err = d.table.unbury(ctx, l.Shard)
		}

		if err != nil {
			return fmt.Errorf("streams: forget lease %s: %w", l.Shard, err)
		}
	}
	d.finished = finishedShards{}

	// The state is deleted last: a crash before this repeats the whole step.
	if err := d.table.deleteRow(ctx, streamStateRow); err != nil {
		return fmt.Errorf("streams: forget %s: %w", d.stream.arn, err)
	}
	declareGap(d.cfg.Log, d.cfg.Events, gap)

	return nil
}

// lastHandledAt returns when the newest record before the checkpoints was created.
func lastHandledAt(leases []Lease) time.Time {
	var last time.Time
	for _, l := range leases {
		if l.HandledAt.After(last) {
			last = l.HandledAt
		}
	}

	return last
}
