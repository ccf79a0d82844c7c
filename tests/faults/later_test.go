package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
	"ratchet/transitions/timers"
	"ratchet/workflow"
)

const laterTable = "scheduled"

// visits is the definition of the orders whose requests come later.
func visits() *workflow.Definition {
	open, held := []workflow.State{"OPEN"}, []workflow.State{"HELD"}

	d, err := workflow.New(workflow.Spec{
		Name: "visits", Version: 1, Place: "start", Initial: "OPEN",
		States: []workflow.StateSpec{{State: "OPEN"}, {State: "HELD"}, {State: "LEFT", Terminal: true}},
		Transitions: []workflow.Transition{
			{Event: "note", From: open, To: "OPEN"},
			{Event: "hold", From: open, To: "HELD"},
			{Event: "release", From: held, To: "OPEN"},
			{Event: "leave", From: []workflow.State{"OPEN", "HELD"}, To: "LEFT"},
		},
	})
	if err != nil {
		panic(err)
	}

	return d
}

// appointment is what the test knows of a request for later, from the answers alone.
type appointment struct {
	request   transitions.Request
	id        scheduled.ID
	at        time.Time
	life      transitions.Incarnation
	withdrawn bool
	ended     bool
	made      int // transitions under its request id, by the journal
}

// diary is the simulation.
type diary struct {
	*shop.Shop

	t            *testing.T
	clock        embeddedtest.Clock
	random       *rand.Rand
	machines     []*machine
	schedules    []*scheduled.Schedule
	appointments []*appointment
	lives        map[transitions.Incarnation]transitions.TransitionID // how far their journals were read
}

func newDiary(t *testing.T, seed uint64) *diary {
	t.Helper()

	d := &diary{
		t: t, Shop: shop.Over(t, embeddedtest.Open(t).AWSConfig()), random: rand.New(rand.NewPCG(seed, 2)),
		lives: map[transitions.Incarnation]transitions.TransitionID{},
	}
	d.Tables(timers.TableInput(dueTable), scheduled.TableInput(laterTable))

	for range 2 {
		m := &machine{HTTPClient: d.DB.Options().HTTPClient, clock: &d.clock}
		now := func() time.Time { return d.clock.Now().Add(m.ahead) }
		db := dynamodb.New(d.DB.Options(), func(o *dynamodb.Options) {
			o.APIOptions, o.HTTPClient, o.Retryer = nil, m, embeddedtest.NoRetries()
		})
		m.orders = d.Orders(shop.Journal(transitions.JournalTransactional), func(c *transitions.Config) {
			c.Definition, c.Now, c.DynamoDB, c.Attempts = visits(), now, db, 2
		})

		s, err := scheduled.New(scheduled.Config{DynamoDB: db, Table: laterTable, DueTable: dueTable, Orders: m.orders, Log: embeddedtest.Quiet(), Attempts: 2, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		d.machines, d.schedules = append(d.machines, m), append(d.schedules, s)
	}

	return d
}

// until calls do on a machine whose calls may fail, and then again on one whose calls do not: as a caller that repeats
// what had no answer.
func (d *diary) until(do func(*scheduled.Schedule) error) error {
	n := d.random.IntN(2)
	m := d.machines[n]
	m.down, m.strikeAt = false, 0

	if d.random.IntN(3) == 0 {
		m.strikeAt, m.after, m.crashes = 1+d.random.IntN(6), d.random.IntN(2) == 0, d.random.IntN(2) == 0
	}

	err := do(d.schedules[n])
	if m.strikeAt, m.down = 0, false; err == nil || isAnswer(err) {
		return err
	}

	return do(d.schedules[1-n])
}

// isAnswer reports whether the error is an answer.
func isAnswer(err error) bool {
	return errors.Is(err, scheduled.ErrEnded) || errors.Is(err, transitions.ErrUnknownOrder)
}

// act lets a caller do something.
func (d *diary) act(step int) {
	ctx := d.t.Context()
	orders := d.machines[0].orders
	id := transitions.OrderID(fmt.Sprint("o-", d.random.IntN(12)))

	order, found, err := orders.Get(ctx, id)
	if err != nil {
		d.t.Fatal(err)
	}

	// Another order comes under the id of one that has left, or that is removed.
	if !found || order.State == "LEFT" && d.random.IntN(6) == 0 || d.random.IntN(60) == 0 {
		if found {
			if _, err := d.DB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(shop.OrdersTable), Key: d.Mapping.ItemKey(id)}); err != nil {
				d.t.Fatal(err)
			}
		}
		shop.Place(d.t, orders, transitions.NewOrder{ID: id, Total: transitions.Money{Currency: "EUR"}})

		return
	}

	switch n := d.random.IntN(12); {
	case n < 6 || len(d.appointments) == 0:
		d.place(order, step)
	case n < 8:
		d.move(d.any())
	case n < 10:
		d.withdraw(d.any())
	default:
		event := []workflow.Event{"note", "hold", "release", "release", "leave"}[d.random.IntN(5)]
		if _, err := orders.Apply(ctx, transitions.Request{OrderID: id, Event: event, RequestID: transitions.RequestID(fmt.Sprint("now-", step))}); err != nil {
			d.t.Fatal(err)
		}
	}
}

// any returns one of the newest requests, many of which wait.
func (d *diary) any() *appointment {
	newest := min(len(d.appointments), 15)

	return d.appointments[len(d.appointments)-1-d.random.IntN(newest)]
}

// soon returns a time in the next days.
func (d *diary) soon() time.Time {
	return d.clock.Now().Add(time.Duration(d.random.IntN(20*24*3600)) * time.Second).Truncate(time.Millisecond)
}

func (d *diary) place(order *transitions.Order, step int) {
	a := &appointment{at: d.soon(), life: order.Incarnation, request: transitions.Request{
		OrderID: order.ID, Event: []workflow.Event{"note", "note", "note", "hold", "release", "leave"}[d.random.IntN(6)],
		RequestID: transitions.RequestID(fmt.Sprint("later-", step)),
	}}

	err := d.until(func(s *scheduled.Schedule) error {
		placed, err := s.Place(d.t.Context(), a.request, a.at)
		a.id = placed.Request.ID

		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.appointments = append(d.appointments, a)
}

func (d *diary) move(a *appointment) {
	to := d.soon()

	err := d.until(func(s *scheduled.Schedule) error {
		_, err := s.Move(d.t.Context(), a.request.OrderID, a.id, to)
		return err
	})

	switch {
	case err == nil && !a.ended && !a.withdrawn:
		a.at = to
	case err == nil || !errors.Is(err, scheduled.ErrEnded) && !errors.Is(err, scheduled.ErrNotFound):
		d.t.Errorf("move %s: %v", a.request.RequestID, err)
	}
}

func (d *diary) withdraw(a *appointment) {
	err := d.until(func(s *scheduled.Schedule) error {
		_, err := s.Withdraw(d.t.Context(), a.request.OrderID, a.id)
		return err
	})

	switch {
	case err == nil && (!a.ended || a.withdrawn):
		a.withdrawn = true
	case err == nil || !errors.Is(err, scheduled.ErrEnded) && !errors.Is(err, scheduled.ErrNotFound):
		d.t.Errorf("withdraw %s: %v", a.request.RequestID, err)
	}
}

// work lets both machines sweep. Calls fail while calm is false.
func (d *diary) work(calm bool) {
	for _, n := range d.random.Perm(2) {
		m := d.machines[n]
		if m.strikeAt, m.down = 0, false; !calm && d.random.IntN(3) == 0 {
			m.strikeAt, m.after, m.crashes = 1+d.random.IntN(40), d.random.IntN(2) == 0, d.random.IntN(2) == 0
		}

		if d.random.IntN(20) == 0 {
			m.ahead = time.Duration(d.random.IntN(9)-4) * 3 * time.Hour
		}

		if _, err := d.schedules[n].Sweep(d.t.Context(), 50); err != nil && calm {
			d.t.Error(err)
		}
		m.strikeAt, m.down = 0, false
	}
	d.check()
}

// check compares what the requests say of themselves with the journal.
func (d *diary) check() {
	d.t.Helper()
	d.readJournals()

	for _, a := range d.appointments {
		if a.ended {
			continue
		}

		now, err := d.schedules[0].Get(d.t.Context(), a.request.OrderID, a.id)
		if errors.Is(err, scheduled.ErrNotFound) && a.withdrawn {
			a.ended = true // long ago
			continue
		}

		if err != nil {
			d.t.Fatal(a.request.RequestID, err)
		}
		a.ended = now.Status == scheduled.Applied || now.Status == scheduled.Refused

		if a.withdrawn && d.clock.Now().After(a.at.Add(day)) {
			a.ended = true // its time has passed
		}

		switch applied := now.Status == scheduled.Applied; {
		case a.withdrawn != (now.Status == scheduled.Withdrawn):
			d.t.Errorf("%s was withdrawn: %t, and is %s", a.request.RequestID, a.withdrawn, now.Status)
		case applied != (a.made == 1) || a.made > 1:
			d.t.Errorf("%s is %s, and has made %d transitions", a.request.RequestID, now.Status, a.made)
		case a.ended && d.clock.Now().Before(a.at):
			d.t.Errorf("%s was %s at %s, and is for %s", a.request.RequestID, now.Status, d.clock.Now(), a.at)
		case now.Status == scheduled.Pending && !now.At.Equal(a.at):
			d.t.Errorf("%s is for %s, want %s", a.request.RequestID, now.At, a.at)
		}
	}
}

// readJournals counts the new transitions of each request. A life's journal is read before another life begins.
func (d *diary) readJournals() {
	d.t.Helper()

	for n := range 12 {
		order, found, err := d.machines[0].orders.Get(context.Background(), transitions.OrderID(fmt.Sprint("o-", n)))
		if err != nil {
			d.t.Fatal(err)
		}

		if !found {
			continue
		}

		for row, err := range d.machines[0].orders.Rows(d.t.Context(), order, d.lives[order.Incarnation]) {
			if err != nil {
				d.t.Fatal(err)
			}
			d.lives[order.Incarnation] = row.ID

			for _, a := range d.appointments {
				if a.request.OrderID != order.ID || !row.IsBy(a.request.RequestID) {
					continue
				}

				if a.made++; a.life != order.Incarnation || row.Event != a.request.Event {
					d.t.Errorf("%s of life %s has moved life %s by %s", a.request.RequestID, a.life, order.Incarnation, row.Event)
				}
			}
		}
	}
}

// next returns how long nothing happens: up to 36 hours, and sometimes to the moment at which a request is due.
func (d *diary) next() time.Duration {
	wait := time.Duration(1+d.random.IntN(36*3600)) * time.Second
	if len(d.appointments) == 0 {
		return wait
	}

	due := d.any().at.Sub(d.clock.Now()) + time.Duration(d.random.IntN(20)-10)*time.Second
	if due > 0 && due < 2*day {
		return due
	}

	return wait
}

// TestAYearOfRequestsForLater lets callers place, move and withdraw requests for later, through a year of virtual time in which two
// workers judge them, while calls fail, answers are lost, clocks are hours off, and orders are moved, leave, and are
// replaced by others. Each request is checked by the journal of its order: an applied one has made one transition of its order's
// life, and not before its time; one that was withdrawn or refused has made none. At the end none is left over.
func TestAYearOfRequestsForLater(t *testing.T) {
	d := newDiary(t, 1)

	for step := 0; d.clock.Now().Before(embeddedtest.Start.Add(365 * day)); step++ {
		d.readJournals()
		d.act(step)
		d.clock.Advance(d.next())
		d.work(false)
	}

	for range 30 {
		d.clock.Advance(day)
		d.work(true)
	}

	count := map[string]int{}
	for _, a := range d.appointments {
		switch {
		case a.withdrawn:
			count["withdrawn"]++
		case !a.ended:
			t.Errorf("%s for %s is left over", a.request.RequestID, a.at)
		case a.made == 1:
			count["applied"]++
		default:
			count["refused"]++
		}
	}
	t.Log(count)

	for what, least := range map[string]int{"applied": 60, "refused": 60, "withdrawn": 15} {
		if count[what] < least {
			t.Errorf("%d were %s, which proves little", count[what], what)
		}
	}

	rows, err := d.DB.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(dueTable)})
	if err != nil || rows.Count != 0 {
		t.Errorf("%d due rows are left, %v", rows.Count, err)
	}
}
