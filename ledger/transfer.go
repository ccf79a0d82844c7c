package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// MaxLegs is how many accounts one transfer may touch. A debit of a sharded account
// may need several items; together at most 49 fit into one transaction.
const MaxLegs = 24

// Leg is what a transfer does to one account.
type Leg struct {
	Account string `json:"account"`
	// Amount is credited when positive and debited when negative.
	Amount int64 `json:"amount"`
	// Hold names a hold of the account from which a debit is taken.
	Hold string `json:"hold,omitempty"`
	// Release gives back what the hold has left after this debit, and closes it.
	Release bool `json:"release,omitempty"`
}

// Transfer is money to be moved. Its legs name different accounts and sum to zero.
type Transfer struct {
	// ID has 1 to 100 of A-Z a-z 0-9 . _ : / -; it names the transfer for good.
	ID       string `json:"id"`
	Currency string `json:"currency"`
	Legs     []Leg  `json:"legs"`
	// Reference says what for, at most 256 bytes. It is stored with the transfer.
	Reference string `json:"reference,omitempty"`
}

// Move is a transfer of an amount from one account to another.
func Move(id, from, to string, amount int64, currency string) Transfer {
	return Transfer{ID: id, Currency: currency, Legs: []Leg{{Account: from, Amount: -amount}, {Account: to, Amount: amount}}}
}

// Posting is one entry that a transfer made: of a leg, or of a part of one when the
// account has shards.
type Posting struct {
	Account string `json:"account"`
	Shard   int    `json:"shard,omitempty"`
	Amount  int64  `json:"amount"`
	// Sequence numbers the shard's entries from 1; Balance is the shard's balance after
	// this one.
	Sequence int64 `json:"sequence"`
	Balance  int64 `json:"balance"`
}

// Posted is a transfer that was made.
type Posted struct {
	Transfer
	Postings []Posting `json:"postings"`
	At       time.Time `json:"at"`
	// Replayed tells that an earlier call had made it.
	Replayed bool `json:"replayed"`
}

// Validate names the first rule that the transfer breaks.
func (t Transfer) Validate() error {
	if err := checkOwn("id", t.ID); err != nil {
		return err
	}

	switch {
	case !currencyRule.MatchString(t.Currency):
		return fmt.Errorf("%w: currency: three capitals of ISO 4217", ErrInvalid)
	case len(t.Legs) < 2 || len(t.Legs) > MaxLegs:
		return fmt.Errorf("%w: %d legs: 2 to %d", ErrInvalid, len(t.Legs), MaxLegs)
	case len(t.Reference) > 256:
		return fmt.Errorf("%w: reference: at most 256 bytes", ErrInvalid)
	}

	var total int64 // at most MaxLegs * MaxAmount
	seen := make(map[string]bool, len(t.Legs))
	for _, leg := range t.Legs {
		if err := leg.validate(); err != nil {
			return err
		}

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

	return checkOwn("legs: hold", leg.Hold)
}

// digest identifies the transfer's content.
func (t Transfer) digest() []byte {
	h := sha256.New()
	text := func(s string) {
		_, _ = h.Write(append(binary.BigEndian.AppendUint64(nil, uint64(len(s))), s...)) // a hash does not fail
	}
	text(t.Currency)
	text(t.Reference)

	for _, leg := range t.Legs {
		text(leg.Account)
		text(leg.Hold)
		text(fmt.Sprint(leg.Amount, leg.Release))
	}

	return h.Sum(nil)[:16]
}

func transferKey(id string) image { return image{"transferId": dynamo.S(id)} }

// item is the transfer's record.
func (p Posted) item(call string) image {
	legs := make([]types.AttributeValue, len(p.Legs))
	for i, l := range p.Legs {
		m := image{"account": dynamo.S(l.Account), "amount": dynamo.N(l.Amount)}
		if l.Hold != "" {
			m["hold"], m["release"] = dynamo.S(l.Hold), &types.AttributeValueMemberBOOL{Value: l.Release}
		}
		legs[i] = dynamo.M(m)
	}

	postings := make([]types.AttributeValue, len(p.Postings))
	for i, e := range p.Postings {
		postings[i] = dynamo.M(image{"account": dynamo.S(e.Account), "shard": dynamo.N(int64(e.Shard)), "amount": dynamo.N(e.Amount),
			"sequence": dynamo.N(e.Sequence), "balance": dynamo.N(e.Balance)})
	}
	item := transferKey(p.ID)

	item["currency"], item["digest"], item["call"] = dynamo.S(p.Currency), dynamo.B(p.digest()), dynamo.S(call)
	item["at"] = dynamo.N(p.At.UnixMilli())
	item["legs"], item["postings"] = &types.AttributeValueMemberL{Value: legs}, &types.AttributeValueMemberL{Value: postings}
	if p.Reference != "" {
		item["reference"] = dynamo.S(p.Reference)
	}

	return item
}

func postedOf(i image) Posted {
	p := Posted{Transfer: Transfer{ID: dynamo.Text(i, "transferId"), Currency: dynamo.Text(i, "currency"), Reference: dynamo.Text(i, "reference")},
		At: moment(i, "at")}
	for _, m := range maps(i, "legs") {
		release, _ := m["release"].(*types.AttributeValueMemberBOOL)
		p.Legs = append(p.Legs, Leg{Account: dynamo.Text(m, "account"), Amount: dynamo.Number(m, "amount"), Hold: dynamo.Text(m, "hold"),
			Release: release != nil && release.Value})
	}

	for _, m := range maps(i, "postings") {
		p.Postings = append(p.Postings, Posting{Account: dynamo.Text(m, "account"), Shard: int(dynamo.Number(m, "shard")),
			Amount: dynamo.Number(m, "amount"), Sequence: dynamo.Number(m, "sequence"), Balance: dynamo.Number(m, "balance")})
	}

	return p
}

// maps reads a list of maps.
func maps(i image, name string) (all []image) {
	list, _ := i[name].(*types.AttributeValueMemberL)
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

// Transfer reads a transfer, and whether it was made.
func (l *Ledger) Transfer(ctx context.Context, id string) (Posted, bool, error) {
	if err := checkStored("transfer", id); err != nil {
		return Posted{}, false, err
	}

	out, err := l.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.cfg.Tables.Transfers, Key: transferKey(id), ConsistentRead: aws.Bool(true)})
	if err != nil || len(out.Item) == 0 {
		return Posted{}, false, err
	}

	return postedOf(out.Item), true, nil
}

// Transfers returns up to limit transfers (1 to 1,000) in no useful order, and the
// after of the next page, empty at the end. It scans the table: for people and checks.
func (l *Ledger) Transfers(ctx context.Context, after string, limit int) (all []Posted, next string, err error) {
	if limit < 1 || limit > 1000 {
		return nil, "", fmt.Errorf("list transfers: %w: limit %d: 1 to 1000", ErrInvalid, limit)
	}

	in := &dynamodb.ScanInput{TableName: &l.cfg.Tables.Transfers, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(limit))}
	if after != "" {
		in.ExclusiveStartKey = transferKey(after)
	}

	out, err := l.cfg.DynamoDB.Scan(ctx, in)
	if err != nil {
		return nil, "", fmt.Errorf("list transfers: %w", err)
	}

	all = []Posted{}
	for _, item := range out.Items {
		all = append(all, postedOf(item))
	}

	return all, dynamo.Text(out.LastEvaluatedKey, "transferId"), nil
}
