package ledger

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// accounts checks a page of accounts, each shard by itself.
func (v *verification) accounts(page []dynamo.Item) error {
	for _, item := range page {
		a := decodeAccount(item)
		if a.shard == 0 {
			v.proof.Accounts++
		}

		v.proof.Sums[a.Currency] += a.Balance

		if err := v.chain(a); err != nil {
			return err
		}

		if err := v.held(a); err != nil {
			return err
		}

		if !a.onItsSide() {
			if err := v.found(kindOverdrawn, shardKey(a.ID, a.shard), "", "the balance is %d, %d is available", a.Balance, a.Available); err != nil {
				return err
			}
		}

		v.step(v.proof)
	}

	return nil
}

// chain checks the entries of a shard, up to the number that the shard had counted when it was
// read.
func (v *verification) chain(a *Account) error {
	key := shardKey(a.ID, a.shard)
	last := Entry{}
	for last.Sequence < a.Entries {
		page, err := v.entries(v.ctx, key, last.Sequence, int(min(pageSize, a.Entries-last.Sequence)))
		if err != nil {
			return err
		}

		// The account has counted more entries than the table holds.
		if len(page) == 0 {
			return v.found(kindChain, key, "", "entry %d is missing", last.Sequence+1)
		}

		for _, e := range page {
			v.proof.Entries++
			if e.Sequence != last.Sequence+1 || e.Balance != last.Balance+e.Amount {
				return v.found(kindChain, key, e.TransferID, "entry %d brings %d to %d, before it entry %d left %d",
					e.Sequence, e.Amount, e.Balance, last.Sequence, last.Balance)
			}

			last = e
		}
	}

	if last.Balance != a.Balance {
		return v.found(kindBalance, key, "", "the balance is %d, the entries sum to %d", a.Balance, last.Balance)
	}

	return nil
}

// held compares the held money of a shard with the rest of its active holds. The two are not
// read at one moment, so a difference counts only if the shard has not changed meanwhile.
func (v *verification) held(a *Account) error {
	const tries = 5
	key := shardKey(a.ID, a.shard)

	for range tries {
		total, count, err := v.sumHolds(a)
		if err != nil {
			return err
		}

		if total == a.Held {
			v.proof.Holds += count
			return nil
		}

		item, err := v.get(v.ctx, v.cfg.Tables.Accounts, accountKey(key))
		if err != nil {
			return err
		}

		now := decodeAccount(item)
		// Every change of a hold is also a write of its account, so the difference is real.
		if now == nil || now.revision == a.revision {
			return v.found(kindHeld, key, "", "%d is held, the active holds have %d left", a.Held, total)
		}

		a = now
	}

	v.proof.Busy++

	return nil
}

// sumHolds adds up the rest of the account's active holds on this shard. count is the number
// of all holds of the account if this is the first shard, else 0.
func (v *verification) sumHolds(a *Account) (total int64, count int, err error) {
	in := &dynamodb.QueryInput{
		TableName:                 &v.cfg.Tables.Holds,
		ConsistentRead:            aws.Bool(true),
		Limit:                     aws.Int32(pageSize),
		KeyConditionExpression:    aws.String("accountId = :account"),
		ExpressionAttributeValues: dynamo.Item{":account": dynamo.S(a.ID)},
	}

	for {
		out, err := v.cfg.DynamoDB.Query(v.ctx, in)
		if err != nil {
			return 0, 0, err
		}

		for _, item := range out.Items {
			// Due rows have partitions of their own, so every item here is a hold.
			h := decodeHold(item)

			if a.shard == 0 {
				count++
			}

			for _, p := range h.parts {
				if p.shard == a.shard && h.Status == HoldActive {
					total += p.amount
				}
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return total, count, nil
		}
	}
}
