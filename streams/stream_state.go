package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/internal/dynamo"
)

// The row of a stream's state, under the stream's ARN beside its leases.
const (
	streamStateRow       = "#stream"
	streamStateCreatedAt = "createdAt"
	streamStateStartAt   = "startAt"
	streamStateReady     = "ready"
	streamStateListings  = "counter"
)

// streamState says how reading of a stream began, and which listing is next.
type streamState struct {
	createdAt time.Time // the stream's creation: another time means another stream
	startAt   time.Time // where the shards of the first listing begin; zero: at the oldest record
	ready     bool      // the leases of the first listing are stored
	listings  int64     // how many listings were begun
}

func decodeStreamState(row dynamo.Item) *streamState {
	return &streamState{
		createdAt: dynamo.Time(row, streamStateCreatedAt),
		startAt:   dynamo.Time(row, streamStateStartAt),
		ready:     dynamo.Flag(row, streamStateReady),
		listings:  dynamo.Number(row, streamStateListings),
	}
}

// bootstrap makes sure that the stream has a state and that the shards of the first
// listing have leases. Any number of workers may do this at once, and any of them
// may crash in between: each step has no effect the second time, and ready is set
// last.
func (d *discovery) bootstrap(ctx context.Context) error {
	l, err := d.stream.list(ctx)
	if err != nil {
		return err
	}

	if err := d.checkView(l); err != nil {
		return err
	}

	leases, state, err := d.table.read(ctx)
	if err != nil {
		return err
	}

	if l.gone {
		// The readers of unread shards declare what is lost.
		if slices.ContainsFunc(leases, func(l Lease) bool { return !l.Finished() }) {
			return nil
		}

		return fmt.Errorf("%w: %s does not exist", ErrStreamEnded, d.stream.arn)
	}

	if state != nil && isOtherStream(state, l) {
		if err := d.forgetStream(ctx, state, leases); err != nil {
			return err
		}
		state = nil
	}

	if state == nil {
		if state, err = d.insertState(ctx, l); err != nil {
			return err
		}
	}

	if state.ready {
		return nil
	}

	for id, shard := range l.shards {
		lease := Lease{
			Shard:     id,
			Parent:    deref(shard.ParentShardId),
			StartAt:   state.startAt,
			AtHorizon: state.startAt.IsZero(),
			Epoch:     time.Now().Unix(),
		}
		if _, err := d.table.insert(ctx, lease); err != nil {
			return err
		}
	}

	ready := d.table.update(streamStateRow).
		IfPresent(leaseShard).
		SetValue(streamStateReady, dynamo.Bool(true))
	if _, _, err := applyUpdate(ctx, d.table.api, ready); err != nil {
		return fmt.Errorf("streams: note that %s is begun: %w", d.stream.arn, err)
	}

	return nil
}

// checkView reports that the stream lacks images.
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

// insertState stores the state of a stream that has none. It returns what is stored,
// which another worker may have stored first.
func (d *discovery) insertState(ctx context.Context, l listing) (*streamState, error) {
	row := leaseKey(d.table.stream, streamStateRow)
	row[streamStateListings] = dynamo.N(0)
	if !l.createdAt.IsZero() {
		row[streamStateCreatedAt] = dynamo.Millis(l.createdAt)
	}

	if d.start == Latest {
		// By the service's clock if it is known: ours may be ahead of it, and records
		// written in between would be skipped.
		now := l.serverTime
		if now.IsZero() {
			now = time.Now()
		}
		row[streamStateStartAt] = dynamo.Millis(now)
	}

	if _, err := d.table.insertRow(ctx, row); err != nil {
		return nil, err
	}

	_, state, err := d.table.read(ctx)
	if err == nil && state == nil {
		err = errors.New("streams: the state of " + d.stream.arn + " was deleted")
	}

	return state, err
}

// forgetStream deletes all rows of an earlier stream with the same ARN, the state
// last.
func (d *discovery) forgetStream(ctx context.Context, state *streamState, leases []Lease) error {
	// One answer must not be enough to forget how far the stream was read.
	again, err := d.stream.list(ctx)
	if err != nil {
		return err
	}

	if !isOtherStream(state, again) {
		return fmt.Errorf("%w: stream %s has another creation time", errUnconfirmed, d.stream.arn)
	}

	gap := Gap{Reason: GapReplaced, Stream: d.stream.arn, Since: lastHandledAt(leases), Until: time.Now()}
	if d.cfg.OnGap == GapHalt {
		declareGap(d.cfg, gap)
		return &GapError{Gap: gap}
	}

	d.cfg.Log.Warn("the stream was recreated under the same ARN; starting over", "stream", d.stream.arn)

	for _, l := range leases {
		if err := d.table.deleteRow(ctx, l.Shard); err != nil {
			return fmt.Errorf("streams: forget lease %s: %w", l.Shard, err)
		}
	}

	if err := d.table.deleteRow(ctx, streamStateRow); err != nil {
		return fmt.Errorf("streams: forget %s: %w", d.stream.arn, err)
	}
	declareGap(d.cfg, gap)

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
