package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
	"ratchet/streams"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/transitions/timers"
)

const day = 24 * time.Hour

// year is a year of subscriptions on a clock that the test moves: their orders, what time does to them, and the
// program's own reactions. It is also the world outside.
type year struct {
	t        *testing.T
	shop     *shop.Shop
	clock    embeddedtest.Clock
	orders   *transitions.Orders
	timers   *timers.Timers
	handlers []streams.Handler

	seen      map[transitions.OrderID]map[string]types.AttributeValue // as the reactions know them
	declines  func(id string, day int) bool
	charged   map[string][]int // days on which a subscription was paid
	declined  map[string][]int
	reminded  map[string][]int
	performed map[string]bool // keys
}

func newYear(t *testing.T, declines func(id string, day int) bool) *year {
	t.Helper()

	y := &year{
		t: t, shop: shop.Over(t, embeddedtest.Open(t).AWSConfig()), declines: declines,
		seen: map[transitions.OrderID]map[string]types.AttributeValue{}, performed: map[string]bool{},
		charged: map[string][]int{}, declined: map[string][]int{}, reminded: map[string][]int{},
	}
	y.shop.Tables(timers.TableInput("orders-due"))

	parts, err := newParts(y)
	if err != nil {
		t.Fatal(err)
	}

	db := dynamodb.New(y.shop.DB.Options(), func(o *dynamodb.Options) {
		o.APIOptions, o.HTTPClient = nil, embeddedtest.Dated{Doer: o.HTTPClient, Now: y.clock.Now}
	})
	y.orders = y.shop.Orders(shop.Journal(transitions.JournalTransactional), func(c *transitions.Config) {
		c.DynamoDB, c.Now, c.Definition = db, y.clock.Now, parts.Workflow.Definition
	})
	y.handlers = parts.Handlers(&server.Backend{Orders: y.orders})

	if y.timers, err = timers.New(timers.Config{DynamoDB: db, Table: "orders-due", Orders: y.orders, Now: y.clock.Now}); err != nil {
		t.Fatal(err)
	}

	return y
}

// today counts the days of the year from 0.
func (y *year) today() int { return int(y.clock.Now().Sub(embeddedtest.Start) / day) }

func (y *year) once(key string) bool {
	again := y.performed[key]
	y.performed[key] = true

	return !again
}

func (y *year) charge(_ context.Context, key, id string) (bool, error) {
	paid := !y.declines(id, y.today())

	switch {
	case !y.once(key):
	case paid:
		y.charged[id] = append(y.charged[id], y.today())
	default:
		y.declined[id] = append(y.declined[id], y.today())
	}

	return paid, nil
}

func (y *year) remind(_ context.Context, key, id string) error {
	if y.once(key) {
		y.reminded[id] = append(y.reminded[id], y.today())
	}

	return nil
}

// start starts a subscription with a trial of 14 days.
func (y *year) start(id transitions.OrderID, own transitions.Attributes) {
	y.t.Helper()

	if own == nil {
		own = transitions.Attributes{}
	}
	own["trialEndsAt"] = &types.AttributeValueMemberS{Value: y.clock.Now().Add(14 * day).Format(time.RFC3339)}

	shop.Place(y.t, y.orders, transitions.NewOrder{ID: id, Own: own})
	y.deliver(id)
}

// deliver hands the change of a subscription to the timers and the reactions, as the stream does, and then the changes
// that the reactions have made.
func (y *year) deliver(id transitions.OrderID) {
	y.t.Helper()

	for {
		before, after := y.seen[id], y.shop.Item(y.t, id)
		if reflect.DeepEqual(before, after) {
			return
		}
		y.seen[id] = after

		if err := y.timers.Record(y.t.Context(), before, after); err != nil {
			y.t.Fatal(err)
		}

		for _, h := range y.handlers {
			// Each record comes twice.
			for range 2 {
				if err := h.Handle(y.t.Context(), streams.Record{Old: before, New: after}); err != nil {
					y.t.Fatal(err)
				}
			}
		}
	}
}

// pass lets days pass, from one moment at which something is due to the next.
func (y *year) pass(days int) {
	y.t.Helper()

	for end := y.clock.Now().Add(time.Duration(days) * day); ; {
		next, due := y.next()
		if !due || next.After(end) {
			y.clock.Set(end)
			return
		}

		// A moment before, nothing happens. A moment after it, several workers look at once.
		y.clock.Set(next.Add(-time.Second))
		y.sweep(0)

		y.clock.Set(next.Add(3 * time.Second))
		y.sweep(1)
		y.sweep(0)

		for id := range y.seen {
			y.deliver(id)
		}
	}
}

// next returns the first moment at which time does something to a subscription that does not wait for a guard.
func (y *year) next() (next time.Time, due bool) {
	y.t.Helper()

	for id := range y.seen {
		order, found, err := y.orders.Get(y.t.Context(), id)
		if err != nil || !found {
			y.t.Fatal(found, err)
		}

		for _, timer := range y.orders.Timers(order) {
			if timer.Unmet == "" && (!due || timer.At.Before(next)) {
				next, due = timer.At, true
			}
		}
	}

	return next, due
}

// sweep makes what is due. It checks that this is nothing, or at least as many subscriptions as it must be.
func (y *year) sweep(least int) {
	y.t.Helper()

	swept, err := y.timers.Sweep(y.t.Context(), 100)
	if err != nil {
		y.t.Fatal(err)
	}

	if swept.Rows < least || least == 0 && swept.Rows > 0 {
		y.t.Errorf("day %d: %d rows were due, want %d", y.today(), swept.Rows, least)
	}
}

func (y *year) state(id transitions.OrderID) string {
	y.t.Helper()

	order, found, err := y.orders.Get(y.t.Context(), id)
	if err != nil || !found {
		y.t.Fatal(found, err)
	}

	return fmt.Sprintf("%s by %s", order.State, order.Recent()[len(order.Recent())-1].Event)
}

func (y *year) want(what string, got, want any) {
	y.t.Helper()

	if fmt.Sprint(got) != fmt.Sprint(want) {
		y.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func card() transitions.Attributes {
	return transitions.Attributes{"card": &types.AttributeValueMemberBOOL{Value: true}}
}

// TestAYearOfSubscriptions walks through a year with all that can become of a subscription.
func TestAYearOfSubscriptions(t *testing.T) {
	y := newYear(t, func(id string, day int) bool {
		switch id {
		case "late": // the bank declines for five days
			return day >= 100 && day < 109
		case "lost": // the card has expired
			return day >= 200
		}

		return false
	})

	y.start("kept", card())
	y.start("late", card())
	y.start("lost", card())
	y.start("left", card())
	y.start("stays", card())
	y.start("curious", nil)

	y.pass(150)

	// Two cancel for the day 160, and one of them stays.
	for _, id := range []transitions.OrderID{"left", "stays"} {
		y.edit(id, transitions.OwnChange{Set: transitions.Attributes{
			"endsAt": &types.AttributeValueMemberS{Value: embeddedtest.Start.Add(160 * day).Format(time.RFC3339)},
		}})
	}
	y.pass(5)
	y.edit("stays", transitions.OwnChange{Remove: []string{"endsAt"}})
	y.pass(365 - 155)

	monthly := []int{14, 44, 74, 104, 134, 164, 194, 224, 254, 284, 314, 344}
	y.want("kept", y.state("kept"), "ACTIVE by renew")
	y.want("kept was charged", y.charged["kept"], monthly)
	y.want("stays was charged", y.charged["stays"], monthly)

	// Declined on day 104, retried on 107 and 110; from there on, each period begins with the recovery.
	y.want("late", y.state("late"), "ACTIVE by renew")
	y.want("late was declined", y.declined["late"], []int{104, 107})
	y.want("late was charged", y.charged["late"], []int{14, 44, 74, 110, 140, 170, 200, 230, 260, 290, 320, 350})

	// Declined on day 224; four retries, and the end after 14 days.
	y.want("lost", y.state("lost"), "ENDED by give_up")
	y.want("lost was declined", y.declined["lost"], []int{224, 227, 230, 233, 236})
	y.want("lost was charged", y.charged["lost"], monthly[:7])

	y.want("left", y.state("left"), "ENDED by end")
	y.want("left was charged", y.charged["left"], monthly[:5])

	y.want("curious", y.state("curious"), "ENDED by lapse")
	y.want("curious was charged", y.charged["curious"], []int(nil))

	for id, days := range y.reminded {
		y.want(id+" was reminded", days, []int{11})
	}
	y.want("reminders", len(y.reminded), 6)

	// What has ended has no due rows any more.
	out, err := y.shop.DB.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("orders-due")})
	if err != nil {
		t.Fatal(err)
	}
	y.want("due rows", len(out.Items), 3)

	rows, err := y.orders.History(t.Context(), "lost", 0, 100)
	if err != nil {
		t.Fatal(err)
	}

	for _, row := range rows {
		byTime := slices.Contains([]string{"remind", "begin", "renew", "retry", "give_up"}, string(row.Event))
		if byTime != (row.Cause.Code == transitions.CodeTime) {
			t.Errorf("%s has the cause %q", row.Event, row.Cause.Code)
		}
	}
}

func (y *year) edit(id transitions.OrderID, change transitions.OwnChange) {
	y.t.Helper()

	edit := transitions.Edit{OrderID: id, EventID: transitions.RequestID(fmt.Sprint("edit-", y.today()))}
	if r, err := y.orders.SetOwn(y.t.Context(), edit, change); err != nil || r.Verdict != transitions.Applied {
		y.t.Fatal(r.Verdict, err)
	}
	y.deliver(id)
}

// TestDefinitionAndStateMachineFit makes the check that every command makes before it begins.
func TestDefinitionAndStateMachineFit(t *testing.T) {
	parts, err := newParts(terminal{})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := (server.Config{Parts: parts}).CheckWorkflow(); err != nil {
		t.Error(err)
	}
}
