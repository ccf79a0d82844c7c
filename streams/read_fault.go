package streams

import (
	"context"
	"errors"
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
	r.cfg.Events.fault("GetRecords", r.shard, err)

	if r.log.Allow() {
		r.cfg.Log.Warn("reading a shard failed; retrying", "shard", r.shard, "err", err)
	}

	return readBackoff.Delay(r.faults)
}

// handleFault decides what an error of GetRecords or GetShardIterator means. It
// returns nil if reading continues with a new iterator, an error that ends reading
// (errShardEnd, errShardGone or *GapError), or err itself if the call is to be
// repeated.
func (r *shardReader) handleFault(ctx context.Context, err error) error {
	var expired *streamtypes.ExpiredIteratorException
	var trimmed *streamtypes.TrimmedDataAccessException
	var missing *streamtypes.ResourceNotFoundException

	switch {
	case errors.As(err, &expired):
		// Iterators expire after 15 minutes, for example while the handlers were busy.
		// That is not a fault unless the new iterator has expired as well.
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
		listed, listErr := r.stream.lists(ctx, r.shard)
		if listErr == nil && !listed {
			return r.handleGone()
		}
	}

	return err
}

// handleGone reports what was not read of a shard that does not exist any more as a
// gap.
func (r *shardReader) handleGone() error {
	r.openGap()
	gap := r.closeGap("")

	if r.cfg.OnGap == GapHalt {
		return &GapError{Gap: gap}
	}

	return errShardGone
}

// handleTrimmed handles that the records after the position were trimmed. Its
// results are those of handleFault.
func (r *shardReader) handleTrimmed(ctx context.Context, err error) error {
	if r.last == "" && r.startAt.IsZero() {
		// TRIM_HORIZON itself was trimmed between two calls: ask again.
		return err
	}

	// A closed shard that was delivered to its last record has lost nothing.
	end, endErr := r.stream.endOf(ctx, r.shard)
	if endErr == nil && end != "" && CompareSequence(end, r.last) <= 0 {
		return errShardEnd
	}

	r.openGap()

	if r.cfg.OnGap == GapHalt {
		return &GapError{Gap: r.closeGap("")}
	}

	// All records that are left are newer than the last one delivered.
	r.last, r.startAt = "", time.Time{}

	return nil
}

// openGap notes a gap after the last record delivered, unless one is noted.
func (r *shardReader) openGap() {
	if r.gap == nil {
		r.gap = &Gap{Shard: r.shard, From: r.last, Since: r.lastAt, Until: time.Now()}
	}
}

// closeGap reports the noted gap, if there is one, as ending before the sequence
// number to, "" if that is not known. It returns the gap.
func (r *shardReader) closeGap(to string) Gap {
	if r.gap == nil {
		return Gap{}
	}

	gap := *r.gap
	gap.To = to
	r.gap = nil

	r.onGap(gap)
	r.cfg.Log.Error("records were trimmed before they were read", "shard", gap.Shard,
		"from", gap.From, "to", gap.To, "since", gap.Since, "until", gap.Until)
	r.cfg.Events.gap(gap)

	return gap
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
