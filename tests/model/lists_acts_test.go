package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

func (p *listProgram) someID() transitions.OrderID { return listedIDs[p.roll(len(listedIDs))] }

// some reads an order, nil if it is not there.
func (p *listProgram) some() *transitions.Order {
	o, found, err := p.calm.orders[0].Get(p.t.Context(), p.someID())
	if err != nil {
		p.t.Error(err)
	}

	if !found {
		return nil
	}

	return o
}

// answered notes what a call has answered.
func (p *listProgram) answered(r transitions.Result, err error) {
	if err == nil && r.Verdict == transitions.Applied {
		p.storing.Lock()
		defer p.storing.Unlock()
		p.applied[fmt.Sprint(r.Order.ID, r.Order.Incarnation, r.Transition.ID)]++
	}
}

func (p *listProgram) place(w *listWorker) {
	n := transitions.NewOrder{
		ID: p.someID(), Total: transitions.Money{Amount: 1, Currency: currency},
		Customer: []string{"", "c-1", "c-2"}[p.roll(3)], Reference: []string{"", "", "r-1"}[p.roll(3)],
	}
	p.answered(w.orders[p.roll(2)].Create(w.context(), n))
}

// apply applies an event that some version has in the order's state.
func (p *listProgram) apply(w *listWorker) {
	o := p.some()
	if o == nil {
		return
	}

	version := p.roll(2)

	events := []workflow.Event{"end", "go-on", "touch", "wait0", "wait1"}
	events = slices.DeleteFunc(events, func(e workflow.Event) bool {
		return len([]*workflow.Definition{older, newer}[version].Choices(o.State, e)) == 0
	})
	if len(events) == 0 || p.roll(4) == 0 {
		events = []workflow.Event{"go-on"}
	}
	p.answered(w.orders[version].Apply(w.context(), transitions.Request{OrderID: o.ID, Event: events[p.roll(len(events))], TransitionID: o.TransitionID + 1}))
}

// remove deletes the order's item, as retention does.
func (p *listProgram) remove(*listWorker) {
	id := p.someID()

	p.storing.Lock()
	defer p.storing.Unlock()

	before := p.items(orderTable)
	_, err := p.raw.DeleteItem(p.t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(orderTable), Key: item{"orderId": &types.AttributeValueMemberS{Value: string(id)}}})
	p.stored(before, p.items(orderTable))

	if err != nil {
		p.t.Error(err)
	}
}

func (p *listProgram) renew(w *listWorker) {
	if o := p.some(); o != nil {
		_, _ = w.orders[p.roll(2)].Renew(w.context(), o)
	}
}

// erase erases the person of an order that has ended.
func (p *listProgram) erase(w *listWorker) {
	o := p.some()
	if o == nil || o.State != "DONE" {
		return
	}
	version := p.roll(2)

	part, err := w.orders[version].EraseIn(o)
	if err == nil {
		err = w.lists[version].Erase(w.context(), o, part)
	}
	p.note("erase %s: %v", o.ID, err)
}

// handle handles the next change of some order, until it is handled. Workers without lists leave it.
func (p *listProgram) handle(w *listWorker) {
	p.storing.Lock()

	var ids []transitions.OrderID
	for _, id := range listedIDs {
		if len(p.stream[id]) > 0 {
			ids = append(ids, id)
		}
	}
	p.storing.Unlock()

	if len(ids) == 0 {
		return
	}
	id := ids[p.roll(len(ids))]

	// Another process may handle the record at the same time. The stream goes on after one of them.
	p.storing.Lock()
	r := p.stream[id][0]
	p.storing.Unlock()

	if p.off {
		p.sayOff()
		p.count("skipped", 1)
		p.unlisted[id] = true
		p.note("skip: %d of %s", r.n, id)
	} else {
		for err := p.list(w, r); err != nil; err = p.list(p.calm, r) {
			p.note("handle %s: %v", id, err)
		}
		p.note("handle: %d of %s", r.n, id)
	}

	p.storing.Lock()
	defer p.storing.Unlock()

	if len(p.stream[id]) > 0 && p.stream[id][0].n == r.n {
		p.stream[id] = p.stream[id][1:]
		p.handled = append(p.handled, r)
	}
}

// list hands a record to the lists, as the worker's handler does.
func (p *listProgram) list(w *listWorker, r written) error {
	kept := w.lists[p.roll(2)]

	last, removed, err := transitions.Mapping{}.Removed(r.old, r.new)
	if err == nil && removed {
		return kept.Remove(w.context(), last)
	}

	change, moved, err := transitions.Mapping{}.FromRecord(r.old, r.new)
	if err != nil || !moved {
		return err
	}

	return kept.Record(w.context(), change)
}

// late hands an old record to the lists again. A reader of the stream that goes back reads what follows, too, and
// a deletion in it may be new to the lists.
func (p *listProgram) late(w *listWorker) {
	p.storing.Lock()
	handled := slices.Clone(p.handled)
	p.storing.Unlock()

	if len(handled) == 0 || p.off {
		return
	}
	first := handled[p.roll(len(handled))]

	for _, r := range handled {
		if r.n < first.n || r.id() != first.id() {
			continue
		}

		for err := p.list(w, r); err != nil; err = p.list(p.calm, r) {
			p.note("late %s: %v", r.id(), err)
		}
		p.note("late: %d of %s", r.n, r.id())

		if !p.unlisted[r.id()] {
			return
		}
	}
}

// switchLists starts workers without lists, or with lists again.
func (p *listProgram) switchLists(*listWorker) {
	p.acting.Lock()
	defer p.acting.Unlock()

	p.off, p.noted = !p.off, time.Time{}
	if p.off {
		p.sayOff()
	}
	p.note("off: %t", p.off)
}

// sayOff notes that changes are handled without the lists, as a worker does each minute.
func (p *listProgram) sayOff() {
	for time.Since(p.noted) >= offFor {
		if err := p.calm.lists[p.roll(2)].Missed(p.t.Context(), time.Now().Add(offFor)); err != nil {
			p.t.Error(err)
		}
		p.noted = time.Now()
	}
}

// rebuild rebuilds the lists, once or until that succeeds.
func (p *listProgram) rebuild(w *listWorker) {
	found, err := w.lists[p.roll(2)].Rebuild(w.context(), nil)
	p.note("rebuild: %+v, %v", found, err)
}

func (p *listProgram) migrate(w *listWorker) {
	ctx := w.context()
	found, err := w.orders[1].MigrateAll(ctx, toNewer, transitions.Sweep{}, transitions.Cause{})
	p.note("migrate: %+v, %v", found, err)

	// Orders that come, move or go meanwhile are no reason to end.
	if err != nil && ctx.Err() == nil && !errors.Is(err, embeddedtest.ErrLost) && !errors.Is(err, embeddedtest.ErrAnswerLost) {
		p.t.Errorf("migrate: %v", err)
	}
}

// look reads a page. It shows orders as they are, and none twice.
func (p *listProgram) look(*listWorker) {
	q := lists.Query{Owner: []string{"", "shop"}[p.roll(2)], State: []workflow.State{"", "OPEN", "HELD", "WAITING", "DONE"}[p.roll(5)], Limit: 100}

	page, err := p.calm.lists[0].Page(p.t.Context(), q)
	if err != nil || len(page.Unreadable) > 0 {
		p.t.Errorf("%+v: %+v, %v", q, page, err)
	}

	for i, o := range page.Orders {
		if q.State != "" && o.State != q.State || slices.ContainsFunc(page.Orders[:i], func(other *transitions.Order) bool { return other.ID == o.ID }) {
			p.t.Errorf("the page of %+v shows %s in %s", q, o.ID, o.State)
		}
	}
}

// checkLists compares the rows of ready lists with the orders all of whose changes were handled.
func (p *listProgram) checkLists() {
	ready, err := p.calm.lists[0].Ready(p.t.Context())
	if err != nil {
		p.t.Error(err)
	}

	if !ready {
		return
	}
	p.count("ready", 1)

	rows := map[transitions.OrderID][]string{}
	for _, i := range p.items(listsTable) {
		list, place := textOf(i, "listKey"), textOf(i, "placeKey")
		if _, id, found := strings.Cut(place, "#"); found {
			rows[transitions.OrderID(id)] = append(rows[transitions.OrderID(id)], unsharded(list)+" "+place)
		}
	}

	for _, id := range listedIDs {
		if len(p.stream[id]) > 0 {
			continue
		}

		got, want := rows[id], p.rowsOf(id)
		slices.Sort(got)
		slices.Sort(want)

		if !slices.Equal(got, want) {
			p.t.Errorf("order %s is listed in %q, want %q", id, got, want)
		}
	}
}

// unsharded returns the key of a list without the number of its shard. Lists of customers and references have none.
func unsharded(list string) string {
	if strings.HasPrefix(list, "state/") || strings.HasPrefix(list, "time/") {
		return list[:strings.LastIndexByte(list, '/')]
	}

	return list
}

// rowsOf returns the rows of an order as it is, without the numbers of the shards.
func (p *listProgram) rowsOf(id transitions.OrderID) (rows []string) {
	o, found, err := p.calm.orders[0].Get(p.t.Context(), id)
	if err != nil {
		p.t.Error(err)
	}

	if !found {
		return nil
	}

	owner, _, owned := strings.Cut(string(id), ":")
	if !owned {
		owner = ""
	}

	at := func(list string, t time.Time) {
		rows = append(rows, fmt.Sprintf("%s %013d#%s", list, t.UnixMilli(), id))
	}
	at(fmt.Sprintf("state/%s/%s", owner, o.State), o.EnteredAt())
	at("time/"+owner, o.CreatedAt)

	if o.Customer != "" {
		at(fmt.Sprintf("customer/%s/%s", owner, o.Customer), o.CreatedAt)
	}

	if o.Reference != "" {
		at(fmt.Sprintf("reference/%s/%s", owner, o.Reference), o.CreatedAt)
	}

	return rows
}

// checkPages compares pages, page by page, with the orders as they are.
func (p *listProgram) checkPages() {
	for _, owner := range []string{"", "shop"} {
		for _, q := range []lists.Query{{}, {State: "OPEN"}, {State: "WAITING"}, {State: "PARKED"}, {State: "DONE"}, {Customer: "c-1"}, {Customer: "c-2"}, {Reference: "r-1"}} {
			q.Owner, q.Limit = owner, 1+p.roll(3)

			var got []transitions.OrderID
			for {
				page, err := p.calm.lists[1].Page(p.t.Context(), q)
				if err != nil || page.Stale > 0 {
					p.t.Fatalf("%+v: %+v, %v", q, page, err)
				}

				for _, o := range page.Orders {
					got = append(got, o.ID)
				}

				if q.After = page.Next; q.After == "" {
					break
				}
			}

			if want := p.ordersOf(q); !slices.Equal(got, want) {
				p.t.Errorf("the pages of %+v show %v, want %v", q, got, want)
			}
		}
	}
}

// ordersOf returns the orders that a query asks for, newest first.
func (p *listProgram) ordersOf(q lists.Query) (ids []transitions.OrderID) {
	var orders []*transitions.Order
	for _, id := range listedIDs {
		o, found, err := p.calm.orders[0].Get(p.t.Context(), id)
		if err != nil {
			p.t.Error(err)
		}

		if found && strings.HasPrefix(string(id), "shop:") == (q.Owner != "") && (q.State == "" || o.State == q.State) &&
			(q.Customer == "" || o.Customer == q.Customer) && (q.Reference == "" || o.Reference == q.Reference) {
			orders = append(orders, o)
		}
	}

	place := func(o *transitions.Order) string {
		at := o.CreatedAt
		if q.State != "" {
			at = o.EnteredAt()
		}

		return fmt.Sprintf("%013d#%s", at.UnixMilli(), o.ID)
	}
	slices.SortFunc(orders, func(a, b *transitions.Order) int { return strings.Compare(place(b), place(a)) })

	for _, o := range orders {
		ids = append(ids, o.ID)
	}

	return ids
}
