package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/transitions"
	"ratchet/workflow"
)

// orders is the model of one order after the other: its state, the transitions that it has made, its
// content, and where the evidence of a transition is.
type orders struct {
	// configurations are the indexes of those that the program has, edits how many come in a row at most.
	configurations []int
	edits          int

	placed  int
	id      transitions.OrderID
	order   transitions.NewOrder // as it was placed
	state   workflow.State
	version int
	// made are its transitions, oldest first.
	made    []made
	content content
	journal journal
	// kept: the writer of the newest transition keeps request ids. Of the transitions up to unkept, some
	// may have a request id that was not kept.
	kept    bool
	unkept  transitions.TransitionID
	renewed int
	// earlier is how the order was in its present life.
	earlier []snapshot
}

// made is a transition that the order has made.
type made struct {
	id    transitions.TransitionID
	event workflow.Event
	// request is zero for placing and migrating.
	request transitions.Request
	named   bool // it has a request id
	kept    bool // the table of requests has it
	row     row
}

// expected is the right answer to a request.
type expected struct {
	verdict transitions.Verdict
	id      transitions.TransitionID
	err     error
}

const (
	ringSize = 8
	// manyEdits in a row fill the memory of an order, which is then not paid soon.
	manyEdits = 24
)

func (o *orders) begin(p *program) {
	o.configurations = p.dice.Perm(len(configurations))[:1+p.roll(4)]
	o.edits = []int{2, 2, 2, 2, 2, manyEdits}[p.roll(6)]
	placeOrder(p)
}

// configuration chooses one of the program's.
func (p *program) configuration() int {
	return p.orders.configurations[p.roll(len(p.orders.configurations))]
}

func (o *orders) at() transitions.TransitionID { return o.made[len(o.made)-1].id }

// placeOrder begins another order. The former one is compared for the last time.
func placeOrder(p *program) {
	o := &p.orders
	if o.placed > 0 {
		o.check(p)
	}
	*o = orders{configurations: o.configurations, edits: o.edits, placed: o.placed + 1}
	o.id, o.state = transitions.OrderID(p.id("order", o.placed)), workflow.Pending
	o.content = content{lines: []transitions.Item{{SKU: "first", Quantity: 1, Price: 100}}, total: 100}

	o.order = o.content.order(o.id)

	i := p.configuration()
	o.version = configurations[i].definition.Version()
	_, err := p.callOrders("place", i, nil, func(ctx context.Context, orders *transitions.Orders) error {
		r, err := orders.Create(ctx, o.order)
		if err == nil && !r.Verdict.Done() {
			err = fmt.Errorf("verdict %s", r.Verdict)
		}

		return err
	})
	if err != nil {
		p.fail("place %s: %v", o.id, err)
	}
	o.moved(p, i, made{id: 1, event: workflow.Place})
}

// placeAgain sends the order again, as it was placed or with another content. An order that was edited since is
// the same; one that has come back without its content is not.
func placeAgain(p *program) {
	o, i := &p.orders, p.configuration()
	order, want := o.order, transitions.Replayed
	if p.chance(30) {
		order.Reference = "another"
	}

	if order.Reference != "" || o.content.lost {
		want = transitions.Conflict
	}

	var got transitions.Result
	_, err := p.callOrders("place again", i, nil, func(ctx context.Context, orders *transitions.Orders) (err error) {
		got, err = orders.Create(ctx, order)
		return err
	})
	if err != nil || got.Verdict != want {
		p.fail("place %s again under configuration %d: %s, %v; want %s", o.id, i, got.Verdict, err, want)
	}
}

// moved notes a transition that was made under the configuration.
func (o *orders) moved(p *program, i int, m made) {
	c := configurations[i]
	if c.requests != "" && !o.kept {
		o.unkept = max(o.unkept, o.forgotten())
	}

	if leaving := o.slot(m.id); leaving != nil && c.requests != "" {
		leaving.kept = leaving.named
	}

	if c.journal == transactional {
		m.row = stored
	}
	o.kept, o.version = c.requests != "", c.definition.Version()
	o.made = append(o.made, m)
	o.changed(p)
}

// slot is the transition that the order's ring has in the slot of the id, nil for none.
func (o *orders) slot(id transitions.TransitionID) *made {
	for i := range slices.Backward(o.made) {
		if o.made[i].id%ringSize == id%ringSize {
			return &o.made[i]
		}
	}

	return nil
}

// remembers reports whether the transition is in the ring.
func (o *orders) remembers(m *made) bool { return o.slot(m.id) == m }

// forgotten is the largest id that the ring may have forgotten, 0 for none.
func (o *orders) forgotten() (last transitions.TransitionID) {
	for k := range transitions.TransitionID(ringSize) {
		if m := o.slot(k); m != nil {
			last = max(last, m.id-ringSize)
		}
	}

	return last
}

func (o *orders) byID(id transitions.TransitionID) *made {
	i := slices.IndexFunc(o.made, func(m made) bool { return m.id == id })
	if i < 0 {
		return nil
	}

	return &o.made[i]
}

// evidence is the transition that was made under the request's name or id, nil if it is proved that there
// is none, or why neither is proved.
func (o *orders) evidence(c configuration, r transitions.Request) (*made, error) {
	if r.RequestID != "" {
		i := slices.IndexFunc(o.made, func(m made) bool { return m.request.RequestID == r.RequestID })
		switch {
		case i >= 0 && o.remembers(&o.made[i]), i >= 0 && o.made[i].kept && c.requests != "":
			return &o.made[i], nil
		case o.forgotten() > 0:
			if m, err := o.journaled(c, i); m != nil || err != nil {
				return m, err
			}
		}
	}

	m := o.byID(r.TransitionID)
	switch slot := o.slot(r.TransitionID); {
	case r.TransitionID == 0:
		return nil, nil
	case slot == nil || slot.id <= r.TransitionID:
		return m, nil
	}

	return o.journaledID(c, r.TransitionID)
}

// judge returns the right answer to a request.
func (o *orders) judge(c configuration, r transitions.Request) expected {
	m, err := o.evidence(c, r)
	sources := c.definition.Choices(o.state, r.Event)

	switch {
	case err != nil:
		return expected{err: err}
	case m != nil && m.request.RequestID == r.RequestID && m.request.Event == r.Event:
		return expected{verdict: transitions.Replayed, id: m.id}
	case m != nil && m.request.RequestID != r.RequestID && m.assigned():
		return expected{verdict: transitions.Superseded}
	case m != nil:
		return expected{verdict: transitions.Conflict}
	case r.TransitionID != 0 && r.TransitionID <= o.at(), r.IfMatch != nil && *r.IfMatch < o.at():
		return expected{verdict: transitions.Superseded}
	case !c.judges(o.version):
		return expected{err: transitions.ErrUnknownVersion}
	case !slices.Contains(c.definition.Events(), r.Event):
		return expected{verdict: transitions.Illegal}
	case len(sources) == 0:
		return expected{verdict: transitions.WrongState}
	}

	return expected{verdict: transitions.Applied, id: max(r.TransitionID, o.at()+1)}
}

// assigned reports whether the id was not chosen by the caller.
func (m *made) assigned() bool { return m.request.TransitionID == 0 && m.id > 1 }

// event chooses an event. An order can be held and released again and again, so that mostly comes next.
func (o *orders) event(p *program) workflow.Event {
	switch n := p.roll(100); {
	case n >= 75 && o.edits < manyEdits || n >= 95:
		return []workflow.Event{workflow.Hold, workflow.Release, workflow.Pay, workflow.Ship, workflow.Deliver, workflow.Cancel}[p.roll(6)]
	case o.state == workflow.OnHold, o.state == workflow.PaidOnHold:
		return workflow.Release
	default:
		return workflow.Hold
	}
}

// sendEvent sends a request with an id, with a name, or with both. The id may skip some.
func sendEvent(p *program) {
	o := &p.orders
	if first.Terminal(o.state) && p.chance(50) {
		placeOrder(p)
		return
	}

	r := transitions.Request{OrderID: o.id, Event: o.event(p), TransitionID: o.at() + 1}
	if p.chance(10) {
		r.TransitionID += transitions.TransitionID(1 + p.roll(3))
	}

	if n := p.roll(100); n < 60 {
		r.RequestID = transitions.RequestID(p.id("request", len(p.log)))
		if n < 50 {
			r.TransitionID = 0
		}
	}

	if r.TransitionID == 0 && p.chance(20) {
		seen := o.made[max(0, len(o.made)-1-p.roll(2))].id
		r.IfMatch = &seen
	}
	o.send(p, p.configuration(), r)
}

// repeatEvent sends a request again, perhaps under another configuration.
func repeatEvent(p *program) {
	if m := p.orders.someRequest(p); m != nil {
		p.orders.send(p, p.configuration(), m.request)
	}
}

// conflictingEvent sends another event under the name or the id of an earlier request.
func conflictingEvent(p *program) {
	m := p.orders.someRequest(p)
	if m == nil {
		return
	}

	r := m.request
	r.Event, r.IfMatch = workflow.Ship, nil
	if m.event == workflow.Ship {
		r.Event = workflow.Pay
	}
	p.orders.send(p, p.configuration(), r)
}

// lateEvent sends a new request under an id that is over: another request has it, or it was skipped.
func lateEvent(p *program) {
	o := &p.orders
	id := transitions.TransitionID(1 + p.roll(int(o.at())))
	if m := o.byID(id); m != nil && m.request.TransitionID == 0 {
		return // without a name it is no other request than a migration's, and placing's
	}
	o.send(p, p.configuration(), transitions.Request{
		OrderID: o.id, Event: workflow.Hold, TransitionID: id, RequestID: transitions.RequestID(p.id("late", len(p.log))),
	})
}

// someRequest is a transition that a request has made, nil if there is none.
func (o *orders) someRequest(p *program) *made {
	m := &o.made[p.roll(len(o.made))]
	if m.request.OrderID == "" {
		return nil
	}

	return m
}

// send sends the request and compares the answer. A crash may have left it applied, so that Applied may be
// Replayed.
func (o *orders) send(p *program, i int, r transitions.Request) {
	want := o.judge(configurations[i], r)

	var got transitions.Result
	_, err := p.callOrders("apply", i, want.err, func(ctx context.Context, orders *transitions.Orders) (err error) {
		got, err = orders.Apply(ctx, r)
		return err
	})

	verdict := got.Verdict
	if want.verdict == transitions.Applied && verdict == transitions.Replayed {
		verdict = transitions.Applied
	}

	if !errors.Is(err, want.err) || verdict != want.verdict || got.Transition.ID != want.id {
		p.fail("apply %+v under configuration %d to an order that is %s at %d: %s as %d, %v; want %+v\n%+v",
			r, i, o.state, o.at(), got.Verdict, got.Transition.ID, err, want, o.made)
	}
	p.counts.add(describe(want))

	if want.verdict == transitions.Applied {
		o.state, _ = configurations[i].definition.Next(o.state, r.Event)
		o.moved(p, i, made{id: want.id, event: r.Event, request: r, named: r.RequestID != ""})
	}
}

// callOrders makes a call on the orders of a configuration. heard says whether each process that made it had
// heard the service's time before, and kept its clock.
//
// The outcome may be unknown if an attempt had no answer, and the next one has met an error, which is want, or an
// order that was placed after the call began, by a clock that was wrong. The caller sends the request again.
func (p *program) callOrders(name string, i int, want error, do func(ctx context.Context, orders *transitions.Orders) error) (heard bool, err error) {
	heard = true
	for range 10 {
		knows := true
		err = p.callSetting(name, func(ctx context.Context, m *machine) error {
			ears, era := &m.orderHears[i], m.era.Load()
			knows = ears.open(m)
			err := do(ctx, m.with(p, i))
			ears.listen(m, era, err)
			knows = knows && era == m.era.Load()
			heard = heard && knows

			return err
		})
		if !errors.Is(err, transitions.ErrOutcomeUnknown) || want == nil && knows && p.orders.createdBefore(p.store.clock.Now()) {
			break
		}
		p.counts.add("unknown, and sent again")
		p.store.clock.Advance(2 * time.Second)
	}

	return heard, err
}

// createdBefore reports whether the order says that it was placed before now, by more than the precision of a
// Date.
func (o *orders) createdBefore(now time.Time) bool {
	created, _ := o.journal.image["createdAt"].(*types.AttributeValueMemberN)
	if created == nil {
		return true
	}
	ms, _ := strconv.ParseInt(created.Value, 10, 64)

	return time.UnixMilli(ms).Before(now.Add(-2 * time.Second))
}

// describe names an answer for the tally.
func describe(e expected) string {
	if e.err != nil {
		return e.err.Error()
	}

	return e.verdict.String()
}

// migrateOrder brings the order to the version of a configuration.
func migrateOrder(p *program) {
	o, i := &p.orders, p.configuration()
	version := configurations[i].definition.Version()
	order := o.get(p)

	_, err := p.callOrders("migrate", i, nil, func(ctx context.Context, orders *transitions.Orders) error {
		after, _, err := orders.Migrate(ctx, migrations, order, transitions.Cause{})
		if err == nil && after.DefinitionVersion != version {
			err = fmt.Errorf("it is of version %d", after.DefinitionVersion)
		}

		return err
	})
	if err != nil {
		p.fail("migrate %s under configuration %d: %v", o.id, i, err)
	}

	if version != o.version {
		o.moved(p, i, made{id: o.at() + 1, event: workflow.Migrate, named: true})
	}
}

// get reads the order through the package.
func (o *orders) get(p *program) *transitions.Order {
	order, found, err := p.store.machines[1].with(p, 0).Get(p.t.Context(), o.id)
	if err != nil || !found {
		p.fail("read %s: %v, %v", o.id, found, err)
	}

	return order
}

// item reads the order's item with a plain read.
func (o *orders) item(p *program) item {
	out, err := p.store.db.GetItem(p.t.Context(), &dynamodb.GetItemInput{TableName: aws.String(orderTable), Key: o.key(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		p.fail("read %s: %v", o.id, err)
		return nil
	}

	return out.Item
}

func (o *orders) key() item {
	return item{"orderId": &types.AttributeValueMemberS{Value: string(o.id)}}
}

// changed recounts the order after a write, and hands the write to the stream.
func (o *orders) changed(p *program) {
	now := o.item(p)
	if p.t.Failed() {
		return
	}

	want := map[string]string{
		"orderState": string(o.state), "transitionId": fmt.Sprint(o.at()), "definitionVersion": strconv.Itoa(o.version),
		"contentVersion": fmt.Sprint(o.content.version), "total": fmt.Sprint(o.content.total),
	}
	got := map[string]string{"contentVersion": "0"}
	for name := range want {
		switch v := now[name].(type) {
		case *types.AttributeValueMemberS:
			got[name] = v.Value
		case *types.AttributeValueMemberN:
			got[name] = v.Value
		case *types.AttributeValueMemberM:
			amount, _ := v.Value["amount"].(*types.AttributeValueMemberN)
			got[name] = amount.Value
		}
	}

	if o.content.lost {
		delete(want, "total")
		delete(got, "total")
	}

	if fmt.Sprint(got) != fmt.Sprint(want) {
		p.fail("the item of %s has %v, want %v", o.id, got, want)
	}
	o.journal.write(p, now)
	o.earlier = append(o.earlier, snapshot{now, o.at(), o.content})
}

// check compares the whole order with the model.
func (o *orders) check(p *program) {
	o.changed(p)
	o.content.compare(p, o.get(p))
	o.checkJournal(p)
}
