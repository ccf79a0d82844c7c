package refusals

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// The attributes of an order's item:
//
//	orderId    S  the key
//	entries    M  by event/code: {event, code, text, source S; count, first, last N (epoch ms)}
//	more       N  refusals that found no room
//	expiresAt  N  epoch seconds
const (
	attrOrder   = "orderId"
	attrEntries = "entries"
	attrMore    = "more"

	// ExpiryAttribute is the attribute of the table's time to live.
	ExpiryAttribute = "expiresAt"
)

const (
	// maxEntries is how many entries an order has.
	maxEntries = 8
	// maxText is how much of a text is stored, in bytes.
	maxText = 200
	// retention is how long an order's refusals are kept after the last one.
	retention = 7 * 24 * time.Hour
	// storeAttempts is how often a write that lost a race is planned again.
	storeAttempts = 4
)

// TableInput describes the table, on demand: one item for each order.
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(attrOrder))
}

// Entry counts the refusals of an order with one event and code.
type Entry struct {
	Event string `json:"event"`
	// Code is a verdict, or "out-of-stock".
	Code string `json:"code"`
	// Text is the text of the newest refusal.
	Text string `json:"text"`
	// Source is the source of the newest refusal, "" if it is not known.
	Source string `json:"source,omitempty"`
	// Count is how many were noted. First and Last say when, in milliseconds.
	Count int64     `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// Entries are the refusals of an order, as far as the log knows.
type Entries struct {
	// List is sorted by the last refusal, oldest first.
	List []Entry `json:"list"`
	// More is how many other refusals found no room.
	More int64 `json:"more,omitempty"`
}

// Of returns the refusals of an order. An order without any has an empty list.
func (l *Log) Of(ctx context.Context, order string) (Entries, error) {
	out, err := l.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &l.cfg.Table,
		Key:            dynamo.Item{attrOrder: dynamo.S(order)},
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return Entries{}, fmt.Errorf("read the refusals of order %s: %w", order, err)
	}

	// DynamoDB deletes an expired item up to days later, so the time is compared here.
	found := Entries{List: []Entry{}}
	if dynamo.Number(out.Item, ExpiryAttribute) < l.now().Unix() {
		return found, nil
	}

	found.More = dynamo.Number(out.Item, attrMore)
	for _, v := range entriesOf(out.Item) {
		if m, ok := v.(*types.AttributeValueMemberM); ok {
			found.List = append(found.List, Entry{
				Event:  dynamo.Text(m.Value, "event"),
				Code:   dynamo.Text(m.Value, "code"),
				Text:   dynamo.Text(m.Value, "text"),
				Source: dynamo.Text(m.Value, "source"),
				Count:  dynamo.Number(m.Value, "count"),
				First:  dynamo.Time(m.Value, "first"),
				Last:   dynamo.Time(m.Value, "last"),
			})
		}
	}

	slices.SortFunc(found.List, func(a, b Entry) int {
		return cmp.Or(a.Last.Compare(b.Last), cmp.Compare(a.Event+"/"+a.Code, b.Event+"/"+b.Code))
	})

	return found, nil
}

func entriesOf(item dynamo.Item) map[string]types.AttributeValue {
	m, ok := item[attrEntries].(*types.AttributeValueMemberM)
	if !ok {
		return nil
	}

	return m.Value
}

// store adds the refusal to its order's item: it counts up the entry, adds an entry if there is room, or
// counts the refusal among the others. The condition of each write decides whether it fits the item; the
// item that a failed condition returns only chooses the next write to try.
func (l *Log) store(ctx context.Context, p pending) error {
	now := l.now()

	var seen dynamo.Item
	for range storeAttempts {
		u := l.plan(p, seen, now)
		in := u.SetValue(ExpiryAttribute, dynamo.Seconds(now.Add(retention))).Bind(":now", dynamo.Seconds(now)).Input()
		in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld

		_, err := l.cfg.DynamoDB.UpdateItem(ctx, in)

		old, failed := dynamo.FailedCondition(err)
		if !failed {
			return err
		}
		// nil if the item was deleted meanwhile: then the next plan creates it.
		seen = old
	}

	return fmt.Errorf("the refusals of order %s change too fast", p.newest.Order)
}

// plan returns the write for an item as it was seen. nil means that nothing was seen yet: the first write
// is for an order without refusals, as most orders are.
func (l *Log) plan(p pending, seen dynamo.Item, now time.Time) *dynamo.Update {
	u := dynamo.NewUpdate(l.cfg.Table, dynamo.Item{attrOrder: dynamo.S(p.newest.Order)}).Alias("#expires", ExpiryAttribute)
	name := p.newest.Event + "/" + p.newest.Code

	if seen == nil || dynamo.Number(seen, ExpiryAttribute) < now.Unix() {
		// An expired item that DynamoDB has not deleted yet is replaced, with its count of others.
		return u.If("attribute_not_exists(#expires) OR #expires < :now").
			SetValue(attrEntries, dynamo.M(dynamo.Item{name: p.entry()})).
			RemoveAttribute(attrMore)
	}

	u.If("#expires >= :now")

	entries := entriesOf(seen)
	if _, known := entries[name]; known {
		return u.Alias("#entries", attrEntries).Alias("#name", name).Alias("#text", "text").Alias("#last", "last").Alias("#count", "count").
			If("attribute_exists(#entries.#name)").
			Bind(":n", dynamo.N(p.count)).Bind(":text", dynamo.S(p.text())).Bind(":last", dynamo.Millis(p.last)).
			Set("#entries.#name.#count = #entries.#name.#count + :n").
			Set("#entries.#name.#text = :text").
			Set("#entries.#name.#last = :last")
	}

	// Two processes may add entries at the same time, so the condition counts again.
	if len(entries) < maxEntries {
		return u.Alias("#entries", attrEntries).Alias("#name", name).
			If("attribute_not_exists(#entries.#name)").If("size(#entries) < :most").
			Bind(":most", dynamo.N(maxEntries)).Bind(":entry", p.entry()).
			Set("#entries.#name = :entry")
	}

	return u.Alias("#more", attrMore).Bind(":n", dynamo.N(p.count)).Add("#more :n")
}

// entry is the refusal as a new entry.
func (p pending) entry() types.AttributeValue {
	entry := dynamo.Item{
		"event": dynamo.S(p.newest.Event),
		"code":  dynamo.S(p.newest.Code),
		"text":  dynamo.S(p.text()),
		"count": dynamo.N(p.count),
		"first": dynamo.Millis(p.first),
		"last":  dynamo.Millis(p.last),
	}
	if p.newest.Source != "" {
		entry["source"] = dynamo.S(p.newest.Source)
	}

	return dynamo.M(entry)
}

// text returns as much of the text as is stored.
func (p pending) text() string { return dynamo.Cut(p.newest.Text, maxText) }
