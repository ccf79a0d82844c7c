package server_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/api/auth"
	"ratchet/console"
	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/operate/jobs"
	"ratchet/server"
	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/streams/poller"
	"ratchet/streams/reactions"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/file"
)

// night is a server with what an operator finds at three in the morning.
type night struct {
	t *testing.T
	b *server.Backend
	*browser
}

// place places an order and moves it by events.
func (n *night) place(id transitions.OrderID, events ...workflow.Event) *transitions.Order {
	n.t.Helper()

	placed, err := n.b.Orders.Create(n.t.Context(), shop.Mugs(id, 1))
	if err != nil {
		n.t.Fatal(err)
	}
	order := placed.Order

	for i, event := range events {
		r, err := n.b.Orders.Apply(n.t.Context(), transitions.Request{OrderID: id, Event: event, TransitionID: transitions.TransitionID(i + 2)})
		if err != nil || !r.Verdict.Done() {
			n.t.Fatal(r.Verdict, err)
		}
		order = r.Order
	}

	return order
}

// deadLetters lets a handler give up on forty orders, all for one cause.
func (n *night) deadLetters() {
	n.t.Helper()

	for i := range 40 {
		n.place(transitions.OrderID(fmt.Sprintf("d-%02d", i)), workflow.Cancel)
	}
	given := make(chan struct{}, 100)

	p, err := poller.New(poller.Config{
		Streams: n.b.Streams, DynamoDB: n.b.DynamoDB, TableName: n.b.Tables.Orders, LeaseTable: n.b.Tables.Leases, DeadLetterTable: n.b.Tables.DeadLetters,
		Owner: "test", Log: embeddedtest.Quiet(),
		Handlers: []streams.Handler{{Name: reactions.NotifyHandler, Handle: func(_ context.Context, r streams.Record) error {
			if r.EventName != streams.Modify {
				return nil
			}
			given <- struct{}{}

			return streams.Permanent(errors.New("the far side answers 503"))
		}}},
	})
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(n.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()

	for range 40 {
		<-given
	}
	stop()

	if err := <-ended; err != nil {
		n.t.Fatal(err)
	}
}

// endpointDown makes an endpoint that was disabled, and has missed what happened since.
func (n *night) endpointDown() {
	n.t.Helper()

	_, err := n.b.Endpoints.Create(n.t.Context(), "shop", notify.Settings{Destination: "log"}, nil)
	if err == nil {
		_, err = n.b.Endpoints.Disable(n.t.Context(), "shop", "connection refused")
	}

	for i := range 3 {
		id := transitions.OrderID(fmt.Sprintf("d-%02d", i))
		err = errors.Join(err, n.b.Deliveries.Accept(n.t.Context(), notify.Notification{Key: string(id) + "/0/2/notify", OrderID: id, Incarnation: "0", TransitionID: 2, State: workflow.Cancelled, At: time.Now()}))
	}

	if err != nil {
		n.t.Fatal(err)
	}
}

// lostParcels lets the carrier report three of them.
func (n *night) lostParcels() {
	n.t.Helper()

	for i := range 3 {
		id := transitions.OrderID(fmt.Sprintf("l-%d", i))
		order := n.place(id, workflow.Pay, workflow.Ship)

		report := shipping.Report{ID: "carrier/" + string(id), Shipment: order.EffectKey(2, shipping.Effect), OrderID: string(id), Milestone: shipping.Lost}
		if answer, err := n.b.ApplyCarrierReport(n.t.Context(), report); err != nil || answer != shipping.Accepted {
			n.t.Fatal(answer, err)
		}
	}
}

// stuck lets an execution fail before its order exists.
func (n *night) stuck() {
	n.t.Helper()

	machine, err := n.b.StateMachineARN(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}

	execution, err := n.b.Start(n.t.Context(), machine, shop.Mugs("s-1", 1))
	if err == nil {
		_, err = n.b.SFN.StopExecution(n.t.Context(), &sfn.StopExecutionInput{ExecutionArn: &execution, Error: aws.String("Order.Unavailable")})
	}

	if err != nil {
		n.t.Fatal(err)
	}
}

// wrongDefinition places orders as a worker with another definition does.
func (n *night) wrongDefinition() *workflow.Definition {
	n.t.Helper()

	var cfg transitions.Config

	shop.Version(n.t, 9)(&cfg)
	cfg.DynamoDB, cfg.Table = n.b.DynamoDB, n.b.Tables.Orders

	wrong, err := transitions.New(cfg)
	if err != nil {
		n.t.Fatal(err)
	}

	for _, id := range []transitions.OrderID{"w-1", "w-2"} {
		if _, err := wrong.Create(n.t.Context(), shop.Mugs(id, 1)); err != nil {
			n.t.Fatal(err)
		}

		// Some minutes ago, when the deployment of a version would be over.
		if _, err := n.b.DynamoDB.UpdateItem(n.t.Context(), &dynamodb.UpdateItemInput{
			TableName: &n.b.Tables.Orders, Key: n.b.Orders.Mapping().ItemKey(id), UpdateExpression: aws.String("SET updatedAt = :at"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":at": &types.AttributeValueMemberN{Value: fmt.Sprint(time.Now().Add(-time.Hour).UnixMilli())}},
		}); err != nil {
			n.t.Fatal(err)
		}
	}

	return cfg.Definition
}

// page reads a page of the console.
func (n *night) page(path string) string {
	n.t.Helper()

	answer, body := n.send(http.MethodGet, path, nil) //nolint:bodyclose // the browser of the test has read and closed it
	if answer.StatusCode != http.StatusOK {
		n.t.Fatalf("%s: %d %.500s", path, answer.StatusCode, body)
	}

	return body
}

// link returns the address of the first link on a page that matches.
func (n *night) link(page, pattern string) string {
	n.t.Helper()

	found := regexp.MustCompile(`href="(` + pattern + `)"`).FindStringSubmatch(page)
	if found == nil {
		n.t.Fatalf("no link %s on the page: %.3000s", pattern, page)
	}

	return html.UnescapeString(found[1])
}

var hiddenOnForm = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)

// act fills in the form at the address and sends it.
func (n *night) act(address string, fields map[string]string) {
	n.t.Helper()

	page := n.page(address)
	form := url.Values{"reason": {"as the runbook says"}}
	for _, found := range hiddenOnForm.FindAllStringSubmatch(page, -1) {
		form.Set(found[1], html.UnescapeString(found[2]))
	}

	for name, value := range fields {
		form.Set(name, value)
	}

	if found := regexp.MustCompile(`Type (\S+) to confirm`).FindStringSubmatch(page); found != nil {
		form.Set("confirm", found[1])
	}
	path, _, _ := strings.Cut(address, "?")

	if answer, body := n.send(http.MethodPost, path, form); answer.StatusCode != http.StatusOK || !strings.Contains(body, "Done.") && !strings.Contains(body, "Stored.") { //nolint:bodyclose // the browser of the test has read and closed it
		n.t.Fatalf("%s: %d %.2000s", address, answer.StatusCode, body)
	}
}

// until waits for a page that is as wanted.
func (n *night) until(path, what string, is func(string) bool) string {
	n.t.Helper()

	for {
		page := n.page(path)
		if is(page) {
			return page
		}

		select {
		case <-n.t.Context().Done():
			n.t.Fatalf("%s: never %s: %.3000s", path, what, page)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (n *night) count() {
	n.t.Helper()

	if _, err := n.b.CountStuck(n.t.Context(), true); err != nil {
		n.t.Fatal(err)
	}
}

// TestAnOperatorsNight: an order is stuck, forty dead letters have one cause, an endpoint is down, a carrier has lost three
// parcels, and a wrong definition was deployed. Each line of the overview leads to a page, whose buttons end it; in the
// end nothing needs a person.
func TestAnOperatorsNight(t *testing.T) {
	address, b := consoleServerWith(t, false, server.ConsoleConfig{MaxScope: "admin"})
	n := &night{t: t, b: b}
	n.browser, _ = login(t, address, b, auth.DefaultTenant, auth.Admin)

	n.deadLetters()
	n.endpointDown()
	n.lostParcels()
	n.stuck()
	wrong := n.wrongDefinition()
	n.count()

	// The first look lets the status be read, and does not wait for it.
	n.until(console.Path+"/", "what needs a person", func(page string) bool { return !strings.Contains(page, "is being read") })

	overview := n.page(console.Path + "/")
	for _, line := range []string{"gave up on 41 records", "endpoint shop is disabled", "endpoint shop has missed 3 notifications", "failed: 1", "stuck at", "lost parcel: 3", "unknown version: 2"} {
		if !strings.Contains(overview, line) {
			t.Errorf("the overview lacks %q: %.3000s", line, overview)
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx, "worker") }()
	defer func() {
		stop()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	// The endpoint works again, and gets what it has missed.
	deliveries := n.page(n.link(overview, `/console/deliveries\?endpoint=shop[^"]*`))
	n.act(n.link(deliveries, `/console/act/enable-endpoint\?endpoint=shop[^"]*`), nil)
	n.act(n.link(n.page(console.Path+"/deliveries?endpoint=shop&status=MISSED"), `/console/act/deliveries-resend\?[^"]*`), map[string]string{"endpoint": "shop", "rate": "1000"})

	// The forty, by one job.
	letters := n.page(n.link(overview, `/console/dead-letters\?handler=notify[^"]*`))
	n.act(n.link(letters, `/console/act/dead-letters-redrive\?handler=notify[^"]*`), map[string]string{"handler": "notify", "rate": "1000"})
	n.until(console.Path+"/dead-letters?handler=notify", "empty", func(page string) bool { return strings.Contains(page, "has given up on nothing") })

	// The orders that are stuck: the parcels were found again, and the execution goes on.
	stuck := n.page(n.link(overview, `/console/stuck`))
	for _, id := range []string{"l-0", "l-1", "l-2"} {
		n.act(n.link(stuck, `/console/act/apply\?event=deliver&amp;order=`+id), nil)
	}
	n.act(n.link(stuck, `/console/act/repair-execution\?order=s-1`), nil)

	// The orders of the wrong definition: a dry run, and then the migration.
	fields := map[string]string{
		"definition": file.Format(wrong), "mapping": fmt.Sprintf("migrations:\n  - from: 9\n    to: %d\n", b.Orders.Definition().Version()), "rate": "1000", "dryRun": "yes",
	}
	migrate := n.link(stuck, `/console/act/orders-migrate`)
	n.act(migrate, fields)
	n.until(console.Path+"/jobs", "counted", func(page string) bool {
		all, _, err := b.Jobs.List(t.Context(), "", "", 1)

		return err == nil && len(all) == 1 && all[0].State == jobs.Done && all[0].Counts["selected"] == 2 && strings.Contains(page, "Migrate orders (dry run)")
	})

	delete(fields, "dryRun")
	n.act(migrate, fields)
	n.until(console.Path+"/jobs", "migrated", func(string) bool {
		all, _, err := b.Jobs.List(t.Context(), "", "", 1)

		return err == nil && len(all) == 1 && all[0].Counts["done"] == 2
	})

	n.until(console.Path+"/", "all is well", func(page string) bool {
		// What the acts began may not have ended by the last count.
		if strings.Contains(page, console.Path+"/stuck") {
			n.count()
		}

		return strings.Contains(page, "Nothing needs a person.")
	})
}
