package ledger

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/ids"
)

// maxLegs is how many accounts one transfer may touch. Record, holds, accounts and entries
// share the 100 parts of a transaction. A debit of a sharded account may need several
// accounts and entries, so a transfer with fewer legs may be too large, too: ErrTooManyShards.
const maxLegs = 24

const maxReference = 256 // bytes

// Leg is the part of a transfer that changes one account.
type Leg struct {
	Account string `json:"account"`
	// Amount is in minor units: a credit if positive, a debit if negative, at most
	// MaxAmount either way.
	Amount int64 `json:"amount"`
	// Hold names a hold of the account that pays the debit.
	Hold string `json:"hold,omitempty"`
	// Release returns the rest of the hold after this debit, and closes the hold.
	Release bool `json:"release,omitempty"`
}

// Transfer describes money to move. Its 2 to 24 legs name different accounts and sum to
// zero.
type Transfer struct {
	// ID names the transfer for good. It has 1 to 128 of A-Z a-z 0-9 . _ : / -.
	ID string `json:"id"`
	// Currency has three capitals (ISO 4217). All accounts must have it.
	Currency string `json:"currency"`
	Legs     []Leg  `json:"legs"`
	// Reference is text for people, at most 256 bytes. It is stored with the transfer.
	Reference string `json:"reference,omitempty"`
}

// Move returns a transfer of an amount, in minor units, from one account to another.
func Move(id, from, to string, amount int64, currency string) Transfer {
	return Transfer{
		ID:       id,
		Currency: currency,
		Legs: []Leg{
			{Account: from, Amount: -amount},
			{Account: to, Amount: amount},
		},
	}
}

// Posting is one entry that a transfer made: for a leg, or for a part of a leg on one
// shard of the account.
type Posting struct {
	Account string `json:"account"`
	Shard   int    `json:"shard,omitempty"`
	// Amount is in minor units, a credit if positive.
	Amount int64 `json:"amount"`
	// Sequence numbers the entries of the shard from 1.
	Sequence int64 `json:"sequence"`
	// Balance is the balance of the shard after this entry.
	Balance int64 `json:"balance"`
}

// Posted is a transfer that was made.
type Posted struct {
	Transfer
	Postings []Posting `json:"postings"`
	At       time.Time `json:"at"`
	// Replayed reports whether an earlier call made the transfer.
	Replayed bool `json:"replayed"`
}

// Validate returns ErrInvalid with the first rule that the transfer breaks.
func (t Transfer) Validate() error {
	if err := checkOwnID("id", t.ID); err != nil {
		return err
	}

	switch {
	case !currencyRule.MatchString(t.Currency):
		return fmt.Errorf("%w: currency: three capitals of ISO 4217", ErrInvalid)
	case len(t.Legs) < 2 || len(t.Legs) > maxLegs:
		return fmt.Errorf("%w: %d legs: 2 to %d", ErrInvalid, len(t.Legs), maxLegs)
	case len(t.Reference) > maxReference:
		return fmt.Errorf("%w: reference: at most %d bytes", ErrInvalid, maxReference)
	}

	var total int64 // at most maxLegs * MaxAmount, which an int64 can hold
	seen := make(map[string]bool, len(t.Legs))
	for _, leg := range t.Legs {
		if err := leg.validate(); err != nil {
			return err
		}

		// A transaction writes an item only once.
		if seen[leg.Account] {
			return fmt.Errorf("%w: legs: account %s twice", ErrInvalid, leg.Account)
		}

		seen[leg.Account] = true
		total += leg.Amount
	}

	if total != 0 {
		return fmt.Errorf("%w: legs: they sum to %d, must be 0", ErrInvalid, total)
	}

	return nil
}

func (leg Leg) validate() error {
	if err := checkID("legs: account", leg.Account); err != nil {
		return err
	}

	switch {
	case leg.Amount == 0 || leg.Amount > MaxAmount || leg.Amount < -MaxAmount:
		return fmt.Errorf("%w: legs: amount %d: 1 to %d, or as much below 0", ErrInvalid, leg.Amount, int64(MaxAmount))
	case leg.Hold == "" && leg.Release:
		return fmt.Errorf("%w: legs: release without a hold", ErrInvalid)
	case leg.Hold == "":
		return nil
	case leg.Amount > 0:
		return fmt.Errorf("%w: legs: a hold is debited, not credited", ErrInvalid)
	}

	return checkOwnID("legs: hold", leg.Hold)
}

// digest identifies the content of the transfer.
func (t Transfer) digest() []byte {
	texts := []string{t.Currency, t.Reference}
	for _, leg := range t.Legs {
		texts = append(texts, leg.Account, leg.Hold, strconv.FormatInt(leg.Amount, 10)+" "+strconv.FormatBool(leg.Release))
	}

	return ids.Digest(texts...)[:16]
}

func transferKey(id string) dynamo.Item { return dynamo.Item{"transferId": dynamo.S(id)} }

// item returns the record of the transfer, whose digest is given.
func (p Posted) item(call string, digest []byte) dynamo.Item {
	legs := make([]types.AttributeValue, len(p.Legs))
	for i, leg := range p.Legs {
		m := dynamo.Item{
			"account": dynamo.S(leg.Account),
			"amount":  dynamo.N(leg.Amount),
		}
		if leg.Hold != "" {
			m["hold"] = dynamo.S(leg.Hold)
			m["release"] = dynamo.Bool(leg.Release)
		}

		legs[i] = dynamo.M(m)
	}

	postings := make([]types.AttributeValue, len(p.Postings))
	for i, e := range p.Postings {
		m := dynamo.Item{
			"account":  dynamo.S(e.Account),
			"amount":   dynamo.N(e.Amount),
			"sequence": dynamo.N(e.Sequence),
			"balance":  dynamo.N(e.Balance),
		}
		if e.Shard != 0 {
			m["shard"] = dynamo.N(int64(e.Shard))
		}

		postings[i] = dynamo.M(m)
	}

	// The digest distinguishes a repeat from another transfer, the call id a lost answer from a
	// repeat.
	item := dynamo.Item{
		"transferId": dynamo.S(p.ID),
		"currency":   dynamo.S(p.Currency),
		"digest":     dynamo.B(digest),
		"call":       dynamo.S(call),
		"at":         dynamo.N(p.At.UnixMilli()),
		"legs":       &types.AttributeValueMemberL{Value: legs},
		"postings":   &types.AttributeValueMemberL{Value: postings},
	}
	if p.Reference != "" {
		item["reference"] = dynamo.S(p.Reference)
	}

	return item
}

// The types of the attributes of a transfer, and of each of its legs and postings.
var (
	transferKinds = dynamo.Kinds{
		"transferId": "S", "currency": "S", "reference": "S", "call": "S", "at": "N", "digest": "B", "legs": "L", "postings": "L",
	}
	legKinds     = dynamo.Kinds{"account": "S", "hold": "S", "amount": "N", "release": "BOOL"}
	postingKinds = dynamo.Kinds{"account": "S", "shard": "N", "amount": "N", "sequence": "N", "balance": "N"}
)

// readPosted reads a transfer. It returns ErrCorrupt if an attribute is not of its type.
func readPosted(item dynamo.Item) (Posted, error) {
	err := cmp.Or(transferKinds.Check(item), legKinds.CheckAll(item, "legs"), postingKinds.CheckAll(item, "postings"))
	if err != nil {
		return Posted{}, fmt.Errorf("%w: transfer %s: %w", ErrCorrupt, dynamo.Text(item, "transferId"), err)
	}

	return decodePosted(item), nil
}

// decodePosted reads a transfer as far as it can be read.
func decodePosted(item dynamo.Item) Posted {
	p := Posted{
		Transfer: Transfer{
			ID:        dynamo.Text(item, "transferId"),
			Currency:  dynamo.Text(item, "currency"),
			Reference: dynamo.Text(item, "reference"),
		},
		At: decodeTime(item, "at"),
	}

	for _, m := range decodeMaps(item, "legs") {
		p.Legs = append(p.Legs, Leg{
			Account: dynamo.Text(m, "account"),
			Amount:  dynamo.Number(m, "amount"),
			Hold:    dynamo.Text(m, "hold"),
			Release: dynamo.Flag(m, "release"),
		})
	}

	for _, m := range decodeMaps(item, "postings") {
		p.Postings = append(p.Postings, Posting{
			Account:  dynamo.Text(m, "account"),
			Shard:    int(dynamo.Number(m, "shard")),
			Amount:   dynamo.Number(m, "amount"),
			Sequence: dynamo.Number(m, "sequence"),
			Balance:  dynamo.Number(m, "balance"),
		})
	}

	return p
}

// decodeMaps reads a list of maps.
func decodeMaps(item dynamo.Item, name string) (all []dynamo.Item) {
	list, _ := item[name].(*types.AttributeValueMemberL)
	if list == nil {
		return nil
	}

	for _, v := range list.Value {
		if m, ok := v.(*types.AttributeValueMemberM); ok {
			all = append(all, m.Value)
		}
	}

	return all
}

// Transfer reads a transfer. It reports false if none was made under the id.
func (l *Ledger) Transfer(ctx context.Context, id string) (Posted, bool, error) {
	if err := checkStoredID("transfer", id); err != nil {
		return Posted{}, false, err
	}

	item, err := l.get(ctx, l.cfg.Tables.Transfers, transferKey(id))
	if err != nil {
		return Posted{}, false, fmt.Errorf("read transfer %s: %w", id, err)
	}

	if len(item) == 0 {
		return Posted{}, false, nil
	}

	p, err := readPosted(item)

	return p, err == nil, err
}

// Transfers returns up to limit transfers (1 to 1,000) in no particular order, and the after
// of the next page, empty at the end. It scans the table: it is meant for people and checks.
func (l *Ledger) Transfers(ctx context.Context, after string, limit int) (all []Posted, next string, err error) {
	if err := checkLimit(limit); err != nil {
		return nil, "", fmt.Errorf("list transfers: %w", err)
	}

	in := &dynamodb.ScanInput{
		TableName:      &l.cfg.Tables.Transfers,
		ConsistentRead: aws.Bool(true),
		Limit:          aws.Int32(int32(limit)),
	}
	if after != "" {
		in.ExclusiveStartKey = transferKey(after)
	}

	out, err := l.cfg.DynamoDB.Scan(ctx, in)
	if err != nil {
		return nil, "", fmt.Errorf("list transfers: %w", err)
	}

	all = []Posted{}
	for _, item := range out.Items {
		all = append(all, decodePosted(item))
	}

	return all, dynamo.Text(out.LastEvaluatedKey, "transferId"), nil
}
