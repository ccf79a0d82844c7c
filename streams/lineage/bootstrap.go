package lineage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// Bootstrap makes sure that the stream has a state and that the shards of the first listing have
// leases. Any number of workers may call Bootstrap at once, and any of them may crash: a repeat of
// a step has no effect, and ready is set last. One worker makes the listing. The others wait until
// the state is ready. If it is not ready after a lease duration, another worker makes the listing.
func (d *Discovery) Bootstrap(ctx context.Context) error {
	stored, state, err := d.table.Read(ctx)
	if err != nil {
		return err
	}

	l, err := d.stream.Head(ctx)
	if err != nil {
		return err
	}

	if err := d.checkView(l); err != nil {
		return err
	}

	if l.Gone {
		// The readers of unread shards declare the lost records.
		if slices.ContainsFunc(stored, func(l leases.Lease) bool { return !l.Finished() }) {
			return nil
		}

		return fmt.Errorf("%w: %s does not exist", streams.ErrStreamEnded, d.stream.Arn)
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

	for !state.Ready {
		claimed, err := d.claimListing(ctx, state, since)
		if err != nil {
			return err
		}

		if claimed {
			return d.insertFirstLeases(ctx)
		}

		before := state.Listings

		if !worker.Wait(ctx, d.scanInterval) {
			return ctx.Err()
		}

		if _, state, err = d.readState(ctx); err != nil {
			return err
		}

		if state.Listings != before {
			since = time.Now()
		}
	}

	return nil
}

// claimListing reports whether this worker makes the first listing. It does if no listing was
// begun, or if the one that was begun is not done after a lease duration.
func (d *Discovery) claimListing(ctx context.Context, state *leases.StreamState, since time.Time) (bool, error) {
	if state.Listings > 0 && time.Since(since) < d.Cfg.LeaseDuration {
		return false, nil
	}

	_, applied, err := store.Apply(ctx, d.table.API, d.table.NextListing(state))

	return applied, err
}

// insertFirstLeases lists the stream and stores the leases of all shards.
func (d *Discovery) insertFirstLeases(ctx context.Context) error {
	l, err := d.stream.list(ctx)
	if err != nil {
		return err
	}

	// Some leases may exist: another worker has stored them, or their holders have restored them.
	stored, state, err := d.readState(ctx)
	if err != nil {
		return err
	}

	if _, err := d.insertListed(ctx, l, leases.ByShard(stored), d.firstLeases(l, state)); err != nil {
		return err
	}

	// Last: a crash before this makes another worker list again.
	ready := d.table.Update(leases.StreamStateRow).
		IfPresent(leases.ShardKey).
		SetValue(leases.StreamStateReady, dynamo.Bool(true))
	if _, _, err := store.Apply(ctx, d.table.API, ready); err != nil {
		return fmt.Errorf("streams: note that %s is begun: %w", d.stream.Arn, err)
	}

	return nil
}

// firstLeases returns a function that makes the leases of the first listing. Records that were
// trimmed after the state was stored are a gap for this group. This happens if the worker that has
// stored the state ended before it listed the shards, and the next worker starts a day later.
func (d *Discovery) firstLeases(l Listing, state *leases.StreamState) func(shard, parent string) leases.Lease {
	now := d.Cfg.Clock.Now()

	return func(shard, parent string) leases.Lease {
		lease := leases.Lease{StartAt: state.StartAt, AtHorizon: state.StartAt.IsZero()}

		// A parent that is not listed any more may have had records at begunAt. It had none if it
		// ended, which is when its child was created, a day or more before begunAt.
		_, listed := l.Shards[parent]
		createdAt := ShardCreatedAt(shard)
		endedBefore := !createdAt.IsZero() && state.BegunAt.Sub(createdAt) >= d.Cfg.Horizon
		lease.ParentLost = parent != "" && !listed && !endedBefore && now.Sub(state.BegunAt) > d.Cfg.Horizon

		// A shard that was created after begunAt has no records from before its creation.
		asked := state.BegunAt
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
func (d *Discovery) readState(ctx context.Context) ([]leases.Lease, *leases.StreamState, error) {
	leases, state, err := d.table.Read(ctx)
	if err == nil && state == nil {
		err = errors.New("streams: the state of " + d.stream.Arn + " was deleted")
	}

	if err != nil {
		return nil, nil, err
	}

	d.mu.Lock()
	d.state = state
	d.mu.Unlock()

	return leases, state, nil
}

// checkView returns ErrViewType if the stream's records lack the images that Config.NeedImages asks
// for.
func (d *Discovery) checkView(l Listing) error {
	const want = streamtypes.StreamViewTypeNewAndOldImages
	if d.Cfg.NeedImages && l.viewType != "" && l.viewType != want {
		return fmt.Errorf("%w: %s has %s, want %s", ErrViewType, d.stream.Arn, l.viewType, want)
	}

	return nil
}

// isOtherStream reports whether the state belongs to an earlier stream with the same
// ARN. AWS never reuses an ARN, but an emulator that was started on empty storage
// does. The sequence numbers of the earlier stream mean nothing in the new one.
func isOtherStream(state *leases.StreamState, l Listing) bool {
	return !state.CreatedAt.IsZero() && !l.createdAt.IsZero() &&
		state.CreatedAt.UnixMilli() != l.createdAt.UnixMilli()
}

// insertState stores the state of a stream that has none. It returns the stored state, which
// another worker may have stored first.
func (d *Discovery) insertState(ctx context.Context, l Listing) (*leases.StreamState, error) {
	row := leases.Key(d.table.Stream, leases.StreamStateRow)
	row[leases.StreamStateListings] = dynamo.N(0)
	row[leases.StreamStateBegunAt] = dynamo.Millis(d.Cfg.Clock.Now())

	if !l.createdAt.IsZero() {
		row[leases.StreamStateCreatedAt] = dynamo.Millis(l.createdAt)
	}

	if d.start == streams.Latest {
		// By the service's clock, if it is known. If this machine's clock is ahead, records up to
		// its time would be skipped.
		now := l.serverTime
		if now.IsZero() {
			now = time.Now()
		}
		row[leases.StreamStateStartAt] = dynamo.Millis(now)
	}

	if _, err := d.table.InsertRow(ctx, row); err != nil {
		return nil, err
	}

	_, state, err := d.readState(ctx)

	return state, err
}

// forgetStream deletes all rows of an earlier stream with the same ARN, the state
// last.
func (d *Discovery) forgetStream(ctx context.Context, state *leases.StreamState) error {
	// Asked again: one answer is not enough to delete the checkpoints.
	again, err := d.stream.Head(ctx)
	if err != nil {
		return err
	}

	stored, err := leases.Read(ctx, d.table.API, d.table.Table, d.table.Stream)
	if err != nil {
		return err
	}

	if !isOtherStream(state, again) {
		return fmt.Errorf("%w: stream %s has another creation time", ErrUnconfirmed, d.stream.Arn)
	}

	gap := streams.Gap{Reason: streams.GapReplaced, Stream: d.stream.Arn, Since: LastHandledAt(stored), Until: d.Cfg.Clock.Now()}
	if d.Cfg.OnGap == streams.GapHalt {
		DeclareGap(d.Cfg.Log, d.Cfg.Events, gap)
		return &streams.GapError{Gap: gap}
	}

	// The epochs of the deleted leases are not needed: new epochs start at the Unix time (see
	// leases.FirstEpoch).
	d.Cfg.Log.Warn("the stream was recreated under the same ARN; starting over", "stream", d.stream.Arn)

	for _, l := range stored {
		err := d.table.DeleteLease(ctx, l)
		if err == nil && l.Finished() {
			err = d.table.Unbury(ctx, l.Shard)
		}

		if err != nil {
			return fmt.Errorf("streams: forget lease %s: %w", l.Shard, err)
		}
	}
	clear(d.finished)

	// The state is deleted last: a crash before this repeats the whole step.
	if err := d.table.DeleteRow(ctx, leases.StreamStateRow); err != nil {
		return fmt.Errorf("streams: forget %s: %w", d.stream.Arn, err)
	}
	DeclareGap(d.Cfg.Log, d.Cfg.Events, gap)

	return nil
}

// LastHandledAt returns when the newest record before the checkpoints was created.
func LastHandledAt(leases []leases.Lease) time.Time {
	var last time.Time
	for _, l := range leases {
		if l.HandledAt.After(last) {
			last = l.HandledAt
		}
	}

	return last
}

// ErrViewType reports that the stream's records lack the images that Config.NeedImages asks for.
var ErrViewType = errors.New("streams: wrong view type")
