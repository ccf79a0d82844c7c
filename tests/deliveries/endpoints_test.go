package deliveries

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/notify/webhooks"
	"ratchet/transitions"
)

var (
	flagPrograms = flag.Int("endpoint-programs", 4, "programs of TestWhatIsSentIsWhatTheEndpointIs")
	flagFirst    = flag.Uint64("endpoint-seed", 1, "seed of the first of them")
)

const (
	programSteps = 60
	// lateness is how old the endpoint may be to which an attempt goes.
	lateness = 10 * time.Second
)

// was is what an endpoint was for a time.
type was struct {
	from, to    time.Time // to is zero for what it is now
	destination string    // "" if it was not there
	active      bool
	secret      string
}

// arrival is an attempt that began.
type arrival struct {
	endpoint, destination, secret, key string
	at                                 time.Time
}

// endpointProgram is one run of the model: two workers with caches of their own, and a person who changes the
// endpoints.
type endpointProgram struct {
	t       *testing.T
	dice    *rand.Rand
	db      *dynamodb.Client
	admin   *notify.Endpoints
	workers []*notify.Deliveries
	names   int
	notices int

	mu       sync.Mutex
	history  map[string][]was
	arrivals []arrival
	log      []string
}

// TestWhatIsSentIsWhatTheEndpointIs: endpoints are created, removed, changed, rotated, disabled and enabled at any
// moment, under the same few ids. Each attempt goes to what the endpoint is, or was at most ten seconds before,
// and each delivery ends.
func TestWhatIsSentIsWhatTheEndpointIs(t *testing.T) {
	attempts := 0

	for seed := *flagFirst; seed < *flagFirst+uint64(*flagPrograms); seed++ {
		synctest.Test(t, func(t *testing.T) {
			p := newEndpointProgram(t, seed)
			p.run()
			attempts += len(p.arrivals)

			if t.Failed() {
				t.Logf("seed %d:\n%s", seed, strings.Join(p.log, "\n"))
			}
		})

		if t.Failed() {
			return
		}
	}

	t.Logf("%d programs from seed %d, %d attempts", *flagPrograms, *flagFirst, attempts)
}

func newEndpointProgram(t *testing.T, seed uint64) *endpointProgram {
	t.Helper()

	cfg := embeddedtest.Open(t).AWSConfig()
	p := &endpointProgram{t: t, dice: rand.New(rand.NewPCG(seed, 27)), db: dynamodb.NewFromConfig(cfg), history: map[string][]was{}}
	embeddedtest.Create(t, p.db, notify.DeliveryTableInput("deliveries"), notify.EndpointTableInput("endpoints"))
	p.admin = p.endpoints()

	for _, look := range []time.Duration{0, time.Hour} {
		d, err := notify.New(notify.Config{
			LookEvery: look, // or when a delivery is due
			DynamoDB:  p.db,
			Table:     "deliveries",
			Endpoints: p.endpoints(),
			Schedule:  notify.Schedule{5 * time.Second, 20 * time.Second, time.Minute},
			Open:      func(e notify.Endpoint) (notify.Destination, error) { return &endpointSide{p, e}, nil },
			Log:       embeddedtest.Quiet(),
		})
		if err != nil {
			t.Fatal(err)
		}

		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()

		t.Cleanup(func() {
			stop()

			if err := <-ended; err != nil {
				t.Error(err)
			}
		})

		p.workers = append(p.workers, d)
	}
	synctest.Wait()

	return p
}

func (p *endpointProgram) endpoints() *notify.Endpoints {
	p.t.Helper()

	e, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: p.db, Table: "endpoints"})
	if err != nil {
		p.t.Fatal(err)
	}

	return e
}

func (p *endpointProgram) run() {
	for range programSteps {
		p.step()
		time.Sleep(time.Duration(p.dice.IntN(4000)) * time.Millisecond)
	}

	// Former endpoints are looked at less and less often, an hour apart at most.
	time.Sleep(2 * time.Hour)
	synctest.Wait()
	p.checkArrivals()
	p.checkEnds()
}

// step does something to an endpoint, or sends a notification.
func (p *endpointProgram) step() {
	id := []string{"a", "a", "b"}[p.dice.IntN(3)]
	ctx := p.t.Context()

	now := p.now(id)
	if p.dice.IntN(3) > 0 {
		p.notify()
		return
	}

	next, act, err := now, "", error(nil)
	switch how := p.dice.IntN(7); {
	case now.destination == "":
		p.create(id)
		return
	case how < 2:
		next, act = was{}, "remove"
		err = p.admin.Remove(ctx, id)
	case how < 4:
		p.names++
		next.destination, act = fmt.Sprint(id, p.names), "change"
		_, err = p.admin.Change(ctx, id, func(s *notify.Settings) error { s.Destination = next.destination; return nil })
	case how == 4:
		key := webhooks.NewSecret()
		next.secret, act = string(key), "rotate"
		_, err = p.admin.RotateSecret(ctx, id, key, time.Duration(p.dice.IntN(2))*time.Minute)
	case how == 5:
		next.active, act = false, "disable"
		_, err = p.admin.Disable(ctx, id, "")
	default:
		next.active, act = true, "enable"
		_, err = p.admin.Enable(ctx, id)
	}

	if err != nil {
		p.t.Fatal(act, id, err)
	}
	p.become(id, act, next)

	// Another one under the same id, before any worker looks.
	if act == "remove" && p.dice.IntN(3) > 0 {
		p.create(id)
	}
}

func (p *endpointProgram) create(id string) {
	p.names++
	key := webhooks.NewSecret()
	next := was{destination: fmt.Sprint(id, p.names), active: true, secret: string(key)}
	settings := notify.Settings{Destination: next.destination, Ordered: p.dice.IntN(2) == 0, Concurrency: 1 + p.dice.IntN(3)}

	if _, err := p.admin.Create(p.t.Context(), id, settings, key); err != nil {
		p.t.Fatal(err)
	}
	p.become(id, "create", next)
}

func (p *endpointProgram) now(id string) was {
	p.mu.Lock()
	defer p.mu.Unlock()

	if h := p.history[id]; len(h) > 0 {
		return h[len(h)-1]
	}

	return was{}
}

func (p *endpointProgram) become(id, act string, next was) {
	p.mu.Lock()
	defer p.mu.Unlock()

	next.from, next.to = time.Now(), time.Time{}
	if h := p.history[id]; len(h) > 0 {
		h[len(h)-1].to = next.from
	}
	p.history[id] = append(p.history[id], next)
	p.log = append(p.log, fmt.Sprintf("%s %s %s: %s, active %t", next.from.Format("04:05.000"), act, id, next.destination, next.active))
}

func (p *endpointProgram) notify() {
	p.notices++
	n := notify.Notification{
		Key:          fmt.Sprintf("o-%d/0/%d/notify", p.dice.IntN(3), p.notices),
		OrderID:      "o",
		Incarnation:  "0",
		TransitionID: transitions.TransitionID(p.notices),
		State:        "SHIPPED",
		At:           time.Now().UTC(),
	}
	n.OrderID = transitions.OrderID(n.Key[:3])

	if err := p.workers[p.dice.IntN(2)].Accept(p.t.Context(), n); err != nil {
		p.t.Fatal(err)
	}
}

// endpointSide is the far side of an endpoint as it was opened.
type endpointSide struct {
	p *endpointProgram
	e notify.Endpoint
}

var errFarSide = errors.New("the far side is down")

func (s *endpointSide) Send(ctx context.Context, m notify.Message) (notify.Answer, error) {
	s.p.mu.Lock()
	s.p.arrivals = append(s.p.arrivals, arrival{s.e.ID, s.e.Destination, string(s.e.Secrets[0].Key), m.Key, time.Now()})
	s.p.log = append(s.p.log, fmt.Sprintf("%s %s arrives at %s %s", time.Now().Format("04:05.000"), m.Key, s.e.ID, s.e.Destination))
	takes, fails := time.Duration(s.p.dice.IntN(10))*time.Second, s.p.dice.IntN(3) == 0
	s.p.mu.Unlock()

	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return notify.Answer{}, ctx.Err()
	}

	if fails {
		return notify.Answer{Status: 503}, errFarSide
	}

	return notify.Answer{Status: 204}, nil
}

// checkArrivals compares each attempt with what its endpoint was in the ten seconds before.
func (p *endpointProgram) checkArrivals() {
	for _, a := range p.arrivals {
		fits := func(w was) bool {
			return w.active && w.destination == a.destination && w.secret == a.secret && !w.from.After(a.at) && (w.to.IsZero() || a.at.Sub(w.to) <= lateness)
		}
		if !slices.ContainsFunc(p.history[a.endpoint], fits) {
			p.t.Errorf("%s: %s went to %s of %s, which it was not", a.at.Format("04:05.000"), a.key, a.destination, a.endpoint)
		}
	}
}

// checkEnds expects that no delivery is under way, and that an endpoint that was there all the time has one of
// each notification.
func (p *endpointProgram) checkEnds() {
	err := p.workers[0].Scan(p.t.Context(), func(d notify.Delivery) bool {
		if d.Status == notify.Pending {
			p.t.Errorf("%s is PENDING: %+v", d.ID(), d)
		}

		return true
	})
	if err != nil {
		p.t.Error(err)
	}
}
