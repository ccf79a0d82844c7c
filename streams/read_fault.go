package streams

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"ratchet/internal/worker"
)

// readBackoff is the pause after failed calls to DynamoDB Streams.
var readBackoff = worker.Backoff{Base: 200 * time.Millisecond, Max: 10 * time.Second}

// pauseAfterFault reports a failed call and returns the pause before the next.
func (r *shardReader) pauseAfterFault(err error) time.Duration {
	r.faults++
	r.cfg.Events.Fault("GetRecords", r.shard, err)

	if r.log.Allow() {
		r.cfg.Log.Warn("reading a shard failed; retrying", "shard", r.shard, "err", err)
	}

	return readBackoff.Delay(r.faults)
}

// handleFault decides what an error of GetRecords or GetShardIterator means. It returns nil if
// reading continues with a new iterator, an error that ends reading (errShardEnd, errShardGone or
// *GapError), or an error that wraps err if the call is to be repeated.
func (r *shardReader) handleFault(ctx context.Context, err error) error {
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
func (r *shardReader) handleMissing(ctx context.Context, err error) error {
	now := time.Now()

	l, listErr := r.stream.listSince(ctx, now)
	if listErr != nil {
		return fmt.Errorf("%w: %w", err, listErr)
	}

	if _, listed := l.shards[r.shard]; listed {
		r.missing = confirmation{}
		return err
	}

	// That the stream is gone was confirmed by listSince. That the shard is gone is confirmed here.
	if !l.gone && !r.missing.confirmed(now, r.stream.confirmOver) {
		return fmt.Errorf("%w: %w", errUnconfirmed, err)
	}

	return r.handleGone()
}

// confirmPause returns the pause before a call whose answer has to be confirmed is repeated.
func (r *shardReader) confirmPause() time.Duration {
	return max(r.stream.confirmOver/confirmingAnswers, time.Millisecond)
}

// handleGone reports the unread records of a shard that does not exist any more as a
// gap.
func (r *shardReader) handleGone() error {
	r.openGap(GapGone)
	gap := r.closeGaps("")

	if r.cfg.OnGap == GapHalt {
		return &GapError{Gap: gap}
	}

	return errShardGone
}

// handleTrimmed handles the answer that the records after the position were trimmed. Its results
// are as in handleFault.
func (r *shardReader) handleTrimmed(ctx context.Context, err error) error {
	if r.atHorizon || (r.last == "" && r.startAt.IsZero()) {
		// TRIM_HORIZON itself was trimmed between two calls: ask again.
		return err
	}

	// A closed shard that was delivered to its last record has lost nothing.
	end, endErr := r.stream.endOf(ctx, r.shard)
	if endErr != nil {
		return fmt.Errorf("%w: %w", err, endErr)
	}

	if end != "" && compareSequence(end, r.last) <= 0 {
		return errShardEnd
	}

	if !r.trimmed.confirmed(time.Now(), 0) {
		return fmt.Errorf("%w: %w", errUnconfirmed, err)
	}
	r.openGap(GapTrimmed)

	if r.cfg.OnGap == GapHalt {
		return &GapError{Gap: r.closeGaps("")}
	}

	// Read from the oldest record left. deliver drops records that are not newer than the last one
	// delivered.
	r.atHorizon, r.startAt = true, time.Time{}

	return nil
}

// openGap notes a gap after the last record delivered, unless a gap of this shard is noted already.
func (r *shardReader) openGap(reason GapReason) {
	if slices.ContainsFunc(r.gaps, func(g Gap) bool { return g.Shard == r.shard }) {
		return
	}

	r.gaps = append(r.gaps, Gap{Reason: reason, Stream: r.stream.arn, Shard: r.shard, From: r.last, Since: r.lastAt, Until: r.cfg.clock.Now()})
}

// closeGaps reports the noted gaps. They end before the sequence number to, "" if the end is not
// known. It returns the last gap, zero if there is none.
func (r *shardReader) closeGaps(to string) (last Gap) {
	for _, last = range r.gaps {
		last.To = to
		r.onGap(last)
		declareGap(r.cfg.Log, r.cfg.Events, last)
	}
	r.gaps = nil

	return last
}

// declareGap logs and reports a gap.
func declareGap(log *slog.Logger, events Events, gap Gap) {
	if gap.Reason == GapQueue {
		log = log.With("handler", gap.Handler, "item", gap.Item)
	}
	log.Error("records were not read and cannot be read any more", "reason", gap.Reason, "stream", gap.Stream,
		"shard", gap.Shard, "from", gap.From, "to", gap.To, "since", gap.Since, "until", gap.Until)
	events.Gap(gap)
}

// isInvalidInput reports whether the service did not accept the parameters.
func isInvalidInput(err error) bool {
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
