package ledger

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// accountCache remembers accounts as this process last saw them, so that the next transfer
// need not read them. Its content may be stale: conditions check every assumption of a
// transaction, and a failed condition returns the present account.
type accountCache struct {
	mu       sync.Mutex
	accounts map[string]Account // by shardKey
}

// maxCachedAccounts bounds the cache. A full cache is emptied: filling it again costs one
// read per account.
const maxCachedAccounts = 16384

func (c *accountCache) get(key string) (Account, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	a, ok := c.accounts[key]

	return a, ok
}

// put stores an account unless the cache has a newer revision. A nil account, which does
// not exist, is removed.
func (c *accountCache) put(key string, a *Account) {
	if a == nil {
		c.forget(key)
		return
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	if c.accounts == nil || len(c.accounts) >= maxCachedAccounts {
		c.accounts = make(map[string]Account)
	}

	// Calls of other goroutines may deliver an older account later.
	if c.accounts[key].revision <= a.revision {
		c.accounts[key] = *a
	}
}

// replace stores an account that a failed condition has returned, or removes it. The condition
// has disproved the cached account, even if it has a newer revision: the tables may have been
// restored.
func (c *accountCache) replace(key string, a *Account) {
	c.forget(key)
	c.put(key, a)
}

func (c *accountCache) forget(keys ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	for _, key := range keys {
		delete(c.accounts, key)
	}
}

// loadAccounts returns the accounts under the keys, from the cache or read now. An account
// that does not exist, or cannot be read, is missing in the result.
func (l *Ledger) loadAccounts(ctx context.Context, keys []string) (map[string]Account, error) {
	found := make(map[string]Account, len(keys))
	var missing []dynamo.Item
	for _, key := range keys {
		if a, ok := l.cache.get(key); ok {
			found[key] = a
		} else {
			missing = append(missing, accountKey(key))
		}
	}

	// Absence is not cached: an account may be created at any time.
	items, err := l.batchGet(ctx, l.cfg.Tables.Accounts, missing)
	if err != nil {
		return nil, err
	}

	for _, item := range items {
		a, err := readAccount(item)
		// Left out, like an account that does not exist: the write fails on it, after the evidence, and names it.
		if err != nil {
			continue
		}

		key := shardKey(a.ID, a.shard)
		l.cache.put(key, a)
		found[key] = *a
	}

	return found, nil
}

// maxBatchKeys is the quota of one BatchGetItem.
const maxBatchKeys = 100

// batchGet reads the items under up to maxBatchKeys different keys of one table.
func (l *Ledger) batchGet(ctx context.Context, table string, keys []dynamo.Item) (items []dynamo.Item, err error) {
	for attempt := 1; len(keys) > 0; attempt++ {
		out, err := l.cfg.DynamoDB.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{
				table: {Keys: keys, ConsistentRead: aws.Bool(true)},
			},
		})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", table, err)
		}

		items = append(items, out.Responses[table]...)

		// DynamoDB answers with fewer items when it is throttled.
		keys = out.UnprocessedKeys[table].Keys
		if len(keys) > 0 && (attempt == l.cfg.attempts || !waitBeforeRetry(ctx, attempt)) {
			return nil, contended(ctx, "read", table)
		}
	}

	return items, nil
}
