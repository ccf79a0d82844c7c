package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// Entry is one line of a statement.
type Entry struct {
	Posting
	TransferID string    `json:"transferId"`
	At         time.Time `json:"at"`
}

// entryItem returns the entry of one posting.
func entryItem(key string, t Transfer, p Posting, at time.Time) dynamo.Item {
	return dynamo.Item{
		"accountId":  dynamo.S(key),
		"sequence":   dynamo.N(p.Sequence),
		"transferId": dynamo.S(t.ID),
		"amount":     dynamo.N(p.Amount),
		"balance":    dynamo.N(p.Balance),
		"at":         dynamo.N(at.UnixMilli()),
	}
}

func decodeEntry(item dynamo.Item) Entry {
	account, suffix, _ := strings.Cut(dynamo.Text(item, "accountId"), "#")
	shard, _ := strconv.Atoi(suffix) // the first shard has no suffix

	return Entry{
		Posting: Posting{
			Account:  account,
			Shard:    shard,
			Amount:   dynamo.Number(item, "amount"),
			Sequence: dynamo.Number(item, "sequence"),
			Balance:  dynamo.Number(item, "balance"),
		},
		TransferID: dynamo.Text(item, "transferId"),
		At:         decodeTime(item, "at"),
	}
}

// cursor is a place in a statement, after the entry of that number. The zero value is the
// beginning.
type cursor struct {
	shard    int
	sequence int64
}

func (c cursor) String() string { return fmt.Sprintf("%d.%d", c.shard, c.sequence) }

// parseCursor is the inverse of String. The empty text is the beginning.
func parseCursor(text string) (c cursor, err error) {
	if text == "" {
		return cursor{}, nil
	}

	shard, sequence, _ := strings.Cut(text, ".")
	c.shard, err = strconv.Atoi(shard)
	if err == nil {
		c.sequence, err = strconv.ParseInt(sequence, 10, 64)
	}

	if err != nil || c.shard < 0 || c.shard >= maxShards || c.sequence < 0 {
		return cursor{}, fmt.Errorf("%w: cursor %.40q: SHARD.SEQUENCE", ErrInvalid, text)
	}

	return c, nil
}

// Statement returns up to limit entries (1 to 1,000) of an account, and the after of the
// next page, empty at the end. The first page has an empty after. The entries of a sharded
// account come one shard after the other, and within a shard in the order of their numbers. A
// next page may be empty. It returns ErrUnknownAccount if there is no such account.
func (l *Ledger) Statement(ctx context.Context, account, after string, limit int) (entries []Entry, next string, err error) {
	if err := checkLimit(limit); err != nil {
		return nil, "", fmt.Errorf("statement: %w", err)
	}

	place, err := parseCursor(after)
	if err != nil {
		return nil, "", fmt.Errorf("statement: %w", err)
	}

	a, found, err := l.Account(ctx, account)
	switch {
	case err != nil:
		return nil, "", err
	case !found:
		return nil, "", &RefusedError{Op: "statement", ID: account, Err: ErrUnknownAccount}
	}

	entries = []Entry{}
	// The number of shards never changes, so a cursor stays valid.
	for ; place.shard < a.Shards; place = (cursor{shard: place.shard + 1}) {
		page, err := l.entries(ctx, shardKey(account, place.shard), place.sequence, limit-len(entries))
		if err != nil {
			return nil, "", err
		}

		entries = append(entries, page...)
		if len(entries) == limit {
			// The last entry may be the account's last: then the next page is empty.
			place.sequence = entries[limit-1].Sequence

			return entries, place.String(), nil
		}
	}

	return entries, "", nil
}

// entries reads up to limit entries of one shard after a sequence.
func (l *Ledger) entries(ctx context.Context, key string, after int64, limit int) (all []Entry, err error) {
	in := &dynamodb.QueryInput{
		TableName:                &l.cfg.Tables.Entries,
		ConsistentRead:           aws.Bool(true),
		Limit:                    aws.Int32(int32(limit)),
		KeyConditionExpression:   aws.String("accountId = :account AND #sequence > :after"),
		ExpressionAttributeNames: map[string]string{"#sequence": "sequence"},
		ExpressionAttributeValues: dynamo.Item{
			":account": dynamo.S(key),
			":after":   dynamo.N(after),
		},
	}

	for {
		out, err := l.cfg.DynamoDB.Query(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("entries of %s: %w", key, err)
		}

		for _, item := range out.Items {
			if all = append(all, decodeEntry(item)); len(all) == limit {
				return all, nil
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return all, nil
		}
	}
}
