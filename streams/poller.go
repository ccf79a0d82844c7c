package streams

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"
)

// ErrStreamEnded is what Run returns when Config.StreamARN names a stream that
// was disabled and is handled to its end, or that does not exist.
var ErrStreamEnded = errStreamEnded

// Poller reads a stream and hands its records to handlers, together with the
// other workers that share its lease table. Make it with New; Run it once.
type Poller struct {
	cfg    Config
	lanes  *lanes
	memory memory

	mu   sync.Mutex
	held map[*shard]struct{}
}

// New checks cfg and returns a poller that is ready to run.
func New(cfg Config) (*Poller, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Poller{cfg: cfg, held: map[*shard]struct{}{}, memory: memory{limit: cfg.MaxPendingBytes}}
	p.lanes = &lanes{cfg: &p.cfg, limit: cfg.Concurrency, letters: &letterTable{api: cfg.DynamoDB, table: cfg.DeadLetterTable}}

	return p, nil
}

// Owner is the worker's name in leases, with its random part.
func (p *Poller) Owner() string { return p.cfg.Owner }

// Run polls until ctx ends. Then it starts nothing new, waits for running
// handlers (up to Config.DrainTimeout, then their contexts end), stores what is
// finished, gives its leases back and returns nil.
//
// Before that it returns an error only when it cannot start (no such table, no
// stream on it, no lease table), when OnGap is GapHalt and records were trimmed
// (*GapError), or when the stream named by Config.StreamARN has ended.
func (p *Poller) Run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	done, finish := context.WithCancel(gctx)
	g.Go(func() error { p.relay(done); return nil })
	g.Go(func() error {
		defer finish()

		if p.cfg.StreamARN != "" {
			return p.newFleet(p.cfg.StreamARN, p.cfg.Start).run(gctx)
		}

		return p.follow(gctx)
	})
	err := g.Wait()
	p.lanes.goroutines.Wait()

	return err
}

// follow reads the table's stream and, when that was replaced, first the old one
// to its end and then the new one from its beginning.
func (p *Poller) follow(ctx context.Context) error {
	current, err := CurrentStream(ctx, p.cfg.DynamoDB, p.cfg.LeaseTable, p.cfg.TableName)
	if err != nil {
		return orStopped(ctx, err)
	}

	start := p.cfg.Start
	if current == "" {
		if current, err = p.latest(ctx); err == nil && current == "" {
			err = fmt.Errorf("streams: table %s has no stream", p.cfg.TableName)
		}

		if err == nil {
			err = p.setCurrent(ctx, current)
		}

		if err != nil {
			return orStopped(ctx, err)
		}
	}

	for {
		err := p.newFleet(current, start).run(ctx)
		if !errors.Is(err, errStreamEnded) {
			return err
		}
		p.cfg.Log.Info("the table's stream has ended; waiting for its successor", "stream", current)

		next, ok := p.successor(ctx, current)
		if !ok {
			return nil
		}

		if err := p.setCurrent(ctx, next); err != nil {
			return orStopped(ctx, err)
		}
		current, start = next, TrimHorizon
	}
}

// successor waits until the table has another stream; false when ctx ended first.
func (p *Poller) successor(ctx context.Context, current string) (string, bool) {
	for {
		next, err := p.latest(ctx)
		switch {
		case err != nil:
			p.cfg.fault("DescribeTable", "", err)
		case next != "" && next != current:
			return next, true
		}

		if !rest(ctx, min(p.cfg.DiscoverEvery, 5*time.Second)) {
			return "", false
		}
	}
}

// orStopped is nil when err came of the stop that was asked for.
func orStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// latest is the ARN of the table's newest stream, "" when it has none.
func (p *Poller) latest(ctx context.Context) (string, error) {
	out, err := p.cfg.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &p.cfg.TableName})
	if err != nil {
		return "", fmt.Errorf("streams: find the stream of table %s: %w", p.cfg.TableName, err)
	}

	if out.Table == nil {
		return "", nil
	}

	return deref(out.Table.LatestStreamArn), nil
}

func (p *Poller) setCurrent(ctx context.Context, arn string) error {
	it := leaseKey(currentPrefix+p.cfg.TableName, currentRow)
	it[currentARN] = avS(arn)

	_, err := p.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(p.cfg.LeaseTable), Item: it})
	if err != nil {
		return fmt.Errorf("streams: note the current stream of %s: %w", p.cfg.TableName, err)
	}

	return nil
}

// relay passes hints on to every reader.
func (p *Poller) relay(ctx context.Context) {
	hint := p.cfg.Hint
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-hint:
			if !open {
				hint = nil
				continue
			}
		}
		p.mu.Lock()
		for s := range p.held {
			s.wake()
		}
		p.mu.Unlock()
	}
}

func (p *Poller) shardUp(s *shard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[s] = struct{}{}
}

func (p *Poller) shardDown(s *shard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, s)
}

// Lags tells, for every shard held at the moment, how far behind it is.
func (p *Poller) Lags() []Lag {
	p.mu.Lock()
	defer p.mu.Unlock()

	now := time.Now()
	out := make([]Lag, 0, len(p.held))
	for s := range p.held {
		out = append(out, s.reader.lag(now))
	}

	return out
}
