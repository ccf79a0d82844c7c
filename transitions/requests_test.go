package transitions_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

var allHistories = flag.Bool("all-histories", false, "each pair of kinds of requests meets each history")

// part returns a request for ship_part, which a paid order may make any number of times.
func part(key transitions.RequestID, id transitions.TransitionID) transitions.Request {
	return transitions.Request{OrderID: "o-1", Event: workflow.ShipPart, RequestID: key, TransitionID: id}
}

// TestAKeyedRequestCostsTheSameAfterAnyHistory: no reader of the stream writes the journal,
// and every transition of the order has a request id.
func TestAKeyedRequestCostsTheSameAfterAnyHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and many transitions")
	}

	const (
		id   = "8f14e45f-ceea-467f-a1d3-c1b5d1e7a7c2"
		last = 120
	)
	s, consumed := meteredOrders(t, transitions.JournalByStream)
	request := func(n int) transitions.Request {
		event := []workflow.Event{workflow.Hold, workflow.Release}[n%2]
		return keyed(id, event, transitions.RequestID(fmt.Sprint("k-", n)))
	}
	s.place(t, id)
	consumed(units{transitions.Applied, 0, 1})

	made := map[int]transitions.Transition{}
	for n := 2; n <= last; n++ {
		made[n] = s.want(t, request(n), transitions.Applied).Transition

		if n <= ringSize+1 { // the ring has room, or forgets the placing, which has no request id
			consumed(units{transitions.Applied, 1, 1})
		} else { // reads the order and the request's row, writes the row that leaves and the order
			consumed(units{transitions.Applied, 2, 2})
		}
	}

	for _, n := range []int{2, 3, last / 2, last - ringSize} {
		result := s.want(t, request(n), transitions.Replayed)
		consumed(units{transitions.Replayed, 2, 0})
		sameTransition(t, result.Transition, made[n])
	}

	next := request(last + 1)
	next.IfMatch = seen(last)
	s.want(t, next, transitions.Applied)
	consumed(units{transitions.Applied, 2, 2})

	// What took the id 5 does not matter: it was not this request.
	late := keyed(id, workflow.Hold, "late")
	late.IfMatch = seen(4)
	s.want(t, late, transitions.Superseded)
	consumed(units{transitions.Superseded, 1, 0})

	other := request(7)
	other.Event = workflow.Pay
	s.want(t, other, transitions.Conflict)
	consumed(units{transitions.Conflict, 2, 0})
}

// TestAGivenIdWithoutARequestIdCostsOneWriteUnit, also on an order that has had requests
// with request ids: their slots cost once.
func TestAGivenIdWithoutARequestIdCostsOneWriteUnit(t *testing.T) {
	s, consumed := meteredOrders(t, transitions.JournalByStream)
	s.place(t, "o-1")
	consumed(units{transitions.Applied, 0, 1})

	for id := placeID + 1; id < 40; id++ {
		want := units{transitions.Applied, 0, 1}
		r := part("", id)
		switch id {
		case 2:
			r.Event = workflow.Pay
		case 6:
			r.RequestID = "k"
		case 14: // overwrites 6: DynamoDB refuses the write, which is billed but not reported
			want.write = 2
		}
		s.want(t, r, transitions.Applied)
		consumed(want)
	}
	s.want(t, part("k", 0), transitions.Replayed)
}

// TestTheFirstUseOfASlotNeedsNoEvidence: nothing can have been in it before.
func TestTheFirstUseOfASlotNeedsNoEvidence(t *testing.T) {
	for id := placeID + 1; id <= ringSize; id++ {
		s := newOrders(t)
		s.place(t, "o-1")
		s.Wire.Reset()
		s.want(t, given("o-1", workflow.Pay, id), transitions.Applied)

		if calls := s.Wire.Calls(); !slices.Equal(calls, []string{"UpdateItem"}) {
			t.Errorf("id %d: %v", id, calls)
		}
	}
}

// TestARequestIDNeedsNoReadUpToTheNinthTransition: until then the ring has forgotten nothing but
// the placing. From the tenth on the order is read first, and the table of requests.
func TestARequestIDNeedsNoReadUpToTheNinthTransition(t *testing.T) {
	for id := placeID + 2; id <= 10; id++ {
		s := newOrders(t)
		s.place(t, "o-1")
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
		s.Wire.Reset()
		s.want(t, part("k", id), transitions.Applied)

		want := []string{"UpdateItem"}
		if id == 10 {
			want = []string{"GetItem", "UpdateItem"} // nothing is overwritten yet
		}

		if calls := s.Wire.Calls(); !slices.Equal(calls, want) {
			t.Errorf("id %d: %v, want %v", id, calls, want)
		}
	}
}

// TestARowThatCannotBeWrittenLeavesTheOrder: until the row of the request that leaves the ring
// is there, nothing of the order is written, and the error says so.
func TestARowThatCannotBeWrittenLeavesTheOrder(t *testing.T) {
	s := newOrders(t)
	s.withoutRetries(t, 2)
	moved(t, s) // the ring is full of request ids
	before := s.Item(t, "o-1")
	request := keyed("o-1", workflow.RequestReturn, "last")

	s.Wire.Inject(embeddedtest.Answer("ServiceUnavailable", "PutItem"))

	if r, err := s.Apply(t.Context(), request); !errors.Is(err, transitions.ErrUnavailable) || errors.Is(err, transitions.ErrOutcomeUnknown) {
		t.Errorf("%s, %v, want ErrUnavailable alone", r.Verdict, err)
	}

	if diff := cmp.Diff(before, s.Item(t, "o-1"), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("the order (-before +after):\n%s", diff)
	}
	s.Wire.Clear()
	s.want(t, request, transitions.Applied)
}

// TestARowOfARequestThatCannotBeReadIsAnError, and no proof that there was none.
func TestARowOfARequestThatCannotBeReadIsAnError(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	s.want(t, keyed("o-1", workflow.Pay, "k"), transitions.Applied)

	for id := placeID + 2; id < 12; id++ {
		s.want(t, part("", id), transitions.Applied)
	}

	out, err := s.DB.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(shop.RequestsTable)})
	if err != nil || len(out.Items) != 1 {
		t.Fatal(out, err)
	}
	out.Items[0]["event"] = num(1)

	if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.RequestsTable), Item: out.Items[0]}); err != nil {
		t.Fatal(err)
	}

	if r, err := s.Apply(t.Context(), keyed("o-1", workflow.Pay, "k")); err == nil || !strings.Contains(err.Error(), "read the row of the request id: attribute event") {
		t.Errorf("%s, %v", r.Verdict, err)
	}
}

// TestARequestIsAppliedOnceHoweverItsIdIsChosen stops one call before each of its requests
// in turn, lets the same request come under another id and others after it, and goes on.
func TestARequestIsAppliedOnceHoweverItsIdIsChosen(t *testing.T) {
	kinds := map[string]func(now transitions.TransitionID) transitions.Request{
		"assigned":  func(transitions.TransitionID) transitions.Request { return part("R", 0) },
		"next id":   func(now transitions.TransitionID) transitions.Request { return part("R", now+1) },
		"far ahead": func(transitions.TransitionID) transitions.Request { return part("R", 100) },
		"if-match": func(now transitions.TransitionID) transitions.Request {
			r := part("R", 0)
			r.IfMatch = &now
			return r
		},
	}

	laters := []int{ringSize - 1, ringSize + 1} // the ring still has the request, or has just lost it
	histories := []int{1, ringSize + 1}
	names := slices.Sorted(maps.Keys(kinds))

	if testing.Short() {
		laters, histories = laters[1:], histories[:1]
	}

	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		n := 0
		for one, first := range names {
			for two, second := range names {
				slow, fast := kinds[first], kinds[second]

				for i, history := range histories {
					for j, later := range laters {
						// Of two kinds that differ, the one behind the other meets half of the histories, and the other behind
						// the one the other half.
						if !*allHistories && !testing.Short() && one != two && (i == j) == (one < two) {
							continue
						}

						for stop, reached := 1, true; reached; stop++ {
							n++
							c := interleaving{id: transitions.OrderID(fmt.Sprint("o-", n)), stop: stop, history: history, later: later}
							c.name = fmt.Sprintf("%s stopped before request %d, after %d; meanwhile %s and %d more", first, stop, history, second, later)
							reached = s.play(t, c, slow, fast)
						}
					}
				}
			}
		}
	})
}

// interleaving is two calls on one order. The first is stopped before one of its requests,
// while the second is made and others after it.
type interleaving struct {
	name                 string
	id                   transitions.OrderID
	stop, history, later int
	others               int
}

// play makes the calls. It reports false if the first call has made fewer requests.
func (s *orders) play(t *testing.T, c interleaving, slow, fast func(transitions.TransitionID) transitions.Request) bool {
	t.Helper()
	ask := func(r transitions.Request) transitions.Result {
		t.Helper()
		r.OrderID = c.id

		result, err := s.Apply(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %+v: %v", c.name, r, err)
		}

		return result
	}
	more := func(count int) (last transitions.TransitionID) {
		for range count {
			c.others++
			r := part(transitions.RequestID(fmt.Sprint("other-", c.others)), 0)
			if c.others%3 == 0 {
				r = part("", last+1)
			}
			last = ask(r).Order.TransitionID
		}

		return last
	}
	s.place(t, c.id)
	s.want(t, given(c.id, workflow.Pay, 2), transitions.Applied)
	now := more(c.history)

	sent, busy := 0, false
	var quick transitions.Result
	s.Wire.Before(func(*embeddedtest.Call) error {
		if busy {
			return nil
		}

		if sent++; sent == c.stop {
			busy = true
			quick = ask(fast(now))
			more(c.later)
			busy = false
		}

		return nil
	})
	stopped := ask(slow(now))
	s.Wire.Clear()

	if sent < c.stop {
		return false
	}

	if quick.Verdict != transitions.Applied || stopped.Verdict != transitions.Replayed || stopped.Transition.ID != quick.Transition.ID {
		t.Errorf("%s: the one is %s as %d, the other %s as %d", c.name, stopped.Verdict, stopped.Transition.ID, quick.Verdict, quick.Transition.ID)
	}

	if stopped.Order.TransitionID < stopped.Transition.ID {
		t.Errorf("%s: the answer has transition %d, and the order at %d, before it", c.name, stopped.Transition.ID, stopped.Order.TransitionID)
	}

	if result := ask(part("R", 0)); result.Verdict != transitions.Replayed || result.Transition.ID != quick.Transition.ID {
		t.Errorf("%s: in the end it is %s as %d", c.name, result.Verdict, result.Transition.ID)
	}

	return true
}

// TestACrashBesideTheRowOfARequest ends a call after each of its requests. The order goes on
// as if the call had never been, or had been finished.
func TestACrashBesideTheRowOfARequest(t *testing.T) {
	inBothModesOnVirtualTime(t, func(t *testing.T, newOrders maker) {
		for _, lost := range []func(...string) embeddedtest.Fault{embeddedtest.LoseRequest, embeddedtest.LoseAnswer} {
			s := newOrders(t)
			s.withoutRetries(t, 1)
			s.place(t, "o-1")
			s.want(t, keyed("o-1", workflow.Pay, "k-2"), transitions.Applied)

			made := map[transitions.RequestID]transitions.TransitionID{}
			for n := 3; n < 30; n++ {
				key := transitions.RequestID(fmt.Sprint("k-", n))

				if n > ringSize+1 {
					// GetItem of the order, GetItem of the row, PutItem of the row that leaves,
					// the write of the order.
					s.Wire.Inject(lost().From(1 + n%4).Next(1))

					if result, err := s.Apply(t.Context(), part(key, 0)); !transitions.Retryable(err) {
						t.Errorf("request %d: %s, %v", n, result.Verdict, err)
					}
					s.Wire.Clear()
				}

				result, err := s.Apply(t.Context(), part(key, 0))
				if err != nil || !result.Verdict.Done() || result.Transition.ID != transitions.TransitionID(n) {
					t.Fatalf("request %d: %+v, %v", n, result, err)
				}
				made[key] = result.Transition.ID
			}

			for key, id := range made {
				if result := s.want(t, part(key, 0), transitions.Replayed); result.Transition.ID != id {
					t.Errorf("%s is transition %d, was %d", key, result.Transition.ID, id)
				}
			}
		}
	})
}

// withoutRequests returns the orders as a program without a table of requests has them.
func (s *orders) withoutRequests() *transitions.Orders {
	return s.Shop.Orders(shop.Journal(s.mode), shop.WithoutRequests)
}

// TestAProgramWithoutRequestsMayMoveTheOrder: it overwrites slots without writing rows. What the
// ring has forgotten by then is looked for in the journal, and nothing else.
func TestAProgramWithoutRequestsMayMoveTheOrder(t *testing.T) {
	s := newOrders(t)
	old := s.withoutRequests()
	now := map[string]types.AttributeValue(nil)
	var rows []func()
	apply := func(o *transitions.Orders, r transitions.Request) {
		t.Helper()

		if result, err := o.Apply(t.Context(), r); err != nil || result.Verdict != transitions.Applied {
			t.Fatalf("%+v: %+v, %v", r, result, err)
		}
		before, after := now, s.Item(t, "o-1")
		rows = append(rows, func() { shop.Record(t, s.Orders, before, after) })
		now = after
	}
	flush := func() {
		for _, record := range rows {
			record()
		}
		rows = nil
	}

	if _, err := old.Create(t.Context(), s.newOrder("o-1", 5)); err != nil {
		t.Fatal(err)
	}
	now = s.Item(t, "o-1")
	shop.Record(t, s.Orders, nil, now)
	apply(old, given("o-1", workflow.Pay, 2))

	for id := placeID + 2; id < 12; id++ {
		apply(old, part(transitions.RequestID(fmt.Sprint("old-", id)), id))
		flush()
	}

	// Until now the journal alone has old-3. A program with the table finds it there, and once
	// that program has moved the order, it needs the journal for nothing newer.
	s.want(t, part("old-3", 0), transitions.Replayed)

	for n := range 2 * ringSize {
		apply(s.Orders, part(transitions.RequestID(fmt.Sprint("new-", n)), 0))
	}
	s.want(t, part("new-0", 0), transitions.Replayed)
	s.want(t, part("old-5", 0), transitions.Replayed)

	// The program without the table moves it again, and overwrites the slot of new-8.
	apply(old, part("", 28))

	if result, err := s.Apply(t.Context(), part("fresh", 0)); !errors.Is(err, transitions.ErrJournalBehind) {
		t.Errorf("a row may be missing: %s, %v, want ErrJournalBehind", result.Verdict, err)
	}
	flush()
	apply(s.Orders, part("fresh", 0))

	for _, key := range []transitions.RequestID{"old-3", "old-11", "new-0", "new-8", "new-15", "fresh"} {
		s.want(t, part(key, 0), transitions.Replayed)
	}

	// A write that needs no row itself notes that the other program has left one out.
	apply(s.Orders, part("", 30))
	apply(old, part("", 31))      // overwrites new-11
	apply(s.Orders, part("", 36)) // overwrites 28
	flush()
	s.want(t, part("new-11", 0), transitions.Replayed)
}

// TestAnOrderWithoutAnIDIsAdoptedUnderAHighOne: nothing says what its slots have held.
func TestAnOrderWithoutAnIDIsAdoptedUnderAHighOne(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.foreign(t, "o-1", workflow.PaymentReceived)
		s.want(t, part("", 20), transitions.Applied)
		s.want(t, part("k", 0), transitions.Applied)
		s.want(t, part("", 40), transitions.Applied)
		s.want(t, part("k", 0), transitions.Replayed)
	})
}

// TestRequestsFollowTheModelInMixedOperation draws requests with and without ids and keys,
// from programs with and without a table of requests, with crashes in between.
func TestRequestsFollowTheModelInMixedOperation(t *testing.T) {
	inBothModesOnVirtualTime(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.withoutRetries(t, 2)
		old := s.withoutRequests()
		n := 0
		rapid.Check(bubbled{t}, func(rt *rapid.T) {
			n++
			m := &mixed{orders: s, t: t, old: old, id: transitions.OrderID(fmt.Sprint("o-", n)), keys: map[transitions.RequestID]transitions.TransitionID{}}
			s.place(t, m.id)
			m.now = s.Item(t, m.id)
			m.row(nil)
			m.last = placeID
			m.ask(rt, s.Orders, given(m.id, workflow.Pay, 2))

			both := rapid.Bool().Draw(rt, "a program without the table is at work")
			for range rapid.IntRange(5, 40).Draw(rt, "requests") {
				m.step(rt, both)
			}
			m.flush()

			for key, id := range m.keys {
				r := part(key, 0)
				r.OrderID = m.id

				result, err := s.Apply(t.Context(), r)
				if err != nil || result.Verdict != transitions.Replayed || result.Transition.ID != id {
					rt.Fatalf("in the end %s is %s as %d (%v), was made as %d", key, result.Verdict, result.Transition.ID, err, id)
				}
			}
		})
	})
}

// mixed is one order and what is known of it: the transitions that its item has shown.
type mixed struct {
	*orders
	t    testing.TB
	old  *transitions.Orders
	id   transitions.OrderID
	last transitions.TransitionID
	keys map[transitions.RequestID]transitions.TransitionID
	now  map[string]types.AttributeValue
	rows []func() // of the journal, which the stream's reader has not written yet
	// mixed: the program without the table has overwritten something, so the journal is needed.
	mixed bool
}

// row adds the journal row of the newest transition to the rows that are not written yet.
func (m *mixed) row(before map[string]types.AttributeValue) {
	if after := m.now; m.mode == transitions.JournalByStream {
		m.rows = append(m.rows, func() {
			change, _, err := transitions.Mapping{}.FromRecord(before, after)
			if err == nil {
				err = m.Record(context.Background(), change)
			}

			if err != nil {
				panic(err)
			}
		})
	}
}

func (m *mixed) flush() {
	for _, record := range m.rows {
		record()
	}
	m.rows = nil
}

// step draws one request and checks its answer.
func (m *mixed) step(rt *rapid.T, both bool) {
	if rapid.IntRange(0, 3).Draw(rt, "the reader catches up") == 0 {
		m.flush()
	}

	o := m.Orders
	if both && rapid.Bool().Draw(rt, "by the program without the table") {
		o, m.mixed = m.old, true
	}

	r := part("", 0)
	r.OrderID = m.id
	if rapid.IntRange(0, 2).Draw(rt, "keyed") > 0 {
		r.RequestID = transitions.RequestID(fmt.Sprint("k", rapid.IntRange(0, 30).Draw(rt, "key")))
	}

	if r.RequestID == "" || rapid.IntRange(0, 2).Draw(rt, "given") == 0 {
		r.TransitionID = m.last + transitions.TransitionID(rapid.IntRange(1, 3).Draw(rt, "gap"))
	}

	if rapid.IntRange(0, 3).Draw(rt, "crash") == 0 {
		lose := rapid.SampledFrom([]func(...string) embeddedtest.Fault{embeddedtest.LoseRequest, embeddedtest.LoseAnswer}).Draw(rt, "loses")
		m.Wire.Inject(lose().From(rapid.IntRange(1, 5).Draw(rt, "call")))
	}
	m.ask(rt, o, r)
}

// ask sends a request, learns from the order's item whether it was applied, and compares.
func (m *mixed) ask(rt *rapid.T, o *transitions.Orders, r transitions.Request) {
	made, used := m.keys[r.RequestID]

	result, err := o.Apply(context.Background(), r)
	m.Wire.Clear()
	before := m.now
	m.now = m.Item(m.t, m.id)
	moved := m.learn(rt, r, before)

	behind := errors.Is(err, transitions.ErrJournalBehind) && (m.mixed || o != m.Orders)
	switch {
	case moved && used:
		rt.Fatalf("%+v was applied as %d and again as %d", r, made, m.last)
	case behind, errors.Is(err, transitions.ErrOutcomeUnknown), errors.Is(err, transitions.ErrUnavailable):
	case err != nil:
		rt.Fatalf("%+v: %v", r, err)
	case used && (result.Verdict != transitions.Replayed || result.Transition.ID != made):
		rt.Fatalf("%+v: %s as %d, was made as %d", r, result.Verdict, result.Transition.ID, made)
	case !used && (result.Verdict != transitions.Applied || !moved):
		rt.Fatalf("%+v: %s, moved %t", r, result.Verdict, moved)
	}
}

// learn takes over the order's present item.
func (m *mixed) learn(rt *rapid.T, r transitions.Request, before map[string]types.AttributeValue) (moved bool) {
	change, moved, err := transitions.Mapping{}.FromRecord(before, m.now)
	if err != nil {
		rt.Fatal(err)
	}

	if !moved {
		return false
	}
	m.last = change.Transition.ID
	m.row(before)

	if r.RequestID != "" {
		m.keys[r.RequestID] = m.last
	}

	return true
}
