package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/streams"
	"ratchet/streams/poller"
)

// embeddedLease is the duration of a shard's lease on the embedded engine. A worker of the same process that hangs is
// replaced after that time; workers of earlier processes have ended.
const embeddedLease = 2 * time.Second

// inProcess stands in the names of workers on the embedded engine of their own process, before what is the process's own.
const inProcess = "@engine-"

// Handlers returns the handlers of the orders' stream.
func (b *Backend) Handlers() []streams.Handler {
	return slices.Concat(b.handlersWithoutParts(), b.ownHandlers)
}

// handlersWithoutParts returns the handlers that are not of Parts.
func (b *Backend) handlersWithoutParts() []streams.Handler {
	return slices.Concat(b.builtInHandlers(), b.listHandlers(), b.timerHandlers())
}

// builtInHandlers returns the reactions of the shop, or, in another workflow, those that every workflow has.
func (b *Backend) builtInHandlers() []streams.Handler {
	if b.flow.own {
		return b.reactions.GeneralHandlers()
	}

	return b.reactions.Handlers()
}

// assembleHandlers takes the handlers of Parts. Their names must be new: they are part of effect
// keys, cursors and dead letters.
func (b *Backend) assembleHandlers() error {
	if b.Config.Parts.Handlers == nil {
		return nil
	}

	// The names are reserved even if the handlers are off: dead letters with these names may exist.
	taken := map[string]bool{listsHandler: true, timersHandler: true}
	for _, h := range b.builtInHandlers() {
		taken[h.Name] = true
	}

	b.ownHandlers = b.Config.Parts.Handlers(b)
	for i, h := range b.ownHandlers {
		if h.Name == "" || taken[h.Name] {
			return fmt.Errorf("handlers[%d].name %q: must be set, and different from those of other handlers", i, h.Name)
		}
		taken[h.Name] = true
	}

	return nil
}

// newPoller builds the poller of the orders' stream. On the embedded engine, each commit wakes the
// poller, so that it need not wait for its next poll. Release ends that.
func (b *Backend) newPoller(ctx context.Context, name string) (p *poller.Poller, release func(), err error) {
	cfg := poller.Config{
		Streams:         b.Streams,
		DynamoDB:        b.DynamoDB,
		TableName:       b.Tables.Orders,
		LeaseTable:      b.Tables.Leases,
		DeadLetterTable: b.Tables.DeadLetters,
		Owner:           name,
		Handlers:        b.Tracing.Handlers(b.Handlers(), b.Orders.Mapping()),
		NeedImages:      true, // the handlers compare the order before and after
		Log:             b.log,
		Events:          b.Telemetry.StreamEvents(b.health.streamEvents(streamEvents(b.log, b.Orders.Mapping()))),
	}
	release = func() {}

	for _, handler := range cfg.Handlers {
		b.Telemetry.ExpectHandler(handler.Name)
	}

	if b.Engine != nil {
		arn, err := b.streamARN(ctx)
		if err != nil {
			return nil, nil, err
		}

		// Only one process has the data directory open, so the workers of earlier ones have ended.
		cfg.LeaseDuration = embeddedLease
		cfg.Owner = name + inProcess + b.engineID
		cfg.Ended = b.ofEarlierProcess
		if cfg.Hint, release, err = b.Engine.WatchStream(arn); err != nil {
			return nil, nil, err
		}
	}

	if p, err = poller.New(cfg); err != nil {
		release()
		return nil, nil, err
	}

	return p, release, nil
}

// ofEarlierProcess reports whether the worker was one of an earlier process that had the embedded engine open.
func (b *Backend) ofEarlierProcess(worker string) bool {
	_, process, found := strings.Cut(worker, inProcess)
	return found && !strings.HasPrefix(process, b.engineID+"-")
}

// streamARN looks up the ARN of the orders' stream.
func (b *Backend) streamARN(ctx context.Context) (string, error) {
	out, err := b.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &b.Tables.Orders})
	if err != nil {
		return "", fmt.Errorf("describe table %s: %w", b.Tables.Orders, err)
	}

	return aws.ToString(out.Table.LatestStreamArn), nil
}
