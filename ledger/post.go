package ledger

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/txn"
)

// Post makes a transfer, or returns the one that was made under its id. What refuses
// it comes as a [Refusal]; when DynamoDB has not decided, txn.Retryable is true and a
// repeat under the same id tells.
func (l *Ledger) Post(ctx context.Context, t Transfer, beside ...Beside) (Posted, error) {
	if err := t.Validate(); err != nil {
		return Posted{}, fmt.Errorf("transfer: %w", err)
	}
	return l.post(ctx, t, beside)
}

func (l *Ledger) post(ctx context.Context, t Transfer, beside []Beside) (Posted, error) {
	p := &posting{ledger: l, transfer: t, beside: beside, at: l.cfg.Now(), call: rand.Text(), digest: t.digest(),
		holds: map[string]*Hold{}, spread: map[string]bool{}}
	for attempt := 1; ; attempt++ {
		p.attempt = attempt

		posted, again, err := p.try(ctx)
		if !again {
			return posted, err
		}

		if attempt == l.cfg.Attempts || !pause(ctx, attempt) {
			return Posted{}, contended(ctx, "transfer", t.ID)
		}
	}
}

// posting is one call of Post.
type posting struct {
	ledger   *Ledger
	transfer Transfer
	beside   []Beside
	at       time.Time
	call     string // tells this call's record from another's
	digest   []byte
	holds    map[string]*Hold // as last seen, by leg.Account
	attempt  int
	spread   map[string]bool // sharded accounts whose shard of choice had too little
}

// line is what the transfer does to one item of an account.
type line struct {
	leg    Leg
	shard  int
	key    string
	amount int64
	hold   *Hold    // from which it is taken
	freed  int64    // what else of the hold it gives back
	before *Account // what the conditions assume; nil for no account
	entry  *Posting // nil when it only gives back
}

// try plans the transfer and sends it once. again tells that what was assumed is out
// of date and has been replaced by what is.
func (p *posting) try(ctx context.Context) (posted Posted, again bool, err error) {
	lines, err := p.plan(ctx)
	if err != nil {
		return Posted{}, false, err
	}

	keys := make([]string, len(lines))
	for i := range lines {
		keys[i] = lines[i].key
	}

	leave, err := p.ledger.lanes.enter(ctx, keys)
	if err != nil {
		return Posted{}, false, errors.Join(contended(ctx, "transfer", p.transfer.ID), err)
	}
	defer leave()

	accounts, err := p.ledger.look(ctx, keys)
	if err != nil {
		return Posted{}, false, err
	}

	for i := range lines {
		if a, ok := accounts[lines[i].key]; ok {
			lines[i].before = &a
		}
	}
	posted = Posted{Transfer: p.transfer, At: time.UnixMilli(p.at.UnixMilli()).UTC()}

	t := p.compose(lines, &posted)
	err = p.ledger.writer.Write(ctx, t)
	var refused *txn.Refused
	switch {
	case err == nil:
		p.remember(lines)
		return posted, false, nil
	case !errors.As(err, &refused):
		p.ledger.known.forget(keys...)
		return Posted{}, false, fmt.Errorf("transfer %s: %w", p.transfer.ID, err)
	case refused.Marker:
		posted, err = p.replay(refused.Old)
		return posted, false, err
	}
	again, err = p.refused(ctx, lines, refused)

	return Posted{}, again, err
}

// replay is the answer when the id's record exists.
func (p *posting) replay(old image) (Posted, error) {
	if !bytes.Equal(dynamo.Bytes(old, "digest"), p.digest) {
		return Posted{}, &Refusal{Op: "transfer", ID: p.transfer.ID, Err: ErrConflict}
	}
	posted := postedOf(old)
	posted.Replayed = dynamo.Text(old, "call") != p.call // else it is ours, and the answer was lost

	return posted, nil
}

// remember notes the accounts as the transfer left them. After a guess that was wrong
// it notes nothing: others write to these accounts, too, and to read them the next time
// is cheaper than to be refused.
func (p *posting) remember(lines []line) {
	for _, ln := range lines {
		if p.attempt > 1 {
			p.ledger.known.forget(ln.key)
			continue
		}

		after := *ln.before
		after.revision++
		if ln.entry != nil {
			after.Entries, after.Balance = ln.entry.Sequence, ln.entry.Balance
		}

		if ln.hold == nil {
			after.Available += ln.amount
		} else {
			after.Held, after.Available = after.Held+ln.amount-ln.freed, after.Available+ln.freed
		}
		p.ledger.known.put(ln.key, &after)
	}
}

// Names of the parts of the transaction.
const (
	partRecord  = "transfer"
	partAccount = "account "
	partEntry   = "entry "
	partHold    = "hold "
)

// compose writes the transaction: the record first, then what goes beside it, then
// holds, accounts and entries. It completes posted.
func (p *posting) compose(lines []line, posted *Posted) *txn.Transaction {
	for i := range lines {
		ln := &lines[i]
		if ln.amount == 0 {
			continue
		}

		e := Posting{Account: ln.leg.Account, Shard: ln.shard, Amount: ln.amount, Sequence: 1, Balance: ln.amount}
		if ln.before != nil {
			e.Sequence, e.Balance = ln.before.Entries+1, ln.before.Balance+ln.amount
		}
		ln.entry = &e
		posted.Postings = append(posted.Postings, e)
	}
	t := &txn.Transaction{}
	tables := p.ledger.cfg.Tables
	t.Marker(partRecord, types.TransactWriteItem{Put: &types.Put{TableName: aws.String(tables.Transfers), Item: posted.item(p.call),
		ConditionExpression: aws.String("attribute_not_exists(transferId)")}})

	for _, add := range p.beside {
		add(t)
	}

	for _, leg := range p.transfer.Legs {
		if leg.Hold != "" {
			h := p.holds[leg.Account]
			t.Add(partHold+leg.Account, h.take(tables.Holds, -leg.Amount, leg.Release, p.at), nil)

			if len(h.left(-leg.Amount, leg.Release)) == 0 {
				h.forgetDue(tables.Holds, t)
			}
		}
	}

	for _, ln := range lines {
		t.Add(partAccount+ln.key, p.account(ln), nil)

		if ln.entry != nil {
			t.Add(partEntry+ln.key, types.TransactWriteItem{Put: &types.Put{TableName: aws.String(tables.Entries),
				Item: entryItem(ln.key, p.transfer, *ln.entry, p.at), ConditionExpression: aws.String("attribute_not_exists(accountId)")}}, txn.FailWith(ErrCorrupt))
		}
	}

	return t
}

// account is the update of one account, with everything that it must satisfy. The
// pinned sequence is what makes the entry's number and balance true.
func (p *posting) account(ln line) types.TransactWriteItem {
	seen, next := int64(0), int64(0)
	if ln.before != nil {
		seen = ln.before.Entries
	}

	if next = seen; ln.amount != 0 {
		next++
	}

	condition := "attribute_exists(accountId) AND #status = :open AND currency = :currency AND #sequence = :seen AND available BETWEEN :low AND :high AND "
	update := "SET #sequence = :next, revision = revision + :one, updatedAt = :now, "
	values := image{":open": dynamo.S(string(Open)), ":currency": dynamo.S(p.transfer.Currency), ":seen": dynamo.N(seen), ":next": dynamo.N(next),
		":low": dynamo.N(-MaxBalance - min(ln.amount, 0)), ":high": dynamo.N(MaxBalance - max(ln.amount, 0)),
		":one": dynamo.N(1), ":now": dynamo.N(p.at.UnixMilli())}
	switch {
	case ln.hold != nil:
		condition += "held >= :part"
		update += "held = held - :part, available = available + :freed"
		values[":part"], values[":freed"] = dynamo.N(ln.freed-ln.amount), dynamo.N(ln.freed)
	case ln.amount < 0:
		condition += "(overdraft = :yes OR side = :debit OR available >= :least)"
		update += "available = available - :least"
		values[":yes"], values[":debit"], values[":least"] = yes, dynamo.S(string(Debit)), dynamo.N(-ln.amount)
	default:
		condition += "(overdraft = :yes OR side = :credit OR available <= :most)"
		update += "available = available + :amount"
		values[":yes"], values[":credit"], values[":most"], values[":amount"] = yes, dynamo.S(string(Credit)), dynamo.N(-ln.amount), dynamo.N(ln.amount)
	}

	return types.TransactWriteItem{Update: &types.Update{
		TableName: aws.String(p.ledger.cfg.Tables.Accounts), Key: accountKey(ln.key), ConditionExpression: &condition, UpdateExpression: &update,
		ExpressionAttributeNames: map[string]string{"#status": "status", "#sequence": "sequence"}, ExpressionAttributeValues: values,
	}}
}

var yes = &types.AttributeValueMemberBOOL{Value: true}
