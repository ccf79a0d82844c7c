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

// The row of a table's current stream, under "table/" and the table's name. It is
// what makes a replaced stream be read to its end: DescribeTable returns only the
// latest one.
const (
	currentStreamRow    = "#current"
	currentStreamPrefix = "table/"
	currentStreamARN    = "streamArn"
)

// CurrentStream returns the ARN of the stream that the pollers of tableName read, ""
// if none has run yet.
func CurrentStream(ctx context.Context, client dynamoAPI, leaseTable, tableName string) (string, error) {
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      aws.String(leaseTable),
		Key:            currentStreamKey(tableName),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return "", fmt.Errorf("streams: read the current stream of %s: %w", tableName, err)
	}

	return dynamo.Text(out.Item, currentStreamARN), nil
}

func currentStreamKey(tableName string) dynamo.Item {
	return leaseKey(currentStreamPrefix+tableName, currentStreamRow)
}

// followTable reads the table's current stream and, when that was replaced and is
// handled to its end, its successor from the beginning.
func (p *Poller) followTable(ctx context.Context) error {
	current, err := CurrentStream(ctx, p.cfg.DynamoDB, p.cfg.LeaseTable, p.cfg.TableName)
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
		err := p.newCoordinator(current, start).run(ctx)
		if !errors.Is(err, ErrStreamEnded) {
			return err
		}
		p.cfg.Log.Info("the table's stream has ended; waiting for its successor", "stream", current)

		next, ok := p.waitForSuccessor(ctx, current)
		if !ok {
			return nil
		}

		// Stored before the first record is read: a worker that starts later must not
		// return to the old stream.
		if err := p.storeCurrentStream(ctx, next); err != nil {
			return unlessStopped(ctx, err)
		}

		// Every record of the successor is newer than what was handled.
		current, start = next, TrimHorizon
	}
}

// firstStream stores and returns the table's latest stream.
func (p *Poller) firstStream(ctx context.Context) (string, error) {
	arn, err := p.latestStream(ctx)
	if err != nil {
		return "", err
	}

	if arn == "" {
		return "", fmt.Errorf("streams: table %s has no stream", p.cfg.TableName)
	}

	return arn, p.storeCurrentStream(ctx, arn)
}

// waitForSuccessor waits until the table has another stream. It returns false if ctx
// ended first.
func (p *Poller) waitForSuccessor(ctx context.Context, current string) (string, bool) {
	for {
		next, err := p.latestStream(ctx)
		switch {
		case err != nil:
			p.cfg.Events.fault("DescribeTable", "", err)
		case next != "" && next != current:
			return next, true
		}

		if !worker.Wait(ctx, min(p.cfg.DiscoverEvery, 5*time.Second)) {
			return "", false
		}
	}
}

// latestStream returns the ARN of the table's latest stream, "" if it has none.
func (p *Poller) latestStream(ctx context.Context) (string, error) {
	out, err := p.cfg.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &p.cfg.TableName})
	if err != nil {
		return "", fmt.Errorf("streams: find the stream of table %s: %w", p.cfg.TableName, err)
	}

	if out.Table == nil {
		return "", nil
	}

	return deref(out.Table.LatestStreamArn), nil
}

func (p *Poller) storeCurrentStream(ctx context.Context, arn string) error {
	row := currentStreamKey(p.cfg.TableName)
	row[currentStreamARN] = dynamo.S(arn)

	_, err := p.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &p.cfg.LeaseTable, Item: row})
	if err != nil {
		return fmt.Errorf("streams: note the current stream of %s: %w", p.cfg.TableName, err)
	}

	return nil
}

// unlessStopped returns err, or nil if ctx has ended: the error then comes from the
// stop that was asked for.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}

	return err
}
