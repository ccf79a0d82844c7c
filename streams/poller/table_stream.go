package poller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/store"
)

// followTable reads the table's current stream. When that stream is handled to its end, followTable
// waits for the next stream of the table and reads it from the beginning, and so on.
func (p *Poller) followTable(ctx context.Context) error {
	current, err := lineage.CurrentStream(ctx, p.cfg.DynamoDB, p.cfg.LeaseTable, store.GroupKey(p.cfg.Group, p.cfg.TableName))
	if err != nil {
		return unlessStopped(ctx, err)
	}

	if current == "" {
		if current, err = p.firstStream(ctx); err != nil {
			return unlessStopped(ctx, err)
		}
	}

	start := p.cfg.Start
	for {
		err := p.readStream(ctx, current, start)
		if !errors.Is(err, streams.ErrStreamEnded) {
			return err
		}

		next, ok := p.waitForSuccessor(ctx, current)
		if !ok {
			return nil
		}

		// Stored before the first record is read: a worker that starts later must not
		// return to the old stream.
		if next != current {
			if next, err = p.replaceStream(ctx, current, next); err != nil {
				return unlessStopped(ctx, err)
			}
		}

		// From the beginning: every record of the next stream is newer than the handled records.
		current, start = next, streams.TrimHorizon
	}
}

// readStream reads one stream. If the stream was deleted and created again under the same ARN,
// readStream begins again.
func (p *Poller) readStream(ctx context.Context, arn string, start streams.Position) error {
	for {
		err := p.newCoordinator(arn, start).run(ctx)
		if !errors.Is(err, lineage.ErrRecreated) {
			return err
		}
	}
}

// firstStream stores and returns the table's latest stream, or the stream that another
// worker has stored.
func (p *Poller) firstStream(ctx context.Context) (string, error) {
	arn, err := lineage.LatestStream(ctx, p.cfg.DynamoDB, p.cfg.TableName)
	if err != nil {
		return "", err
	}

	if arn == "" {
		return "", fmt.Errorf("%w: %s", streams.ErrNoStream, p.cfg.TableName)
	}

	return p.storeCurrentStream(ctx, p.currentStreamUpdate(arn).IfAbsent(lineage.CurrentStreamARN))
}

// waitForSuccessor waits until the table has a stream after the current one, and returns the oldest
// of these streams. It returns the current stream itself if that stream is still open, and false if
// ctx ended first.
func (p *Poller) waitForSuccessor(ctx context.Context, current string) (string, bool) {
	p.cfg.Log.Info("the table's stream has ended; waiting for its successor", "stream", current)

	for {
		next, err := p.findSuccessor(ctx, current)
		if next != "" {
			return next, true
		}

		if err == nil {
			err = fmt.Errorf("%w: %s", streams.ErrNoStream, p.cfg.TableName)
		}

		if ctx.Err() == nil {
			p.setHealth(err)
			p.cfg.Events.Fault("DescribeTable", "", err)

			if p.log.Allow() {
				p.cfg.Log.Warn("there is no stream to read; waiting", "table", p.cfg.TableName, "err", err)
			}
		}

		if !worker.Wait(ctx, min(p.cfg.discoverEvery, 5*time.Second)) {
			return "", false
		}
	}
}

// findSuccessor returns the stream to read after the current one, "" if there is none
// yet.
func (p *Poller) findSuccessor(ctx context.Context, current string) (string, error) {
	l, headErr := lineage.NewStream(p.cfg.lineage(), current).Head(ctx)
	if headErr == nil && !l.Closed() {
		return current, nil
	}

	// The next stream may have been replaced, too. It is listed for 24 hours and must not be
	// skipped.
	arns, err := lineage.ListStreams(ctx, p.cfg.Streams, p.cfg.TableName)
	if err != nil && !worker.IsRefusal(err) {
		return "", err
	}

	// arns are sorted by their labels, which are times: the first greater label is the next stream.
	for _, arn := range arns {
		if lineage.StreamLabel(arn) > lineage.StreamLabel(current) {
			return arn, nil
		}
	}

	latest, err := lineage.LatestStream(ctx, p.cfg.DynamoDB, p.cfg.TableName)
	if err != nil || latest == current {
		return "", errors.Join(err, headErr)
	}

	return latest, nil
}

// replaceStream stores that the table's workers continue with the stream next, unless another
// worker has stored a stream. It declares the gap between the two streams: changes that were made
// while the table had no stream make no records.
func (p *Poller) replaceStream(ctx context.Context, current, next string) (string, error) {
	read, err := leases.Read(ctx, p.cfg.DynamoDB, p.cfg.LeaseTable, store.GroupKey(p.cfg.Group, current))
	if err != nil {
		return "", err
	}

	// Before the new stream is stored, so that under GapHalt every later start finds the gap, too.
	gap := streams.Gap{Reason: streams.GapReplaced, Stream: current, Since: lineage.LastHandledAt(read), Until: p.cfg.clock.Now()}
	if p.cfg.OnGap == streams.GapHalt {
		lineage.DeclareGap(p.cfg.Log, p.cfg.Events, gap)
		return "", &streams.GapError{Gap: gap}
	}

	update := p.currentStreamUpdate(next).
		IfEquals(lineage.CurrentStreamARN, dynamo.S(current)).
		SetValue(leases.LeaseGapFrom, dynamo.S(current)).
		SetValue(leases.LeaseGapAt, dynamo.Millis(gap.Until)).
		Add("#gaps :one").
		Bind(":one", dynamo.N(1))

	stored, err := p.storeCurrentStream(ctx, update)
	// if another worker has stored another stream, that worker declares the gap.
	if err == nil && stored == next {
		lineage.DeclareGap(p.cfg.Log, p.cfg.Events, gap)
	}

	return stored, err
}

func (p *Poller) currentStreamUpdate(arn string) *dynamo.Update {
	return dynamo.NewUpdate(p.cfg.LeaseTable, lineage.CurrentStreamKey(store.GroupKey(p.cfg.Group, p.cfg.TableName))).
		SetValue(lineage.CurrentStreamARN, dynamo.S(arn))
}

// storeCurrentStream sends the update and returns the stored stream, which is another stream than
// the update's if the condition failed.
func (p *Poller) storeCurrentStream(ctx context.Context, update *dynamo.Update) (string, error) {
	row, _, err := store.Apply(ctx, p.cfg.DynamoDB, update)
	if err != nil {
		return "", fmt.Errorf("streams: note the current stream of %s: %w", p.cfg.TableName, err)
	}

	if arn := dynamo.Text(row, lineage.CurrentStreamARN); arn != "" {
		return arn, nil
	}

	return "", fmt.Errorf("streams: the current stream of %s was deleted", p.cfg.TableName)
}

// unlessStopped returns err, or nil if ctx has ended: after a stop, the error is only a consequence
// of the stop.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}

	return err
}
