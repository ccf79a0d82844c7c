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

// entryItem is the entry of one posting.
func entryItem(key string, t Transfer, e Posting, at time.Time) image {
	return image{"accountId": dynamo.S(key), "sequence": dynamo.N(e.Sequence), "transferId": dynamo.S(t.ID),
		"amount": dynamo.N(e.Amount), "balance": dynamo.N(e.Balance), "at": dynamo.N(at.UnixMilli())}
}

func entryOf(i image) Entry {
	account, shard, _ := strings.Cut(dynamo.Text(i, "accountId"), "#")
	n, _ := strconv.Atoi(shard) // "" for the first shard

	return Entry{Posting: Posting{Account: account, Shard: n, Amount: dynamo.Number(i, "amount"),
		Sequence: dynamo.Number(i, "sequence"), Balance: dynamo.Number(i, "balance")},
		TransferID: dynamo.Text(i, "transferId"), At: moment(i, "at")}
}

// Cursor is a place in a statement; the zero value is its beginning. The entries of a
// sharded account come shard by shard, those of a shard in their order.
type Cursor struct {
	Shard    int
	Sequence int64
}

// String and ParseCursor carry a cursor through a URL.
func (c Cursor) String() string { return fmt.Sprintf("%d.%d", c.Shard, c.Sequence) }

// ParseCursor reads what String wrote; the empty text is the beginning.
func ParseCursor(text string) (c Cursor, err error) {
	if text == "" {
		return Cursor{}, nil
	}

	shard, sequence, _ := strings.Cut(text, ".")
	c.Shard, err = strconv.Atoi(shard)
	if err == nil {
		c.Sequence, err = strconv.ParseInt(sequence, 10, 64)
	}

	if err != nil || c.Shard < 0 || c.Shard >= MaxShards || c.Sequence < 0 {
		return Cursor{}, fmt.Errorf("%w: cursor %.40q: SHARD.SEQUENCE", ErrInvalid, text)
	}

	return c, nil
}

// Statement returns up to limit entries (1 to 1,000) of an account after the cursor,
// and where to go on; more tells whether there may be some. ErrUnknownAccount when
// there is no such account.
func (l *Ledger) Statement(ctx context.Context, account string, after Cursor, limit int) (entries []Entry, next Cursor, more bool, err error) {
	if limit < 1 || limit > 1000 {
		return nil, after, false, fmt.Errorf("statement: %w: limit %d: 1 to 1000", ErrInvalid, limit)
	}

	a, found, err := l.Account(ctx, account)
	switch {
	case err != nil:
		return nil, after, false, err
	case !found:
		return nil, after, false, &Refusal{Op: "statement", ID: account, Err: ErrUnknownAccount}
	}

	entries, next = []Entry{}, after
	for next.Shard < a.Shards {
		page, err := l.entries(ctx, shardKey(account, next.Shard), next.Sequence, limit-len(entries))
		if err != nil {
			return nil, after, false, err
		}

		entries = append(entries, page...)
		if len(page) > 0 {
			next.Sequence = page[len(page)-1].Sequence
		}

		if len(entries) == limit {
			return entries, next, true, nil
		}

		if next.Shard+1 == a.Shards {
			break
		}
		next = Cursor{Shard: next.Shard + 1}
	}

	return entries, next, false, nil
}

// entries reads up to limit entries of one shard after a sequence.
func (l *Ledger) entries(ctx context.Context, key string, after int64, limit int) (all []Entry, err error) {
	in := &dynamodb.QueryInput{TableName: &l.cfg.Tables.Entries, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(limit)),
		KeyConditionExpression: aws.String("accountId = :account AND #sequence > :after"), ExpressionAttributeNames: map[string]string{"#sequence": "sequence"},
		ExpressionAttributeValues: image{":account": dynamo.S(key), ":after": dynamo.N(after)}}
	for {
		out, err := l.cfg.DynamoDB.Query(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("entries of %s: %w", key, err)
		}

		for _, item := range out.Items {
			if all = append(all, entryOf(item)); len(all) == limit {
				return all, nil
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return all, nil
		}
	}
}
