package streams

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
)

// The row of a table's current stream, under "table/" and the table's name. Because of
// this row a replaced stream is read to its end: DescribeTable returns only the
// latest stream.
const (
	currentStreamRow    = "#current"
	currentStreamPrefix = "table/"
	currentStreamARN    = "streamArn"
)

// currentStream returns the ARN of the stream that the pollers of tableName read, ""
// if none has run yet.
func currentStream(ctx context.Context, client dynamoAPI, leaseTable, tableName string) (string, error) {
	row, err := currentStreamOf(ctx, client, leaseTable, tableName)
	return dynamo.Text(row, currentStreamARN), err
}

// currentStreamOf reads the row of the table's current stream, nil if there is none.
func currentStreamOf(ctx context.Context, client dynamoAPI, leaseTable, tableName string) (dynamo.Item, error) {
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      aws.String(leaseTable),
		Key:            currentStreamKey(tableName),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("streams: read the current stream of %s: %w", tableName, err)
	}

	return out.Item, nil
}

func currentStreamKey(tableName string) dynamo.Item {
	return leaseKey(currentStreamPrefix+tableName, currentStreamRow)
}

// followTable reads the table's current stream. When that stream is handled to its end, followTable
// waits for the next stream of the table and reads it from the beginning, and so on.
func (p *Poller) followTable(ctx context.Context) error {
	current, err := currentStream(ctx, p.cfg.DynamoDB, p.cfg.LeaseTable, groupKey(p.cfg.Group, p.cfg.TableName))
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
		if !errors.Is(err, ErrStreamEnded) {
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
		current, start = next, TrimHorizon
	}
}

// readStream reads one stream. If the stream was deleted and created again under the same ARN,
// readStream begins again.
func (p *Poller) readStream(ctx context.Context, arn string, start Position) error {
	for {
		err := p.newCoordinator(arn, start).run(ctx)
		if !errors.Is(err, errRecreated) {
			return err
		}
	}
}

// firstStream stores and returns the table's latest stream, or the stream that another
// worker has stored.
func (p *Poller) firstStream(ctx context.Context) (string, error) {
	arn, err := latestStreamOf(ctx, p.cfg.DynamoDB, p.cfg.TableName)
	if err != nil {
		return "", err
	}

	if arn == "" {
		return "", fmt.Errorf("%w: %s", ErrNoStream, p.cfg.TableName)
	}

	return p.storeCurrentStream(ctx, p.currentStreamUpdate(arn).IfAbsent(currentStreamARN))
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
			err = fmt.Errorf("%w: %s", ErrNoStream, p.cfg.TableName)
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
	l, headErr := newStream(p.cfg.lineage(), current).head(ctx)
	if headErr == nil && !l.closed() {
		return current, nil
	}

	// The next stream may have been replaced, too. It is listed for 24 hours and must not be
	// skipped.
	arns, err := listStreams(ctx, p.cfg.Streams, p.cfg.TableName)
	if err != nil && !worker.IsRefusal(err) {
		return "", err
	}

	// arns are sorted by their labels, which are times: the first greater label is the next stream.
	for _, arn := range arns {
		if streamLabel(arn) > streamLabel(current) {
			return arn, nil
		}
	}

	latest, err := latestStreamOf(ctx, p.cfg.DynamoDB, p.cfg.TableName)
	if err != nil || latest == current {
		return "", errors.Join(err, headErr)
	}

	return latest, nil
}

// replaceStream stores that the table's workers continue with the stream next, unless another
// worker has stored a stream. It declares the gap between the two streams: changes that were made
// while the table had no stream make no records.
func (p *Poller) replaceStream(ctx context.Context, current, next string) (string, error) {
	leases, err := readLeases(ctx, p.cfg.DynamoDB, p.cfg.LeaseTable, groupKey(p.cfg.Group, current))
	if err != nil {
		return "", err
	}

	// Before the new stream is stored, so that under GapHalt every later start finds the gap, too.
	gap := Gap{Reason: GapReplaced, Stream: current, Since: lastHandledAt(leases), Until: p.cfg.clock.Now()}
	if p.cfg.OnGap == GapHalt {
		declareGap(p.cfg.Log, p.cfg.Events, gap)
		return "", &GapError{Gap: gap}
	}

	update := p.currentStreamUpdate(next).
		IfEquals(currentStreamARN, dynamo.S(current)).
		SetValue(leaseGapFrom, dynamo.S(current)).
		SetValue(leaseGapAt, dynamo.Millis(gap.Until)).
		Add("#gaps :one").
		Bind(":one", dynamo.N(1))

	stored, err := p.storeCurrentStream(ctx, update)
	// If another worker has stored another stream, that worker declares the gap.
	if err == nil && stored == next {
		declareGap(p.cfg.Log, p.cfg.Events, gap)
	}

	return stored, err
}

// latestStreamOf returns the ARN of a table's latest stream, "" if it has none.
func latestStreamOf(ctx context.Context, api dynamoAPI, table string) (string, error) {
	out, err := api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return "", fmt.Errorf("streams: find the stream of table %s: %w", table, err)
	}

	if out.Table == nil {
		return "", nil
	}

	return aws.ToString(out.Table.LatestStreamArn), nil
}

func (p *Poller) currentStreamUpdate(arn string) *dynamo.Update {
	return dynamo.NewUpdate(p.cfg.LeaseTable, currentStreamKey(groupKey(p.cfg.Group, p.cfg.TableName))).
		SetValue(currentStreamARN, dynamo.S(arn))
}

// storeCurrentStream sends the update and returns the stored stream, which is another stream than
// the update's if the condition failed.
func (p *Poller) storeCurrentStream(ctx context.Context, update *dynamo.Update) (string, error) {
	row, _, err := applyUpdate(ctx, p.cfg.DynamoDB, update)
	if err != nil {
		return "", fmt.Errorf("streams: note the current stream of %s: %w", p.cfg.TableName, err)
	}

	if arn := dynamo.Text(row, currentStreamARN); arn != "" {
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
