package model

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

var (
	flagListPrograms = flag.Int("list-programs", 10, "programs of TestListsAndMigrationsFollowTheOrders")
	flagListSeed     = flag.Uint64("list-seed", 1, "seed of the first of them")
)

const (
	listSteps  = 80
	listsTable = "order-lists"
	// offFor is the longest time between two notes of a worker without lists, as server has it.
	offFor = time.Minute
)

// listedIDs are the orders of a program: of two owners, and used again after they were deleted.
var listedIDs = []transitions.OrderID{"a", "b", "c", "d", "shop:a", "shop:b"}

// older and newer are the versions of the definition. The newer one has another name for HELD, and no PARKED,
// which has no mapping.
var older, newer = listedDefinition(1, "HELD", "PARKED"), listedDefinition(2, "WAITING")

func listedDefinition(version int, waiting ...workflow.State) *workflow.Definition {
	spec := workflow.Spec{
		Name: "listed", Version: version, Place: "place", Initial: "OPEN",
		States:      []workflow.StateSpec{{State: "OPEN"}, {State: "DONE", Terminal: true}},
		Transitions: []workflow.Transition{{Event: "end", From: []workflow.State{"OPEN"}, To: "DONE"}, {Event: "touch", From: []workflow.State{"OPEN"}, To: "OPEN"}},
	}

	for i, s := range waiting {
		spec.States = append(spec.States, workflow.StateSpec{State: s})
		spec.Transitions = append(spec.Transitions,
			workflow.Transition{Event: workflow.Event(fmt.Sprint("wait", i)), From: []workflow.State{"OPEN"}, To: s},
			workflow.Transition{Event: "go-on", From: []workflow.State{s}, To: "OPEN"})
	}

	d, err := workflow.New(spec)
	if err != nil {
		panic(err)
	}

	return d
}

// toNewer are the migrations of a program.
var toNewer = func() *workflow.Migrations {
	m, err := workflow.NewMigrations([]*workflow.Definition{older, newer}, []workflow.Migration{{From: 1, To: 2, States: map[workflow.State]workflow.State{"HELD": "WAITING"}}})
	if err != nil {
		panic(err)
	}

	return m
}()

// listProgram is one run: workers of two versions, with lists and without, a person who migrates and rebuilds, and
// orders that come, move and go meanwhile.
type listProgram struct {
	t     *testing.T
	raw   *dynamodb.Client // sees what is stored
	calm  *listWorker
	shaky *listWorker

	mu      sync.Mutex // guards dice and log
	dice    *rand.Rand
	log     []string
	tally   map[string]int
	storing sync.Mutex // one write of an order at a time, so that the stream is exact
	acting  sync.Mutex // one act of others at a time

	stream  map[transitions.OrderID][]written // not yet handled
	handled []written
	writes  int
	applied map[string]int // transitions that were answered with Applied, by order, life and id
	seen    map[string]int // those in the stream
	off     bool           // the workers keep no lists
	// unlisted are orders of which a worker without lists has handled a change.
	unlisted map[transitions.OrderID]bool
	noted    time.Time // when they have last said so
}

// written is a record of the stream with its number.
type written struct {
	record
	n int
}

func (w written) id() transitions.OrderID {
	if w.new == nil {
		return transitions.OrderID(textOf(w.old, "orderId"))
	}

	return transitions.OrderID(textOf(w.new, "orderId"))
}

// listWorker is a process of each version.
type listWorker struct {
	p      *listProgram
	orders [2]*transitions.Orders // of the older version, and of the newer
	lists  [2]*lists.Lists

	mu sync.Mutex
	// left is how many requests are still carried out before the process ends. -1 is no end. lossy loses requests
	// and answers.
	left  int
	lossy bool
	end   context.CancelFunc
}

// TestListsAndMigrationsFollowTheOrders: orders of two versions are placed, moved, renewed, erased, deleted and
// placed again while their lists are kept, switched off, and rebuilt, and while they are migrated, by processes
// that end at any request. Lists that say that they are ready show each order as it is, but for changes that are
// still to be handled. A migration makes each of its moves once, and in the end nothing is left for another one.
func TestListsAndMigrationsFollowTheOrders(t *testing.T) {
	tally := map[string]int{}

	rare := func() (missing []string) {
		acts := slices.Concat(slices.Sorted(maps.Keys(listActs)), []string{"ended", "in between", "ready", "skipped", "migrated", "unmapped"})
		return slices.DeleteFunc(acts, func(act string) bool { return tally[act] > 0 })
	}

	// A seed does not say which goroutine comes first, so the programs need more seeds now and then to come to all.
	programs := *flagListPrograms
	for n := 0; (n < programs || programs >= 10 && n < 10*programs && len(rare()) > 0) && !t.Failed(); n++ {
		synctest.Test(t, func(t *testing.T) {
			seed := *flagListSeed + uint64(n)
			p := newListProgram(t, seed, tally)
			defer p.tell(seed)
			p.run()
		})
	}

	if missing := rare(); programs >= 10 && len(missing) > 0 && !t.Failed() {
		t.Errorf("no program came to %q", missing)
	}
	t.Logf("%d programs from seed %d: %v", *flagListPrograms, *flagListSeed, tally)
}

func newListProgram(t *testing.T, seed uint64, tally map[string]int) *listProgram {
	t.Helper()

	p := &listProgram{
		t: t, dice: rand.New(rand.NewPCG(seed, 6)), tally: tally, stream: map[transitions.OrderID][]written{},
		applied: map[string]int{}, seen: map[string]int{}, unlisted: map[transitions.OrderID]bool{},
	}
	engine := embeddedtest.Open(t)
	p.raw = dynamodb.NewFromConfig(engine.AWSConfig())
	embeddedtest.Create(t, p.raw, transitions.Mapping{}.OrdersTable(orderTable), lists.TableInput(listsTable))
	p.calm, p.shaky = p.worker(engine.AWSConfig()), p.worker(engine.AWSConfig())

	return p
}

func (p *listProgram) worker(cfg aws.Config) *listWorker {
	p.t.Helper()

	w := &listWorker{p: p, left: -1}
	cfg.Retryer = embeddedtest.RetryAtOnce
	embeddedtest.Intercept(&cfg).Around(w.carry)
	db := dynamodb.NewFromConfig(cfg)

	for i, d := range []*workflow.Definition{older, newer} {
		var faults [2]error
		w.orders[i], faults[0] = transitions.New(transitions.Config{DynamoDB: db, Table: orderTable, Definition: d, Versions: []int{1, 2}, Log: embeddedtest.Quiet()})

		w.lists[i], faults[1] = lists.New(lists.Config{DynamoDB: db, Table: listsTable, Orders: w.orders[i]})
		if err := errors.Join(faults[:]...); err != nil {
			p.t.Fatal(err)
		}
	}

	return w
}

// listActs are what a program does.
var listActs = map[string]func(*listProgram, *listWorker){
	"place":    (*listProgram).place,
	"apply":    (*listProgram).apply,
	"delete":   (*listProgram).remove,
	"renew":    (*listProgram).renew,
	"erase":    (*listProgram).erase,
	"handle":   (*listProgram).handle,
	"late":     (*listProgram).late,
	"switch":   (*listProgram).switchLists,
	"rebuild":  (*listProgram).rebuild,
	"migrate":  (*listProgram).migrate,
	"look":     (*listProgram).look,
	"time":     func(p *listProgram, _ *listWorker) { time.Sleep(time.Duration(p.roll(20_000)) * time.Millisecond) },
	"a little": func(p *listProgram, _ *listWorker) { time.Sleep(time.Duration(p.roll(3)) * time.Millisecond) },
}

// brief are acts that happen between two requests of another process.
var brief = []string{"place", "apply", "apply", "apply", "delete", "handle", "handle", "renew", "late"}

func (p *listProgram) run() {
	acts := slices.Concat(slices.Sorted(maps.Keys(listActs)), brief, []string{"place", "place", "handle", "handle", "handle"})
	for range listSteps {
		name := acts[p.roll(len(acts))]
		p.note("%s", name)
		p.count(name, 1)
		p.shaky.begin()
		listActs[name](p, p.shaky)
		p.shaky.disarm()

		if p.checkLists(); p.t.Failed() {
			return
		}
	}

	p.settle()
}

// settle lets everything that is under way end, without faults and others.
func (p *listProgram) settle() {
	p.note("settle")

	found, err := p.calm.orders[1].MigrateAll(p.t.Context(), toNewer, transitions.Sweep{}, transitions.Cause{})
	p.count("unmapped", found.Unmapped)

	if err != nil || found.Busy+found.Unreadable+found.Gone > 0 {
		p.t.Errorf("the last migration: %+v, %v", found, err)
	}

	again, err := p.calm.orders[1].MigrateAll(p.t.Context(), toNewer, transitions.Sweep{}, transitions.Cause{})
	if want := (transitions.MigratedOrders{Unmapped: found.Unmapped}); err != nil || !reflect.DeepEqual(again, want) {
		p.t.Errorf("another migration: %+v, %v; want %+v", again, err, want)
	}
	p.checkStream()

	for p.off = false; p.pending() > 0 && !p.t.Failed(); {
		p.handle(p.calm)
	}

	// A rebuild may begin before a worker without lists is known to have ended.
	time.Sleep(time.Hour)

	// A rebuild that goes on does not read again what was read before it was cut short. Meanwhile an order may have been
	// renewed, which is no transition: its head keeps the name of the former life until the order is read again or moves.
	for last := (lists.Rebuilt{Resumed: true}); last.Resumed && !p.t.Failed(); {
		if last, err = p.calm.lists[1].Rebuild(p.t.Context(), nil); err != nil {
			p.t.Errorf("the last rebuild: %v", err)
		}
	}

	if ready, err := p.calm.lists[0].Ready(p.t.Context()); err != nil || !ready {
		p.t.Errorf("the lists are ready: %t, %v", ready, err)
	}
	p.checkLists()

	corrected, err := p.calm.lists[0].Rebuild(p.t.Context(), nil)
	if corrected.Orders = 0; err != nil || !reflect.DeepEqual(corrected, lists.Rebuilt{}) {
		p.t.Errorf("another rebuild: %+v, %v", corrected, err)
	}

	for range 20 {
		p.late(p.calm)
	}
	p.note("settled")
	p.checkLists()
	p.checkPages()
}

// tell logs the last steps of a program that failed.
func (p *listProgram) tell(seed uint64) {
	if p.t.Failed() {
		p.t.Logf("seed %d:\n%s", seed, strings.Join(p.log[max(0, len(p.log)-*flagTail):], "\n"))
	}
}

func (p *listProgram) roll(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.dice.IntN(n)
}

func (p *listProgram) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, time.Now().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

func (p *listProgram) count(name string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally[name] += n
}

// begin draws what goes wrong in the next act.
func (w *listWorker) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.left, w.lossy = -1, w.p.roll(2) == 0
	if w.p.roll(3) == 0 {
		w.left = w.p.roll(80)
	}
}

func (w *listWorker) disarm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left, w.lossy, w.end = -1, false, nil
}

// context is that of the process, which may end.
func (w *listWorker) context() context.Context {
	ctx, end := context.WithCancel(w.p.t.Context())
	w.p.t.Cleanup(end)

	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = end

	return ctx
}

// carry carries a request. Others act before it, and it or its answer may be lost.
func (w *listWorker) carry(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
	p := w.p
	if w == p.shaky && p.roll(12) == 0 && p.acting.TryLock() {
		name := brief[p.roll(len(brief))]
		p.note("in between: %s", name)
		p.count("in between", 1)
		listActs[name](p, p.calm)
		p.acting.Unlock()
	}

	lost, answerLost := w.strike()
	if lost {
		return nil, embeddedtest.ErrLost
	}

	if c.Is(embeddedtest.Writes()...) && bytes.Contains(c.Body(), []byte(`"`+orderTable+`"`)) {
		p.storing.Lock()
		defer p.storing.Unlock()

		before := p.items(orderTable)
		defer func() { p.stored(before, p.items(orderTable)) }()
	}

	response, err := send()
	if err == nil && answerLost {
		_ = response.Body.Close()
		return nil, embeddedtest.ErrAnswerLost
	}

	return response, err
}

func (w *listWorker) strike() (lost, answerLost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()

	switch {
	case w.left == 0:
		if w.end != nil {
			w.p.count("ended", 1)
			w.end()
		}

		return true, false
	case w.left > 0:
		w.left--
	}

	if w.lossy && w.p.roll(15) == 0 {
		lost = w.p.roll(2) == 0
		return lost, !lost
	}

	return false, false
}

// items reads a whole table.
func (p *listProgram) items(table string) []item {
	out, err := p.raw.Scan(context.Background(), &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	if err != nil {
		p.t.Error(err)
		return nil
	}

	return out.Items
}

func textOf(i item, name string) string {
	s, _ := i[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}

	return s.Value
}

func numberOf(i item, name string) int {
	n, _ := i[name].(*types.AttributeValueMemberN)
	if n == nil {
		return 0
	}
	v, _ := strconv.Atoi(n.Value)

	return v
}

// stored adds what a write has changed to the stream.
func (p *listProgram) stored(before, after []item) {
	byID := func(all []item, id transitions.OrderID) item {
		i := slices.IndexFunc(all, func(i item) bool { return textOf(i, "orderId") == string(id) })
		if i < 0 {
			return nil
		}

		return all[i]
	}

	for _, id := range listedIDs {
		r := record{old: byID(before, id), new: byID(after, id), at: time.Now()}
		if reflect.DeepEqual(r.old, r.new) {
			continue
		}
		p.writes++
		p.stream[id] = append(p.stream[id], written{r, p.writes})
		p.note("write %d: %s at %s %d, now %s %d", p.writes, id, textOf(r.old, "orderState"), numberOf(r.old, "transitionId"), textOf(r.new, "orderState"), numberOf(r.new, "transitionId"))
		p.checkMove(r)
	}
}

// checkMove compares a transition with the definition of the version that has made it.
func (p *listProgram) checkMove(r record) {
	change, moved, err := transitions.Mapping{}.FromRecord(r.old, r.new)
	if err != nil || !moved {
		if err != nil {
			p.t.Error(err)
		}

		return
	}

	now := change.New
	p.seen[fmt.Sprint(now.ID, now.Incarnation, now.TransitionID)]++
	d := []*workflow.Definition{older, newer}[now.DefinitionVersion-1]
	from := workflow.State(textOf(r.old, "orderState"))

	want, known := d.Initial(), true
	switch {
	case change.Transition.Event == workflow.Migrate:
		p.count("migrated", 1)

		var err error
		want, err = toNewer.Map(numberOf(r.old, "definitionVersion"), now.DefinitionVersion, from)
		known = err == nil && numberOf(r.old, "definitionVersion") != now.DefinitionVersion
	case r.old != nil:
		want, known = d.Next(from, change.Transition.Event)
	}

	if !known || now.State != want || r.old != nil && int(now.TransitionID) != numberOf(r.old, "transitionId")+1 {
		p.t.Errorf("order %s of version %d moved from %s of version %d to %s by %s: want %s, %t",
			now.ID, now.DefinitionVersion, from, numberOf(r.old, "definitionVersion"), now.State, change.Transition.Event, want, known)
	}
}

// checkStream compares the transitions in the stream with those that were answered with Applied.
func (p *listProgram) checkStream() {
	for key, n := range p.seen {
		if n != 1 {
			p.t.Errorf("transition %s was made %d times", key, n)
		}
	}

	for key, n := range p.applied {
		if n != 1 || p.seen[key] != 1 {
			p.t.Errorf("transition %s was answered as applied %d times, and made %d times", key, n, p.seen[key])
		}
	}
}

func (p *listProgram) pending() (n int) {
	p.storing.Lock()
	defer p.storing.Unlock()

	for _, records := range p.stream {
		n += len(records)
	}

	return n
}
