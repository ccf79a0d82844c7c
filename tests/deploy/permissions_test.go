package deploy

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"ratchet/streams/retryqueue"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"ratchet/api/auth"
	"ratchet/internal/dynamo"
	"ratchet/notify/webhooks"
	"ratchet/operate/jobs"
	"ratchet/server"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/streams/deadletters"
	"ratchet/transitions"
	"ratchet/workflow"
)

var update = flag.Bool("update", false, "write deploy/permissions as recorded")

// root is where the templates are.
const root = "../../deploy"

// parts are the parts that have permissions, and so a file below deploy/permissions.
var parts = []string{"activities", "api", "doctor", "jobs", "notifications", "operator", "requests", "sandbox", "stream", "sweeps", "viewer"}

// sometimes begins the reason of a permission that the run needs or does not need, as calls meet.
const sometimes = "sometimes: "

// granted reads the file of a part: the permissions, and the rare permissions that the run below does not
// need, each with its reason.
func granted(t *testing.T, part string) (all []permission, rare map[permission]string) {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(root, "permissions", part+".txt"))
	if err != nil {
		t.Fatal(err)
	}

	rare = map[permission]string{}
	for line := range strings.Lines(string(text)) {
		content, reason, commented := strings.Cut(strings.TrimSpace(line), " # ")
		if content == "" || content[0] == '#' {
			continue
		}

		p := parsePermission(content)
		all = append(all, p)

		if commented {
			rare[p] = reason
		}
	}

	return all, rare
}

// TestPermissionsAreWhatIsCalled runs orders, requests to the HTTP API and every command of the
// program, records what each part calls, and compares it with deploy/permissions.
func TestPermissionsAreWhatIsCalled(t *testing.T) {
	r := newRecordedBackend(t, func(c *server.Config) { c.Parts.Handlers = breaks })
	r.live()

	t.Run("every command", everyCommand)

	for _, part := range parts {
		t.Run(part, func(t *testing.T) { r.compare(t, part) })
	}

	for part := range r.rec.needed {
		if !slices.Contains(append(parts, "carrier"), part) {
			t.Errorf("part %s has no file below deploy/permissions", part)
		}
	}
}

func (r *recordedBackend) compare(t *testing.T, part string) {
	recorded := r.rec.lines(part)
	if *update {
		r.write(t, part, recorded)
		return
	}

	all, rare := granted(t, part)
	may := all
	// Who operates has the policy of who looks, too; a policy has few characters to spare.
	if part == "operator" {
		seen, _ := granted(t, "viewer")
		may = append(slices.Clone(all), seen...)
	}

	for _, line := range recorded {
		p := parsePermission(line)
		if !slices.Contains(may, p) {
			t.Errorf("%s calls %s and may not: deploy/permissions/%s.txt", part, p, part)
		}

		if reason, listed := rare[p]; listed && !strings.HasPrefix(reason, sometimes) {
			t.Errorf("%s calls %s in this run: drop the reason %q", part, p, reason)
		}
	}

	for _, p := range all {
		if _, listed := rare[p]; !listed && !slices.Contains(recorded, p.String()) {
			t.Errorf("%s may call %s and never does", part, p)
		}
	}
}

// write writes a file as recorded. It keeps what has a reason.
func (r *recordedBackend) write(t *testing.T, part string, recorded []string) {
	name := filepath.Join(root, "permissions", part+".txt")
	lines := slices.Clone(recorded)

	if _, err := os.Stat(name); err == nil {
		_, rare := granted(t, part)
		for p, reason := range rare {
			if i := slices.Index(lines, p.String()); i < 0 {
				lines = append(lines, p.String()+" # "+reason)
			} else if strings.HasPrefix(reason, sometimes) {
				lines[i] += " # " + reason
			}
		}
	}
	slices.Sort(lines)

	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// live makes each part do its work.
func (r *recordedBackend) live() {
	t := r.t
	ctx := t.Context()

	order := func(id transitions.OrderID, price int64) transitions.NewOrder {
		return transitions.NewOrder{
			ID:    id,
			Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: price}},
			Total: transitions.Money{Amount: price, Currency: "EUR"},
		}
	}

	// An order that is older than the lists.
	if _, err := r.Orders.Create(ctx, order("o-old", 100)); err != nil {
		t.Fatal(err)
	}

	if err := r.Stock.Set(ctx, "mug", 1000); err != nil {
		t.Fatal(err)
	}

	fails := 0
	r.vars["SINK"] = listen(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		if fails++; fails < 3 {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	r.startWorkers()

	api := r.serveAPI()
	for i, id := range []string{"parked", "parked2", "parked3", "parked4", "parked5", "parked6", "delivered", "canceled"} {
		r.call(api, -i-1, `PUT /v1/orders/o-`+id+` {"items":[{"sku":"mug","quantity":1,"price":1250}],"total":{"amount":1250,"currency":"EUR"}}`)
	}

	for _, id := range []transitions.OrderID{"o-parked", "o-parked2", "o-parked3", "o-parked4", "o-parked5", "o-parked6", "o-delivered", "o-canceled"} {
		r.state(id, workflow.PaymentReceived)
	}
	r.requests()

	for _, id := range []transitions.OrderID{"o-ended", "o-ended-2", "o-ended-3"} {
		r.endedLongAgo(id)
	}

	for i, line := range script(t, "api.txt") {
		r.call(api, i, line)
	}

	r.commands()
	r.jobs()

	carrier := r.connect("carrier", nil)
	r.goRun("carrier", carrier.RunCarrier)
	r.state("o-delivered", workflow.Delivered)
	r.sweeps()
}

func (r *recordedBackend) state(id transitions.OrderID, want workflow.State) {
	r.t.Helper()
	r.until(fmt.Sprintf("%s is %s", id, want), func() bool {
		rows, err := r.Orders.History(r.t.Context(), id, 0, 0)
		if err != nil {
			r.t.Fatal(err)
		}

		return slices.ContainsFunc(rows, func(row transitions.Transition) bool { return row.To == want })
	})
}

// serveAPI serves the HTTP API to a caller with a key, and keeps its token.
func (r *recordedBackend) serveAPI() string {
	t := r.t

	_, token, err := r.APIKeys.Create(t.Context(), auth.NewKey{Name: "test", Tenant: "shop", Scope: auth.Admin})
	if err != nil {
		t.Fatal(err)
	}
	r.vars["TOKEN"] = string(token)
	r.vars["NOW"], r.vars["LATER"] = time.Now().UTC().Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	r.vars["ACTION_KEYS"] = "1:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

	b := r.connect("api", func(c *server.Config) {
		c.ActionKeys = server.Secret(r.vars["ACTION_KEYS"])
		c.CallbackSecret = server.Secret(webhooks.NewSecret().Reveal())
		c.CarrierSecret = server.Secret(webhooks.NewSecret().Reveal())
		c.API.WatchFor = time.Second
		c.API.Rate = -1
		c.API.Audit = "file:" + filepath.Join(t.TempDir(), "audit")
	})

	// The callers of the script are not authenticated, so that they have no tenant and see the
	// orders of the commands. Another one is.
	keyed := r.serve(b, false)
	r.call(keyed, -9, "GET /v1/orders/o-old")

	return r.serve(b, true)
}

func (r *recordedBackend) serve(b *server.Backend, dev bool) string {
	listener, err := (&net.ListenConfig{}).Listen(r.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.goRun("api", func(ctx context.Context) error { return b.ServeAPI(ctx, listener, dev) })

	return "http://" + listener.Addr().String()
}

// requests sends two requests to the queue: the first is applied, the second can never be applied. A queue
// keeps no order.
func (r *recordedBackend) requests() {
	for i, event := range []workflow.Event{workflow.Cancel, workflow.Ship} {
		_, err := r.Request(r.t.Context(), transitions.Request{OrderID: "o-canceled", Event: event, RequestID: transitions.RequestID(fmt.Sprint("q-", i))})
		if err != nil {
			r.t.Fatal(err)
		}
		r.state("o-canceled", workflow.Cancelled)
	}
}

// endedLongAgo makes an order whose customer can be erased, with a dead letter and a refused report.
func (r *recordedBackend) endedLongAgo(id transitions.OrderID) {
	t := r.t
	ctx := t.Context()

	order := transitions.NewOrder{ID: id, Total: transitions.Money{Amount: 100, Currency: "EUR"}, Customer: "c-1", Reference: "r-1"}
	if _, err := r.Orders.Create(ctx, order); err != nil {
		t.Fatal(err)
	}

	expire := transitions.Request{OrderID: id, Event: workflow.Expire, TransitionID: 2, Cause: transitions.Cause{Text: "never paid", Actor: "cli:ada"}}
	if _, err := r.Orders.Apply(ctx, expire); err != nil {
		t.Fatal(err)
	}
	r.state(id, workflow.Expired)
	r.until("a delivery", func() bool {
		all, err := r.Deliveries.OfOrder(ctx, string(id))
		return err == nil && len(all) > 0
	})

	ended, _, err := r.Orders.Get(ctx, id)
	if err != nil {
		t.Fatal(err)
	}

	report := shipping.Report{ID: "r-" + string(id), Shipment: ended.EffectKey(2, shipping.Effect), OrderID: string(id), Milestone: shipping.Delivered, Parcel: "none"}
	if effect, err := r.Reports.Receive(ctx, report); err != nil || effect != reports.Refused {
		t.Fatalf("the report is %q, %v", effect, err)
	}

	_, err = r.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &r.Tables.Orders,
		Key:                       map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: string(id)}},
		UpdateExpression:          aws.String("SET updatedAt = :at"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":at": &types.AttributeValueMemberN{Value: "1700000000000"}},
	})
	if err != nil {
		t.Fatal(err)
	}

	eraser, err := r.Eraser()
	if err != nil {
		t.Fatal(err)
	}

	r.until("the handlers have handled it", func() bool {
		ended, found, err := r.Orders.Get(ctx, id)
		return err == nil && found && eraser.Check(ctx, ended) == nil
	})
}

// commands runs the commands of the operators.
func (r *recordedBackend) commands() {
	t := r.t

	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.program = program

	key, _, err := r.APIKeys.Create(t.Context(), auth.NewKey{Name: "spare", Tenant: "shop", Scope: auth.Read})
	if err != nil {
		t.Fatal(err)
	}
	r.vars["KEY"] = key.ID
	r.vars["JOB"] = r.pausedJob(jobs.New{Kind: jobs.RedriveDeadLetters, Filter: jobs.Filter{Handler: "breaks"}, DryRun: true})
	r.vars["PAUSED"] = r.pausedJob(jobs.New{Kind: jobs.EraseOrders, IDs: []string{"o-none"}})

	placed, _, err := r.Orders.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}
	r.vars["LIFE"] = string(placed.Incarnation)

	later, err := r.Scheduled.Place(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Cancel, RequestID: "later"}, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	r.vars["SCHEDULED"] = string(later.Request.ID)
	r.vars["REPORT"] = r.file("key,kind,amount,currency,state\n")
	r.vars["REQUESTS"] = r.file(`{"orderId":"o-replayed","event":"place","items":[{"sku":"mug","quantity":1,"price":100}],"total":{"amount":100,"currency":"EUR"}}`)

	endpoints := map[string]string{"read": r.rec.endpoint("viewer"), "write": r.rec.endpoint("operator")}

	// Commands that look do not disturb each other.
	var looks errgroup.Group
	looks.SetLimit(4)

	for _, line := range script(t, "cli.txt") {
		kind, command, _ := strings.Cut(line, " ")

		if r.vars["OTHER"] == "" && strings.HasPrefix(command, "deadletters ") {
			r.letters()
		}
		args := strings.Fields(r.expand(command))

		switch kind {
		case "read":
			looks.Go(func() error {
				r.run(endpoints[kind], args...)
				return nil
			})
		case "write":
			_ = looks.Wait()
			r.run(endpoints[kind], args...)
		case "until":
			_ = looks.Wait()

			last := ""
			r.until(command, func() bool {
				out, code := r.run(endpoints["write"], args...)
				if out != last {
					t.Logf("ratchet %s: exit status %d\n%s", command, code, out)
				}
				last = out

				return code == 0
			})
		}
	}
}

// letters gives dead letters of the handler that breaks to notify, which the program knows.
func (r *recordedBackend) letters() {
	t := r.t
	letters := deadletters.Letters{DynamoDB: r.DynamoDB, Table: r.Tables.DeadLetters}

	// Else their copies would be redriven, too.
	r.until("the redrives of the API have ended", func() bool {
		waiting, err := retryqueue.Items(t.Context(), letters, r.Tables.Orders, "breaks")
		return err == nil && len(waiting) == 0
	})

	scan, err := r.DynamoDB.Scan(t.Context(), &dynamodb.ScanInput{TableName: &r.Tables.DeadLetters})
	if err != nil {
		t.Fatal(err)
	}

	for _, item := range scan.Items {
		for name, value := range item {
			if text, ok := value.(*types.AttributeValueMemberS); ok {
				item[name] = &types.AttributeValueMemberS{Value: strings.ReplaceAll(text.Value, "breaks", "notify")}
			}
		}

		if _, err := r.DynamoDB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &r.Tables.DeadLetters, Item: item}); err != nil {
			t.Fatal(err)
		}
	}

	found, _, err := letters.List(t.Context(), "notify", "", 2)
	if err != nil || len(found) != 2 {
		t.Fatalf("dead letters %+v, %v", found, err)
	}
	r.vars["LETTER"], r.vars["OTHER"] = found[0].ID, found[1].ID
}

func (r *recordedBackend) file(text string) string {
	name := filepath.Join(r.t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}

	return name
}

// pausedJob creates a job that no worker runs.
func (r *recordedBackend) pausedJob(n jobs.New) string {
	n.By, n.Reason = "cli:test", "test"

	j, err := r.Jobs.Create(r.t.Context(), n)
	if err != nil {
		r.t.Fatal(err)
	}

	if _, err := r.Jobs.Pause(r.t.Context(), "", j.ID); err != nil {
		r.t.Fatal(err)
	}

	return j.ID
}

// jobs lets a worker run a job of each kind.
func (r *recordedBackend) jobs() {
	t := r.t
	ctx := t.Context()

	runner, err := r.connect("jobs", nil).JobRunner("jobs")
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-400 * 24 * time.Hour)

	letter := func() string {
		page, _, err := r.DeadLetters().List(ctx, "breaks", "", 1)
		if err != nil || len(page) == 0 {
			t.Fatalf("no dead letter: %v", err)
		}

		return page[0].ID
	}

	for _, n := range []jobs.New{
		{Kind: jobs.RedriveExecutions},
		{Kind: jobs.RedriveExecutions, IDs: []string{"o-parked6"}},
		{Kind: jobs.RedriveDeadLetters, Filter: jobs.Filter{Handler: "breaks"}},
		{Kind: jobs.RedriveDeadLetters, Filter: jobs.Filter{Handler: "breaks"}, IDs: []string{letter()}},
		{Kind: jobs.DiscardDeadLetters, Filter: jobs.Filter{Handler: "breaks"}, IDs: []string{letter()}},
		{Kind: jobs.ResendDeliveries, Filter: jobs.Filter{Endpoint: "hooks"}},
		{Kind: jobs.EraseOrders, Filter: jobs.Filter{EndedBefore: long}},
		{Kind: jobs.EraseOrders, IDs: []string{"o-ended-3"}},
	} {
		n.By, n.Reason, n.Rate = "cli:test", "test", 1000

		var j jobs.Job
		r.until("no job of the kind is open", func() (created bool) {
			var err error
			j, err = r.Jobs.Create(ctx, n)

			return err == nil
		})

		// The worker may have taken it before.
		if j, err = runner.RunOne(ctx, "", j.ID); err != nil || j.State != jobs.Done {
			t.Errorf("job %+v, %v", j, err)
		}
	}
}

// sweeps gives the sweeps something to find, and makes the calls that a worker makes every 15 s, and the
// calls that count the stuck orders.
func (r *recordedBackend) sweeps() {
	t := r.t
	ctx := t.Context()
	b := r.connect("sweeps", func(c *server.Config) { c.Carrier = "http://127.0.0.1:1" })

	if _, _, err := b.Ledger.ReleaseExpired(ctx, 100); err != nil {
		t.Error(err)
	}

	if _, err := b.Payments.Recover(ctx, "", 100); err != nil {
		t.Error(err)
	}

	r.overdue("o-overdue")

	if swept, err := b.Timers.Sweep(ctx, 100); err != nil || swept.Rows == 0 {
		t.Errorf("%+v, %v", swept, err)
	}

	if err := b.Reports.Sweep(ctx); err != nil {
		t.Error(err)
	}

	if _, err := b.Processes.ClaimSurvey(ctx, time.Now(), time.Hour); err != nil {
		t.Error(err)
	}

	if _, err := b.CountStuck(ctx, true); err != nil {
		t.Error(err)
	}
}

// overdue places an order that was to expire long ago. Its moves have left the ring, so that evidence of them
// is looked up.
func (r *recordedBackend) overdue(id transitions.OrderID) {
	t := r.t

	if _, err := r.Orders.Create(t.Context(), transitions.NewOrder{ID: id, Total: transitions.Money{Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}

	for n, event := range []workflow.Event{workflow.Hold, workflow.Release, workflow.Hold, workflow.Release, workflow.Hold, workflow.Release, workflow.Hold, workflow.Release} {
		if _, err := r.Orders.Apply(t.Context(), transitions.Request{OrderID: id, Event: event, TransitionID: transitions.TransitionID(n + 2)}); err != nil {
			t.Fatal(err)
		}
	}

	update := dynamo.NewUpdate(r.Tables.Orders, r.Orders.Mapping().ItemKey(id)).SetValue("enteredAt", dynamo.Millis(time.Now().Add(-2*time.Hour)))
	in := update.Input()
	in.ReturnValues = types.ReturnValueAllNew

	out, err := r.DynamoDB.UpdateItem(t.Context(), in)
	if err == nil {
		err = r.Timers.Record(t.Context(), nil, out.Attributes)
	}

	if err != nil {
		t.Fatal(err)
	}
}
