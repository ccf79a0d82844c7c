package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ratchet/transitions"
	"ratchet/workflow"
)

// content is the model of an order's content, and of the edits that the order must remember.
type content struct {
	lines   []transitions.Item
	total   int64
	address string
	notes   int
	version int64
	edits   []edit
	// lost: the order was lost, and has come back from its journal, which has no content.
	lost bool
}

// edit is one edit.
type edit struct {
	id      transitions.RequestID
	kind    kind
	line    transitions.Item
	text    string
	version int64 // that it made
	at      time.Time
	dated   bool // by a process that had heard the service's time
	// forgotten: the order may have forgotten it.
	forgotten bool
}

// kind is a kind of edits.
type kind int

const (
	addLine kind = iota
	changeLine
	removeLine
	setAddress
	addNote
	kinds
)

// order is the order as it is placed.
func (c *content) order(id transitions.OrderID) transitions.NewOrder {
	return transitions.NewOrder{ID: id, Items: c.lines, Total: transitions.Money{Amount: c.total, Currency: currency}}
}

// editOrder edits the content under one configuration, once or twice, or more often than others remember.
func editOrder(p *program) {
	i := p.configuration()
	for range 1 + p.roll(p.orders.edits) {
		p.orders.edit(p, i)
	}
}

// edit edits the content, if the order's state allows it.
func (o *orders) edit(p *program, i int) {
	e := edit{
		id: transitions.RequestID(p.id("edit", len(p.log))), kind: kind(p.roll(int(kinds))), text: fmt.Sprint("text ", p.roll(100)),
		line: transitions.Item{SKU: []string{"first", "second", "third"}[p.roll(3)], Quantity: 1 + p.dice.Int64N(3), Price: p.dice.Int64N(500)},
	}
	c := configurations[i]

	var seen *int64
	if p.chance(20) {
		version := max(0, o.content.version-p.dice.Int64N(2))
		seen = &version
	}

	want := expected{verdict: transitions.Applied}
	switch found := slices.ContainsFunc(o.content.lines, func(l transitions.Item) bool { return l.SKU == e.line.SKU }); {
	case o.content.lost:
		return // what it had is not known
	case !c.judges(o.version):
		want = expected{err: transitions.ErrUnknownVersion}
	case o.state != workflow.Pending && o.state != workflow.OnHold:
		want.verdict = transitions.WrongState
	case seen != nil && *seen < o.content.version:
		want.verdict = transitions.Superseded
	case (e.kind == changeLine || e.kind == removeLine) && !found:
		want.verdict = transitions.NotFound
	}

	heard, now := o.sendEdit(p, i, e, seen, want)
	if want.verdict == transitions.Applied {
		e.at, e.dated = now, heard
		o.content.apply(e)
		o.content.forget(c)
		o.changed(p)
	}
}

// repeatEdit sends an edit again that the order must remember, as it was or with other content. It does so in
// every state of the order.
func repeatEdit(p *program) {
	o := &p.orders

	known := slices.DeleteFunc(slices.Clone(o.content.edits), func(e edit) bool { return e.forgotten })
	if len(known) == 0 {
		return
	}

	e, want := known[0], transitions.Replayed // the first that is to be forgotten
	if p.chance(50) {
		e = known[p.roll(len(known))]
	}

	if p.chance(20) {
		e.line.Quantity++
		e.line.SKU += "-other"
		e.text += " other"
		want = transitions.Conflict
	}
	o.sendEdit(p, p.configuration(), e, nil, expected{verdict: want})
}

// sendEdit sends the edit and compares the answer. It returns the time before, and whether the process had
// heard the service's time before.
func (o *orders) sendEdit(p *program, i int, e edit, seen *int64, want expected) (heard bool, now time.Time) {
	w := transitions.Edit{OrderID: o.id, EventID: e.id, IfMatch: seen}
	if p.chance(30) && o.journal.image != nil && !o.content.lost {
		w.Seen = o.get(p)
	}
	now = p.store.clock.Now()

	var got transitions.Result
	heard, err := p.callOrders("edit", i, want.err, func(ctx context.Context, orders *transitions.Orders) (err error) {
		got, err = e.send(ctx, orders, w)
		return err
	})
	if want.verdict == transitions.Applied && got.Verdict == transitions.Replayed {
		got.Verdict = transitions.Applied // a crash has left it applied
	}
	version := map[transitions.Verdict]int64{transitions.Applied: o.content.version + 1, transitions.Replayed: e.version}[want.verdict]

	if !errors.Is(err, want.err) || got.Verdict != want.verdict || got.ContentVersion != version {
		p.fail("edit %+v under configuration %d of an order that is %s with %+v: %s as %d, %v; want %+v as %d", e, i, o.state, o.content,
			got.Verdict, got.ContentVersion, err, want, version)
	}

	return heard, now
}

func (e edit) send(ctx context.Context, orders *transitions.Orders, w transitions.Edit) (transitions.Result, error) {
	switch e.kind {
	case addLine:
		return orders.AddItems(ctx, w, e.line)
	case changeLine:
		return orders.ChangeItem(ctx, w, e.line)
	case removeLine:
		return orders.RemoveItem(ctx, w, e.line.SKU)
	case setAddress:
		return orders.SetAddress(ctx, w, "shipping", transitions.Address{"street": e.text})
	default:
		return orders.AddNote(ctx, w, transitions.Note{Text: e.text})
	}
}

// apply changes the content.
func (c *content) apply(e edit) {
	cost := func(l transitions.Item) int64 { return l.Quantity * l.Price }

	switch e.kind {
	case addLine:
		c.lines = append(slices.Clone(c.lines), e.line)
		c.total += cost(e.line)
	case changeLine:
		i := slices.IndexFunc(c.lines, func(l transitions.Item) bool { return l.SKU == e.line.SKU })
		c.total += cost(e.line) - cost(c.lines[i])
		c.lines = slices.Clone(c.lines)
		c.lines[i] = e.line
	case removeLine:
		var rest []transitions.Item
		for _, l := range c.lines {
			if l.SKU == e.line.SKU {
				c.total -= cost(l)
			} else {
				rest = append(rest, l)
			}
		}
		c.lines = rest
	case setAddress:
		c.address = e.text
	default:
		c.notes++
	}

	c.version++
	e.version = c.version
	c.edits = append(slices.Clone(c.edits), e)
}

// forget marks what the newest edit may have made the order forget: all but three quarters of the memory,
// and what is older than the age, or may seem so to a process that has not heard the service's time.
func (c *content) forget(cfg configuration) {
	newest := c.edits[len(c.edits)-1]
	const margin = 5 * time.Second // for the precision of a Date, and the duration of the call

	for i := range c.edits[:len(c.edits)-1] {
		e := &c.edits[i]
		old := newest.at.Sub(e.at) > cfg.age-margin || !(newest.dated && e.dated) && cfg.age < week
		e.forgotten = e.forgotten || old || i < len(c.edits)-cfg.memory*3/4
	}
}

// compare compares the content with that of the order.
func (c *content) compare(p *program, order *transitions.Order) {
	if c.lost {
		return
	}

	if !slices.Equal(order.Items, c.lines) || order.Shipping["street"] != c.address || len(order.Notes) != c.notes {
		p.fail("order %s has %+v, %v and %d notes; want %+v", order.ID, order.Items, map[string]string(order.Shipping), len(order.Notes), *c)
	}
}
