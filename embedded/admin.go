package embedded

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"ratchet/embedded/door"
	"ratchet/embedded/faults"
	"ratchet/embedded/internal/wire"
)

// adminService begins the X-Amz-Target of the engine's own operations.
const adminService = "RatchetEngine_20261121"

// adminWire returns the engine's own operations. No AWS service has them.
func (e *Engine) adminWire() wire.Service {
	return wire.Service{
		Target:        adminService,
		ErrorPrefix:   "ratchet.engine#",
		MessageKey:    "message",
		InternalError: "InternalServerError",
		Operations: map[string]wire.Operation{
			"RollShards": wire.Decoded(e.rollShards),
			"SplitShard": wire.Decoded(e.splitShard),
			"TrimStream": wire.Decoded(e.trimStream),

			"Compact":            e.serveCompact,
			"DescribeCompaction": e.serveCompaction,

			"InjectFault":   e.ifAllowed(e.injectFault),
			"ListFaults":    e.ifAllowed(e.listFaults),
			"ClearFaults":   e.ifAllowed(e.clearFaults),
			"ShiftClock":    e.ifAllowed(wire.Decoded(e.shiftClock)),
			"StallShard":    e.ifAllowed(wire.Decoded(e.stallShard)),
			"ReplaceStream": e.ifAllowed(wire.Decoded(e.replaceStream)),
		},
	}
}

// ifAllowed serves an operation if Config.FaultAdmin is set.
func (e *Engine) ifAllowed(call wire.Operation) wire.Operation {
	return func(ctx context.Context, body []byte) (any, error) {
		if !e.cfg.FaultAdmin {
			return nil, wire.Errorf("AccessDeniedException", "faults are off: the engine was opened without Config.FaultAdmin")
		}

		return call(ctx, body)
	}
}

// guard refuses requests of web pages of another origin, requests for another data directory, and requests for the
// engine's own operations without the directory's token.
func (e *Engine) guard(next http.Handler) http.Handler {
	at := e.cfg.door()
	probed := at.Handler(next)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if at.IsProbe(r) && r.Header[IdentityHeader] == nil {
			probed.ServeHTTP(w, r)
			return
		}

		if err := at.Check(r); err != nil {
			wire.Refuse(w, r, &wire.Error{Type: "AccessDeniedException", Status: door.Status(err), Message: err.Error()})
			return
		}

		if err := e.keys.check(r); err != nil {
			wire.Refuse(w, r, err)
			return
		}

		// A caller that asked for it knows that it has reached the engine.
		if expected := r.Header[IdentityHeader]; expected != nil {
			w.Header()[IdentityHeader] = expected
		}

		// Other processes take the engine's time for the service's.
		if step, _ := e.clock.Held(); step != 0 {
			w.Header().Set("Date", e.clock.Now().UTC().Format(http.TimeFormat))
		}

		next.ServeHTTP(w, r)
	})
}

type shardIn struct {
	StreamArn            *string
	ShardId              *string //nolint:revive // the wire's name
	BeforeSequenceNumber string
	BeforeTime           *float64 // seconds since 1970
	Resume               bool
}

// shard returns the names of the stream and of the shard, which must both be there.
func (in *shardIn) shard() (streamARN, shardID string, err error) {
	switch {
	case in.StreamArn == nil:
		return "", "", wire.Missing("streamArn")
	case in.ShardId == nil:
		return "", "", wire.Missing("shardId")
	default:
		return *in.StreamArn, *in.ShardId, nil
	}
}

func (e *Engine) rollShards(_ context.Context, in *shardIn) (any, error) {
	if in.StreamArn == nil {
		return nil, wire.Missing("streamArn")
	}
	return struct{}{}, e.streams.Roll(*in.StreamArn)
}

func (e *Engine) splitShard(_ context.Context, in *shardIn) (any, error) {
	arn, id, err := in.shard()
	if err != nil {
		return nil, err
	}

	return struct{}{}, e.streams.Split(arn, id)
}

func (e *Engine) trimStream(_ context.Context, in *shardIn) (any, error) {
	if in.StreamArn == nil {
		return nil, wire.Missing("streamArn")
	}

	to := TrimPoint{SequenceNumber: in.BeforeSequenceNumber}
	if in.BeforeTime != nil {
		to.Time = time.UnixMilli(int64(*in.BeforeTime * 1000))
	}

	return struct{}{}, e.streams.Trim(*in.StreamArn, to)
}

func (e *Engine) stallShard(_ context.Context, in *shardIn) (any, error) {
	arn, id, err := in.shard()
	if err != nil {
		return nil, err
	}

	return struct{}{}, e.streams.Stall(arn, id, !in.Resume)
}

func (e *Engine) replaceStream(_ context.Context, in *struct{ TableName *string }) (any, error) {
	if in.TableName == nil {
		return nil, wire.Missing("tableName")
	}
	return struct{}{}, e.dynamodb.ReplaceStream(*in.TableName)
}

func (e *Engine) shiftClock(_ context.Context, in *struct {
	Millis  *int64
	Machine bool
},
) (any, error) {
	if in.Millis == nil {
		return nil, wire.Missing("millis")
	}

	by := time.Duration(*in.Millis) * time.Millisecond
	if in.Machine {
		e.clock.SetWall(by)
	} else {
		e.clock.Shift(by)
	}

	return struct{}{}, nil
}

func (e *Engine) injectFault(_ context.Context, body []byte) (any, error) {
	var f faults.Fault
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, wire.Invalid("the body is not a fault: %v", err)
	}

	if len(e.faults.Injections()) >= maxAdminFaults {
		return nil, wire.Errorf("LimitExceededException", "%d faults are in effect; ClearFaults removes them", maxAdminFaults)
	}

	if _, err := e.Inject(f); err != nil {
		return nil, wire.Invalid("%v", err)
	}

	return struct{}{}, nil
}

// maxAdminFaults bounds the faults that callers over the wire can pile up.
const maxAdminFaults = 1000

func (e *Engine) listFaults(context.Context, []byte) (any, error) {
	type listed struct {
		Fault   faults.Fault
		Strikes int
	}

	all := []listed{}
	for _, i := range e.faults.Injections() {
		all = append(all, listed{i.Fault(), i.Strikes()})
	}

	return map[string]any{"Faults": all}, nil
}

func (e *Engine) clearFaults(context.Context, []byte) (any, error) {
	e.ClearFaults()
	return struct{}{}, nil
}

// ShiftClock sets how far the engine's clock is ahead of package time, or behind it if d is
// negative. Timers, expiry, iterators and the life of shards follow at once, if the engine runs. A
// restart ends the shift. Callers do not notice, because signatures are never checked.
func (e *Engine) ShiftClock(d time.Duration) { e.clock.Shift(d) }

// StallShard makes a shard look idle: readers get no records, whatever is written, until resume is
// called. It fails if there is no such shard. A restart ends the stall.
func (e *Engine) StallShard(ctx context.Context, streamARN, shardID string) (resume func(), err error) {
	err = e.command(ctx, func() error { return e.streams.Stall(streamARN, shardID, true) })
	if err != nil {
		return nil, fmt.Errorf("stall a shard: %w", err)
	}

	return func() { _ = e.streams.Stall(streamARN, shardID, false) }, nil // a shard that is gone needs no resuming
}

// ReplaceStream disables the stream of a table and enables another one, with another ARN, in its
// place. The old one stays readable for a day. It fails if the table has no stream.
func (e *Engine) ReplaceStream(ctx context.Context, table string) error {
	return e.command(ctx, func() error { return e.dynamodb.ReplaceStream(table) })
}
