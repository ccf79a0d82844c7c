package embedded

import (
	"context"
	"errors"

	"ratchet/embedded/internal/streams"
)

// RollShards closes every open shard of an enabled stream and continues each in one child,
// as Run does when a shard reaches the age of StreamsConfig.RollEvery.
func (e *Engine) RollShards(ctx context.Context, streamARN string) error {
	return e.command(ctx, func() error { return e.streams.Roll(streamARN) })
}

// SplitShard closes an open shard and continues it in two children, each with half of its
// range of partition-key hashes, as AWS does when a table grows.
func (e *Engine) SplitShard(ctx context.Context, streamARN, shardID string) error {
	return e.command(ctx, func() error { return e.streams.Split(streamARN, shardID) })
}

// TrimPoint is where TrimStream cuts. The zero TrimPoint is now: it removes every record.
type TrimPoint = streams.TrimPoint

// TrimStream removes the records before a point, as Run does when records reach the age
// of StreamsConfig.Retention. Shards that closed before the point disappear from
// DescribeStream.
func (e *Engine) TrimStream(ctx context.Context, streamARN string, before TrimPoint) error {
	return e.command(ctx, func() error { return e.streams.Trim(streamARN, before) })
}

// WatchStream returns a channel that receives a value soon after records have become
// readable in a stream, so that a reader need not poll for them. Several records may share
// one value. The caller must call stop when it is done.
func (e *Engine) WatchStream(streamARN string) (hints <-chan struct{}, stop func(), err error) {
	return e.streams.Watch(streamARN)
}

// ErrClosed is the error of a method of a closed engine.
var ErrClosed = errors.New("the embedded engine is closed")

// command runs one command as a call: Close waits for it.
func (e *Engine) command(ctx context.Context, run func() error) error {
	defer e.gate.leave()

	if !e.gate.enter() {
		return ErrClosed
	}

	if err := ctx.Err(); err != nil {
		return err
	}

	return run()
}
