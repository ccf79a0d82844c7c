package ledger

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// positions remember what accounts were like when this process last saw them, so that
// the next transfer need not read them. They are guesses: the conditions pin what was
// assumed, and a failed one brings the truth.
type positions struct {
	mu  sync.Mutex
	all map[string]Account // by shardKey
}

const mostPositions = 16384

func (p *positions) get(key string) (Account, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, ok := p.all[key]
	return a, ok
}

// put notes an account, unless what is noted is younger; nil forgets it.
func (p *positions) put(key string, a *Account) {
	if a == nil {
		p.forget(key)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.all == nil || len(p.all) >= mostPositions { // beginning anew is cheap: one read per account
		p.all = make(map[string]Account)
	}

	if p.all[key].revision <= a.revision {
		p.all[key] = *a
	}
}

func (p *positions) forget(keys ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	for _, key := range keys {
		delete(p.all, key)
	}
}

// look returns the accounts under the keys, as remembered or as read now; what is not
// there is missing in the result.
func (l *Ledger) look(ctx context.Context, keys []string) (map[string]Account, error) {
	found := make(map[string]Account, len(keys))
	var unknown []image
	for _, key := range keys {
		if a, ok := l.known.get(key); ok {
			found[key] = a
		} else {
			unknown = append(unknown, accountKey(key))
		}
	}

	items, err := l.batch(ctx, l.cfg.Tables.Accounts, unknown)
	if err != nil {
		return nil, err
	}

	for _, item := range items {
		a := accountOf(item)
		key := shardKey(a.ID, a.shard)
		l.known.put(key, a)
		found[key] = *a
	}

	return found, nil
}

// batch reads the items under up to 100 different keys of one table.
func (l *Ledger) batch(ctx context.Context, table string, keys []image) (items []image, err error) {
	for attempt := 1; len(keys) > 0; attempt++ {
		out, err := l.cfg.DynamoDB.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			table: {Keys: keys, ConsistentRead: aws.Bool(true)}}})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", table, err)
		}

		items = append(items, out.Responses[table]...)
		keys = out.UnprocessedKeys[table].Keys
		if len(keys) > 0 && (attempt == l.cfg.Attempts || !pause(ctx, attempt)) {
			return nil, contended(ctx, "read", table)
		}
	}

	return items, nil
}
