package shards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/streams"
	"ratchet/streams/lineage"
	"ratchet/streams/store"
)

// pauseAfterFault reports a failed call and returns the pause before the next.
func (r *Reader) pauseAfterFault(err error) time.Duration {
	r.faults++
	r.Cfg.Events.Fault("GetRecords", r.Shard, err)

	if r.log.Allow() {
		r.Cfg.Log.Warn("reading a shard failed; retrying", "shard", r.Shard, "err", err)
	}

	return store.Backoff.Delay(r.faults)
}

// handleFault decides what an error of GetRecords or GetShardIterator means. It returns nil if
// reading continues with a new iterator, an error that ends reading (ErrShardEnd, errShardGone or
// *GapError), or an error that wraps err if the call is to be repeated.
func (r *Reader) handleFault(ctx context.Context, err error) error {
	var expired *streamtypes.ExpiredIteratorException
	var trimmed *streamtypes.TrimmedDataAccessException
	var missing *streamtypes.ResourceNotFoundException

	switch {
	case errors.As(err, &expired):
		// Iterators expire after 15 minutes, for example while the handlers are busy. An expired
		// iterator is not a fault, unless the next one has expired as well.
		r.iterator = ""
		if r.faults == 0 {
			r.faults++
			return nil
		}

	case errors.As(err, &trimmed):
		r.iterator = ""
		return r.handleTrimmed(ctx, err)

	case errors.As(err, &missing):
		r.iterator = ""
		return r.handleMissing(ctx, err)
	}

	return err
}

// handleMissing handles a call that did not find the shard. Its results are as in
// handleFault. The shard counts as gone when fresh listings have agreed for a while.
func (r *Reader) handleMissing(ctx context.Context, err error) error {
	now := time.Now()

	l, listErr := r.Stream.ListSince(ctx, now)
	if listErr != nil {
		return fmt.Errorf("%w: %w", err, listErr)
	}

	if _, listed := l.Shards[r.Shard]; listed {
		r.missing = lineage.Confirmation{}
		return err
	}

	// That the stream is gone was confirmed by listSince. That the shard is gone is confirmed here.
	if !l.Gone && !r.missing.Confirmed(now, r.Stream.ConfirmOver) {
		return fmt.Errorf("%w: %w", lineage.ErrUnconfirmed, err)
	}

	return r.handleGone()
}

// confirmPause returns the pause before a call whose answer has to be confirmed is repeated.
func (r *Reader) confirmPause() time.Duration {
	return max(r.Stream.ConfirmOver/lineage.ConfirmingAnswers, time.Millisecond)
}

// handleGone reports the unread records of a shard that does not exist any more as a
// gap.
func (r *Reader) handleGone() error {
	r.openGap(streams.GapGone)
	gap := r.closeGaps("")

	if r.Cfg.OnGap == streams.GapHalt {
		return &streams.GapError{Gap: gap}
	}

	return errShardGone
}

// handleTrimmed handles the answer that the records after the position were trimmed. Its results
// are as in handleFault.
func (r *Reader) handleTrimmed(ctx context.Context, err error) error {
	if r.atHorizon || (r.last == "" && r.startAt.IsZero()) {
		// TRIM_HORIZON itself was trimmed between two calls: ask again.
		return err
	}

	// A closed shard that was delivered to its last record has lost nothing.
	end, endErr := r.Stream.EndOf(ctx, r.Shard)
	if endErr != nil {
		return fmt.Errorf("%w: %w", err, endErr)
	}

	if end != "" && store.CompareSequence(end, r.last) <= 0 {
		return ErrShardEnd
	}

	if !r.trimmed.Confirmed(time.Now(), 0) {
		return fmt.Errorf("%w: %w", lineage.ErrUnconfirmed, err)
	}
	r.openGap(streams.GapTrimmed)

	if r.Cfg.OnGap == streams.GapHalt {
		return &streams.GapError{Gap: r.closeGaps("")}
	}

	// Read from the oldest record left. deliver drops records that are not newer than the last one
	// delivered.
	r.atHorizon, r.startAt = true, time.Time{}

	return nil
}

// openGap notes a gap after the last record delivered, unless a gap of this shard is noted already.
func (r *Reader) openGap(reason streams.GapReason) {
	if slices.ContainsFunc(r.gaps, func(g streams.Gap) bool { return g.Shard == r.Shard }) {
		return
	}

	r.gaps = append(r.gaps, streams.Gap{Reason: reason, Stream: r.Stream.Arn, Shard: r.Shard, From: r.last, Since: r.lastAt, Until: r.Cfg.Clock.Now()})
}

// closeGaps reports the noted gaps. They end before the sequence number to, "" if the end is not
// known. It returns the last gap, zero if there is none.
func (r *Reader) closeGaps(to string) (last streams.Gap) {
	for _, last = range r.gaps {
		last.To = to
		r.OnGap(last)
		lineage.DeclareGap(r.Cfg.Log, r.Cfg.Events, last)
	}
	r.gaps = nil

	return last
}
