package fleet

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/cmd/cli"
	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/notify"
	"ratchet/operate/executions"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/server/scenario"
	"ratchet/shipping"
	"ratchet/tests/program"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

var (
	flagFleet  = flag.Bool("fleet", false, "run the fleet (make fleet)")
	flagRounds = flag.Int("rounds", 1, "how often the faults of a round strike")
	flagOrders = flag.Int("orders", 24, "orders of a round")
)

func TestMain(m *testing.M) {
	program.Main(m, map[string]func(){
		"node": enterNode, "ratchet": func() { cli.Main(server.Parts{}) },
		"engine": serveAs(engine), "carrier": serveAs(carrier), "receiver": serveAs(receiver),
	})
}

// The nodes, by their numbers in addresses.
const (
	engineNode   = 1
	apiNode      = 2
	carrierNode  = 3
	receiverNode = 4
	firstWorker  = 5
	workers      = 3
)

var nodes = map[int]string{engineNode: "engine", apiNode: "api", carrierNode: "carrier", receiverNode: "receiver", 5: "worker-5", 6: "worker-6", 7: "worker-7"}

// suspended is longer than every lease of a worker and the heartbeat of a task.
const suspended = 12 * time.Second

// fleet are the processes.
type fleet struct {
	t         *testing.T
	dir       string
	bins      map[string]string
	processes map[int]*program.Process
	links     *forwarder
}

// start starts a node's process in a namespace of its own.
func (f *fleet) start(node int, name string, args ...string) {
	f.t.Helper()

	args = append([]string{strconv.Itoa(node), f.bins[name]}, args...)
	f.processes[node] = program.Process{
		Bin: f.bins["node"], Args: args, Dir: f.dir, Name: nodes[node],
		Env: settings,
	}.Start(f.t)
}

func (f *fleet) startAll() {
	f.start(engineNode, "engine", nodeAddress(engineNode), filepath.Join(f.dir, "engine"))
	f.processes[engineNode].FirstLine(f.t)
	f.start(carrierNode, "carrier", nodeAddress(carrierNode), filepath.Join(f.dir, "carrier"), "http://"+hubAddress(apiNode)+"/v1/callbacks/carrier")
	f.start(receiverNode, "receiver", nodeAddress(receiverNode), filepath.Join(f.dir, "received"))
}

// settings are those of the API server and the workers.
var settings = []string{
	"RATCHET_ENDPOINT_URL=http://" + hubAddress(engineNode),
	"RATCHET_CARRIER=http://" + hubAddress(carrierNode), "RATCHET_CARRIER_SECRET=" + carrierSecret,
	"RATCHET_NOTIFY=http://" + hubAddress(receiverNode), "RATCHET_WEBHOOK_SECRET=" + carrierSecret,
	"RATCHET_WEBHOOK_REACH=private", "RATCHET_LISTEN_REMOTE=true", "RATCHET_EFFECT_LEASE=3s",
}

// TestAFleetThroughPartitions: processes with addresses of their own are cut off, delayed, suspended and killed
// while orders run. In the end every order has ended or is listed with its next step, and there is at most one
// parcel, one charge and one notification under a key.
func TestAFleetThroughPartitions(t *testing.T) {
	if !*flagFleet {
		t.Skip("the fleet runs by `make fleet`")
	}

	if !enterHub(t) {
		return
	}

	f := &fleet{t: t, dir: t.TempDir(), bins: map[string]string{}, processes: map[int]*program.Process{}}
	for _, name := range []string{"node", "ratchet", "engine", "carrier", "receiver"} {
		f.bins[name] = program.Self(t, name)
	}

	if err := os.Mkdir(filepath.Join(f.dir, "received"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.links = newForwarder(t)
	f.startAll()

	b, err := server.Connect(t.Context(), server.Config{EndpointURL: "http://" + nodeAddress(engineNode), Notify: "none"}, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	if err := errors.Join(b.Init(t.Context()), b.Stock.Set(t.Context(), "mug", 1_000_000)); err != nil {
		t.Fatal(err)
	}
	f.start(apiNode, "ratchet", "serve", "--dev", "--api-listen", nodeAddress(apiNode))

	for i := range workers {
		f.start(firstWorker+i, "ratchet", "worker", "--name", nodes[firstWorker+i])
	}

	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()

	var ids []transitions.OrderID
	for round := range *flagRounds {
		began := f.begin(ctx, b, round)
		ids = append(ids, began...)
		f.untilUp(ctx, b)
		f.strike(ctx)
	}

	f.recount(ctx, b, ids)
}

// begin starts the executions of a round.
func (f *fleet) begin(ctx context.Context, b *server.Backend, round int) (ids []transitions.OrderID) {
	f.t.Helper()

	machine, err := b.StateMachineARN(ctx)
	if err != nil {
		f.t.Fatal(err)
	}

	for i := range *flagOrders {
		order := shop.Mugs(transitions.OrderID(fmt.Sprintf("o-%d-%d", round, i)), 1)
		if _, err := b.Start(ctx, machine, order); err != nil {
			f.t.Fatal(err)
		}
		ids = append(ids, order.ID)
	}

	return ids
}

// untilUp waits until the API server and the workers give signs of life.
func (f *fleet) untilUp(ctx context.Context, b *server.Backend) {
	f.t.Helper()

	for {
		all, err := b.Processes.Check(ctx)
		if err != nil {
			f.t.Fatal(err)
		}

		if len(all) > workers {
			return
		}

		if wait(ctx, 50*time.Millisecond); ctx.Err() != nil {
			f.t.Fatalf("only %d processes are up", len(all))
		}
	}
}

// strike makes the faults of a round at once: one worker is suspended, one killed, and one is slow and cannot
// be answered by the engine; carrier and receiver are cut off, and the carrier is killed.
func (f *fleet) strike(ctx context.Context) {
	f.t.Helper()

	order := rand.Perm(workers)
	paused, killed, slow := firstWorker+order[0], firstWorker+order[1], firstWorker+order[2]

	if err := f.processes[paused].Signal(syscall.SIGSTOP); err != nil {
		f.t.Fatal(err)
	}
	f.links.slow(slow, engineNode, 50*time.Millisecond)

	mends := []func(){f.links.cut(engineNode, slow)}
	for i := range workers {
		mends = append(mends, f.links.cut(firstWorker+i, carrierNode), f.links.cut(receiverNode, firstWorker+i))
	}
	f.processes[killed] = f.processes[killed].Restart(f.t)
	f.processes[carrierNode] = f.processes[carrierNode].Restart(f.t)

	wait(ctx, suspended/3)
	mends[0]()
	f.processes[engineNode] = f.processes[engineNode].Restart(f.t)
	wait(ctx, suspended/3)

	for _, mend := range mends[1:] {
		mend()
	}
	wait(ctx, suspended/3)
	f.links.slow(slow, engineNode, 0)

	if err := f.processes[paused].Signal(syscall.SIGCONT); err != nil {
		f.t.Fatal(err)
	}
}

func wait(ctx context.Context, long time.Duration) {
	select {
	case <-time.After(long):
	case <-ctx.Done():
	}
}

// recount waits until no execution runs and nothing is under way, and counts what the far sides have.
func (f *fleet) recount(ctx context.Context, b *server.Backend, ids []transitions.OrderID) {
	t := f.t
	t.Helper()

	if err := scenario.Wait(ctx, b); err != nil {
		t.Errorf("executions run: %v", err)
	}

	listed := map[transitions.OrderID]executions.Problem{}

	err := b.Executions.Survey(ctx, time.Now(), executions.Filter{}, func(p executions.Problem) error {
		listed[p.OrderID] = p
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	lives, delivered, charged := map[string]transitions.OrderID{}, 0, f.charges(b)

	for _, id := range ids {
		order, found, err := b.Orders.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}

		p, isListed := listed[id]
		if isListed && len(p.Commands) == 0 || !isListed && (!found || order.State != workflow.Delivered && !b.Orders.Definition().Terminal(order.State)) {
			t.Errorf("order %s has not ended and has no next step: %+v, %+v", id, order, p)
		}

		if !found {
			continue
		}
		lives[order.LifeID()] = id

		if order.State == workflow.Delivered {
			delivered++
			f.untilNotified(ctx, b, id)
		}

		if n := charged[payments.IDForOrder(order.LifeID())]; n > 1 || order.State == workflow.Delivered && n != 1 {
			t.Errorf("order %s, %s, was charged %d times", id, order.State, n)
		}
	}
	t.Logf("%d of %d orders were delivered, %d are listed", delivered, len(ids), len(listed))

	if delivered < len(ids)/2 {
		t.Errorf("only %d of %d orders were delivered", delivered, len(ids))
	}

	for life, n := range f.parcels() {
		if _, own := lives[life]; !own || n != 1 {
			t.Errorf("life %s has %d parcels", life, n)
		}
	}

	if text, err := os.ReadFile(filepath.Join(f.dir, "received", conflicts)); err == nil {
		t.Errorf("notifications with other content under their keys: %s", text)
	}
}

// charges returns how often the bank has charged under each payment.
func (f *fleet) charges(b *server.Backend) map[string]int {
	f.t.Helper()
	times := map[string]int{}

	err := b.Bank.Report(f.t.Context(), func(key, kind string, _ int64, _ string) error {
		payment, _, _ := strings.Cut(key, "/")
		if kind != string(payments.Refunding) {
			times[payment]++
		}

		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}

	return times
}

// untilNotified waits until every notification of the order is delivered, and checks that the receiver has
// them.
func (f *fleet) untilNotified(ctx context.Context, b *server.Backend, id transitions.OrderID) {
	f.t.Helper()

	for {
		all, err := b.Deliveries.OfOrder(ctx, string(id))
		if err != nil {
			f.t.Error(err)
			return
		}

		if len(all) >= 3 && !slices.ContainsFunc(all, func(d notify.Delivery) bool { return d.Status != notify.Delivered }) {
			return
		}
		wait(ctx, 50*time.Millisecond)
	}
}

// parcels returns how many shipments the carrier has for each life of an order that were not canceled. It
// ends the carrier, whose data is then read.
func (f *fleet) parcels() map[string]int {
	t := f.t
	t.Helper()
	f.processes[carrierNode].Kill(t)

	e, err := embedded.Open(embedded.Config{Dir: filepath.Join(f.dir, "carrier")})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()

	count := map[string]int{}
	pages := dynamodb.NewScanPaginator(dynamodb.NewFromConfig(e.AWSConfig()), &dynamodb.ScanInput{TableName: aws.String(shipmentsTable)})

	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		for _, item := range page.Items {
			key, is := strings.CutPrefix(dynamo.Text(item, "pk"), "shipment#")
			if is && dynamo.Text(item, "orderId") != "" && dynamo.Text(item, "status") != "CANCELED" {
				// orderId/incarnation/transitionId/shipping
				parts := strings.Split(shipping.Unnumbered(key), "/")
				count[parts[0]+"."+parts[1]]++
			}
		}
	}

	return count
}
