package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/lineage"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/transitions/timers"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	dueTable = "orders-due"
	day      = 24 * time.Hour
	// inaccurate is how far the stored times of two machines may differ, because answers state whole seconds.
	inaccurate = 3 * time.Second
)

// renewal is how long after the last one a version of the definition renews.
var renewal = map[int]time.Duration{1: 30 * day, 2: 20 * day, 3: 25 * day}

// subscription is the definition of the year. Its second version renews earlier and moves orders of the first one. Its third
// version has another name for a state, and knows no other version.
func subscription(version int) *workflow.Definition {
	active := []workflow.State{"ACTIVE"}

	paused := workflow.State("PAUSED")
	if version == 3 {
		paused = "SUSPENDED"
	}

	d, err := workflow.New(workflow.Spec{
		Name: "subscription", Version: version, Place: "start", Initial: "TRIAL",
		States: []workflow.StateSpec{{State: "TRIAL"}, {State: "ACTIVE"}, {State: paused}, {State: "ENDED", Terminal: true}},
		Transitions: []workflow.Transition{
			{Event: "begin", From: []workflow.State{"TRIAL"}, To: "ACTIVE", After: &workflow.After{Delay: 14 * day}},
			{Event: "renew", From: active, To: "ACTIVE", After: &workflow.After{Delay: renewal[version]}},
			{Event: "remind", From: active, To: "ACTIVE", After: &workflow.After{Attribute: "remindAt", Delay: -day}},
			{Event: "note", From: active, To: "ACTIVE"},
			{Event: "reset", From: active, To: "ACTIVE", Restart: true},
			{Event: "pause", From: active, To: paused},
			{Event: "resume", From: []workflow.State{paused}, To: "ACTIVE"},
			{Event: "lapse", From: []workflow.State{paused}, To: "ENDED", After: &workflow.After{Delay: 60 * day}},
			{Event: "end", From: active, To: "ENDED", After: &workflow.After{Delay: 45 * day},
				Guards: []workflow.Guard{{Name: "not-kept", Attribute: "kept", Op: "missing"}}},
		},
	})
	if err != nil {
		panic(err)
	}

	return d
}

// machine is a worker with a clock of its own, which may crash.
type machine struct {
	aws.HTTPClient

	clock   *embeddedtest.Clock // of the service
	ahead   time.Duration
	version int // of its definition
	orders  *transitions.Orders
	timers  *timers.Timers

	strikeAt int  // the call at which it is struck, counted down; 0 for none
	after    bool // the call is carried out, and its answer is lost
	crashes  bool // all later calls fail, too
	down     bool
}

var errStruck = errors.New("struck")

// Do sends a call, unless the machine is struck. Every answer states the time of the service.
func (m *machine) Do(r *http.Request) (*http.Response, error) {
	if m.down {
		return nil, errStruck
	}

	struck := false
	if m.strikeAt > 0 {
		m.strikeAt--
		struck = m.strikeAt == 0
	}

	if struck {
		m.down = m.crashes

		if !m.after {
			return nil, errStruck
		}
	}

	response, err := m.HTTPClient.Do(r)
	if err == nil && struck {
		_ = response.Body.Close()
		return nil, errStruck
	}

	if err == nil {
		response.Header.Set("Date", m.clock.Now().UTC().Format(http.TimeFormat))
	}

	return response, err
}

// year is the simulation.
type year struct {
	*shop.Shop

	t        *testing.T
	clock    embeddedtest.Clock
	random   *rand.Rand
	streams  *dynamodbstreams.Client
	last     string // the sequence number of the newest record that was read
	machines []*machine
	phase    int // how many of the changes of the definition have begun

	handled []streams.Record // that the timers have got
	waiting []streams.Record // that they are still to get
	orders  map[transitions.OrderID]*history
	made    map[workflow.Event]int // by time
	madeBy  map[int]int            // by time, by the version of the definition
}

// history is what the records say of an order.
type history struct {
	state   workflow.State
	entered time.Time
	own     map[workflow.Event]time.Time
	remind  time.Time
}

func newYear(t *testing.T, seed uint64) *year {
	t.Helper()

	engine := embeddedtest.Open(t)
	cfg := engine.AWSConfig()
	y := &year{
		t: t, Shop: shop.Over(t, cfg), random: rand.New(rand.NewPCG(seed, 1)), streams: dynamodbstreams.NewFromConfig(cfg),
		orders: map[transitions.OrderID]*history{}, made: map[workflow.Event]int{}, madeBy: map[int]int{},
	}
	y.Tables(timers.TableInput(dueTable))

	for range 2 {
		y.machines = append(y.machines, &machine{HTTPClient: y.DB.Options().HTTPClient, clock: &y.clock, version: 1})
	}
	y.restart()

	return y
}

// restart starts the programs of all machines.
func (y *year) restart() {
	for _, m := range y.machines {
		now := func() time.Time { return y.clock.Now().Add(m.ahead) }
		db := dynamodb.New(y.DB.Options(), func(o *dynamodb.Options) {
			o.APIOptions, o.HTTPClient, o.Retryer = nil, m, embeddedtest.NoRetries()
		})
		m.orders = y.Orders(func(c *transitions.Config) {
			c.Definition, c.Now, c.DynamoDB, c.Attempts = subscription(m.version), now, db, 2
			if m.version == 2 {
				c.Versions = []int{1}
			}
		})

		var err error
		if m.timers, err = timers.New(timers.Config{DynamoDB: db, Table: dueTable, Orders: m.orders, Log: embeddedtest.Quiet(), Now: now}); err != nil {
			y.t.Fatal(err)
		}
	}
}

// strike lets a machine fail at one of its next calls, more or less often.
func (y *year) strike(m *machine) {
	m.strikeAt, m.down = 0, false

	if y.random.IntN(3) == 0 {
		m.strikeAt, m.after, m.crashes = 1+y.random.IntN(60), y.random.IntN(2) == 0, y.random.IntN(2) == 0
	}
}

// read reads the new records of the stream and checks what they say.
func (y *year) read() {
	y.t.Helper()

	for iterator := y.iterator(); ; {
		out, err := y.streams.GetRecords(y.t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
		if err != nil {
			y.t.Fatal(err)
		}

		iterator = out.NextShardIterator
		for i := range out.Records {
			record := lineage.FromSDK(&out.Records[i])
			y.last = record.SequenceNumber
			y.waiting = append(y.waiting, record)
			y.check(record)
		}

		if len(out.Records) == 0 {
			return
		}
	}
}

// iterator returns where the newest record ends. An iterator of before has expired.
func (y *year) iterator() *string {
	ctx := y.t.Context()

	table, err := y.DB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(shop.OrdersTable)})
	if err != nil {
		y.t.Fatal(err)
	}

	arn := table.Table.LatestStreamArn

	stream, err := y.streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	if err != nil {
		y.t.Fatal(err)
	}

	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: arn, ShardId: stream.StreamDescription.Shards[0].ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	}
	if y.last != "" {
		in.ShardIteratorType, in.SequenceNumber = streamtypes.ShardIteratorTypeAfterSequenceNumber, &y.last
	}

	out, err := y.streams.GetShardIterator(ctx, in)
	if err != nil {
		y.t.Fatal(err)
	}

	return out.ShardIterator
}

// check compares a record with what the records before say of the order: a transition that time has made is one
// of its state, and its timer has run out. The timer is computed here from the records alone.
func (y *year) check(record streams.Record) {
	y.t.Helper()

	before, after, err := y.machines[0].orders.Mapping().Images(record.Old, record.New)
	if err != nil || after == nil {
		y.t.Fatal(after, err)
	}
	h := y.orders[after.ID]

	if change, moved, err := y.machines[0].orders.Mapping().FromRecord(record.Old, record.New); err != nil {
		y.t.Fatal(err)
	} else if moved && before != nil {
		if change.Transition.Cause.Code == transitions.CodeTime {
			y.checkTimed(h, change.Transition, after.DefinitionVersion)
		}
		h.note(change.Transition)
	} else if before == nil {
		h = &history{state: after.State, entered: after.CreatedAt, own: map[workflow.Event]time.Time{}}
		y.orders[after.ID] = h
	}

	h.remind = dynamo.Time(record.New, "remindAt")
}

func (y *year) checkTimed(h *history, made transitions.Transition, version int) {
	y.t.Helper()
	y.made[made.Event]++
	y.madeBy[version]++

	if made.From != h.state {
		y.t.Errorf("time has made %s of an order in %s, which had left %s", made.Event, h.state, made.From)
	}

	delay := map[workflow.Event]time.Duration{"begin": 14 * day, "renew": renewal[version], "lapse": 60 * day, "end": 45 * day}[made.Event]
	due := h.entered.Add(delay)
	if own := h.own[made.Event]; own.After(h.entered) {
		due = own.Add(delay)
	}

	if made.Event == "remind" {
		due = h.remind.Add(-day)
		if !due.After(h.entered) || !due.After(h.own["remind"]) {
			y.t.Errorf("time has made remind again for %s", due)
		}
	}

	// The record is read before the clock goes on.
	if now := y.clock.Now(); now.Before(due) || made.At.Sub(now).Abs() > inaccurate {
		y.t.Errorf("time has made %s at %s (stored: %s), which is due at %s", made.Event, now, made.At, due)
	}
}

// note changes the history by a transition.
func (h *history) note(made transitions.Transition) {
	switch {
	case made.To != h.state || made.Event == "reset":
		h.state, h.entered = made.To, made.At
	case made.Event == "renew" || made.Event == "remind":
		h.own[made.Event] = made.At
	}
}

// handle hands the waiting records to the timers of a machine, in their order, until a call fails. Sometimes records come
// again.
func (y *year) handle(m *machine) {
	for len(y.waiting) > 0 {
		if err := m.timers.Record(y.t.Context(), y.waiting[0].Old, y.waiting[0].New); err != nil {
			// The poller that takes over begins at the newest checkpoint.
			again := min(y.random.IntN(4), len(y.handled))
			y.waiting = append(y.handled[len(y.handled)-again:len(y.handled):len(y.handled)], y.waiting...)
			y.handled = y.handled[:len(y.handled)-again]

			return
		}

		y.handled, y.waiting = append(y.handled, y.waiting[0]), y.waiting[1:]
	}
}

// act lets a caller do something to a random order.
func (y *year) act(step int) {
	m := y.machines[y.random.IntN(2)]
	m.strikeAt, m.down = 0, false

	// Each version of the definition has new orders, too: those of before have ended, or will soon.
	id := transitions.OrderID(fmt.Sprint("o-", 8*y.phase+y.random.IntN(12)))
	if y.orders[id] == nil {
		shop.Place(y.t, m.orders, transitions.NewOrder{ID: id, Total: transitions.Money{Currency: "EUR"}})
		return
	}

	events := []workflow.Event{"note", "note", "note", "note", "reset", "pause", "resume", "resume", "renew"}
	switch n := y.random.IntN(len(events) + 4); {
	case n < len(events):
		_, err := m.orders.Apply(y.t.Context(), transitions.Request{OrderID: id, Event: events[n], RequestID: transitions.RequestID(fmt.Sprint("step-", step))})
		// The order and the machine may be of different versions.
		if err != nil && !errors.Is(err, transitions.ErrUnknownVersion) {
			y.t.Fatal(err)
		}
	case n < len(events)+2:
		y.set(id, "remindAt", dynamo.Millis(y.clock.Now().Add(time.Duration(y.random.IntN(1000))*time.Hour-10*time.Hour)))
	case n == len(events)+2:
		y.set(id, "kept", dynamo.Bool(true))
	default:
		y.set(id, "kept", nil)
	}
}

// set writes an attribute of an order as another program does, nil to remove it.
func (y *year) set(id transitions.OrderID, name string, v types.AttributeValue) {
	update := dynamo.NewUpdate(shop.OrdersTable, y.Mapping.ItemKey(id))
	if v == nil {
		update.RemoveAttribute(name)
	} else {
		update.SetValue(name, v)
	}

	if _, err := y.DB.UpdateItem(y.t.Context(), update.Input()); err != nil {
		y.t.Fatal(err)
	}
}

// work lets both machines handle records and sweep once. Calls fail while calm is false.
func (y *year) work(calm bool) {
	for _, n := range y.random.Perm(2) {
		m := y.machines[n]
		if y.strike(m); calm {
			m.strikeAt = 0
		}

		if y.random.IntN(20) == 0 {
			m.ahead = time.Duration(y.random.IntN(9)-4) * 3 * time.Hour
		}

		y.read()
		y.handle(m)

		if _, err := m.timers.Sweep(y.t.Context(), 50); err != nil && calm {
			y.t.Error(err)
		}
		m.strikeAt, m.down = 0, false
	}
	y.read()
}

// late returns the transition that has been due for the longest time, and for how long.
func (y *year) late() (what string, late time.Duration) {
	for id := range y.orders {
		order, _, err := y.machines[0].orders.Get(context.Background(), id)
		if err != nil {
			y.t.Fatal(err)
		}

		for _, timer := range y.machines[0].orders.Timers(order) {
			if over := y.clock.Now().Sub(timer.At); timer.Unmet == "" && over > late {
				what, late = fmt.Sprintf("%s of %s in %s", timer.Event, id, order.State), over
			}
		}
	}

	return what, late
}

// next returns when something is due next, and at most two days from now.
func (y *year) next() time.Duration {
	wait := time.Duration(1+y.random.IntN(48)) * time.Hour

	for id := range y.orders {
		order, _, err := y.machines[0].orders.Get(context.Background(), id)
		if err != nil {
			y.t.Fatal(err)
		}

		for _, timer := range y.machines[0].orders.Timers(order) {
			if until := timer.At.Sub(y.clock.Now()); until > 0 {
				wait = min(wait, until+time.Duration(y.random.IntN(60))*time.Second-10*time.Second)
			}
		}
	}

	return max(wait, time.Second)
}

// TestAYearOfTime lets two workers move orders through a year of virtual time, while their calls fail, answers are lost,
// their clocks are hours off, orders are edited and moved by others, records come again, and the definition
// changes twice: once to a version that moves the orders of the former one, and once to a version to which they are migrated. Each transition that time makes is checked by the records of the stream: its timer had run out, the order was in
// its state, and it was made once. At the end nothing is overdue.
func TestAYearOfTime(t *testing.T) {
	y := newYear(t, 1)

	for step := 0; y.clock.Now().Before(embeddedtest.Start.Add(365 * day)); step++ {
		for range 1 + y.random.IntN(2) {
			y.act(step)
			y.read()
		}
		y.clock.Advance(y.next())
		y.work(false)

		y.change()
	}

	// What failed was postponed by at most an hour.
	for range 3 {
		y.clock.Advance(time.Hour + time.Minute)
		y.work(true)
	}

	if what, late := y.late(); late > 10*time.Second {
		t.Errorf("%s is late by %s", what, late)
	}

	t.Logf("time has made %v, by the versions %v", y.made, y.madeBy)

	for version, least := range map[int]int{1: 20, 2: 5, 3: 10} {
		if y.madeBy[version] < least {
			t.Errorf("version %d has made %d transitions by time, which proves little", version, y.madeBy[version])
		}
	}

	for event, least := range map[workflow.Event]int{"begin": 12, "renew": 20, "remind": 10, "lapse": 1, "end": 3} {
		if y.made[event] < least {
			t.Errorf("time has made %s %d times, which proves little", event, y.made[event])
		}
	}
}

// change changes the definition when its time has come, while timers wait.
func (y *year) change() {
	changes := []struct {
		after time.Duration
		do    func()
	}{
		{150 * day, func() { y.deploy(2, y.machines...); y.rebuild() }},
		// For some days, each of the machines moves the orders of its own version.
		{210 * day, func() { y.deploy(3, y.machines[1]) }},
		{220 * day, func() { y.deploy(3, y.machines...); y.migrate(); y.rebuild() }},
	}

	if y.phase < len(changes) && y.clock.Now().After(embeddedtest.Start.Add(changes[y.phase].after)) {
		changes[y.phase].do()
		y.phase++
	}
}

// deploy starts machines with a version of the definition.
func (y *year) deploy(version int, machines ...*machine) {
	for _, m := range machines {
		m.version = version
	}
	y.restart()
}

// untilDone repeats something on the first machine, whose calls fail, until it is done.
func (y *year) untilDone(do func(*machine) error) {
	for m := y.machines[0]; ; {
		y.strike(m)
		err := do(m)
		m.strikeAt, m.down = 0, false

		if err == nil {
			return
		}
	}
}

// rebuild writes the rows for the definition.
func (y *year) rebuild() {
	y.untilDone(func(m *machine) error {
		_, err := m.timers.Rebuild(y.t.Context(), nil)
		return err
	})
}

// migrate brings all orders to the third version, in which some of them are in a state of another name.
func (y *year) migrate() {
	renamed := map[workflow.State]workflow.State{"PAUSED": "SUSPENDED"}

	ways, err := workflow.NewMigrations([]*workflow.Definition{subscription(1), subscription(2), subscription(3)},
		[]workflow.Migration{{From: 1, To: 3, States: renamed}, {From: 2, To: 3, States: renamed}})
	if err != nil {
		y.t.Fatal(err)
	}

	moved := 0
	y.untilDone(func(m *machine) error {
		found, err := m.orders.MigrateAll(y.t.Context(), ways, transitions.Sweep{Segments: 1}, transitions.Cause{})
		if moved += found.Moved; err == nil && found.Busy+found.Unmapped+found.Unreadable > 0 {
			y.t.Errorf("%+v", found)
		}

		return err
	})

	if moved < 5 {
		y.t.Errorf("%d orders were migrated, which proves little", moved)
	}
}
