package erasure_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"ratchet/streams/retryqueue"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/notify"
	"ratchet/once/ledger"
	"ratchet/operate/erasure"
	"ratchet/payments"
	"ratchet/payments/sandbox"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/lambda"
	"ratchet/streams/leases"
	"ratchet/streams/poller"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/transitions/refusals"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// archive has an order that has ended, o-1, whose person is in everything that is stored about it.
type archive struct {
	t      *testing.T
	aws    aws.Config
	db     *dynamodb.Client
	wire   *embeddedtest.Transport
	orders *transitions.Orders
	config erasure.Config
}

func newArchive(t *testing.T) *archive {
	t.Helper()

	cfg := embeddedtest.Open(t).AWSConfig()
	cfg.Retryer = embeddedtest.NoRetries
	a := &archive{t: t, wire: embeddedtest.Intercept(&cfg)}
	a.aws, a.db = cfg, dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, a.db, transitions.Mapping{}.OrdersTable("orders"), transitions.JournalTable("events"), notify.DeliveryTableInput("deliveries"),
		notify.EndpointTableInput("endpoints"), reports.Table("reports"), refusals.TableInput("refusals"), deadletters.TableInput("letters"), leases.TableInput("leases"), lists.TableInput("lists"))

	a.orders = must(transitions.New(transitions.Config{DynamoDB: a.db, Table: "orders", JournalTable: "events", Journal: transitions.JournalTransactional, Log: embeddedtest.Quiet()}))(t)
	endpoints := must(notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: a.db, Table: "endpoints"}))(t)
	deliveries := must(notify.New(notify.Config{
		DynamoDB: a.db, Table: "deliveries", Endpoints: endpoints, Log: embeddedtest.Quiet(),
		Open: func(notify.Endpoint) (notify.Destination, error) { return nil, errors.New("nobody sends") },
	}))(t)
	desk := must(reports.New(reports.Config{DynamoDB: a.db, Table: "reports", Orders: a.orders, Payments: a.payments(), Log: embeddedtest.Quiet()}))(t)

	if _, err := endpoints.Create(t.Context(), "shop", notify.Settings{Destination: "log:"}, nil); err != nil {
		t.Fatal(err)
	}

	a.config = erasure.Config{
		DynamoDB: a.db, Orders: a.orders, OrdersTable: "orders", RefusalsTable: "refusals", Deliveries: deliveries, Reports: desk,
		DeadLetters: deadletters.Letters{DynamoDB: a.db, Table: "letters"}, Handlers: []string{"first", "second"}, QuietFor: time.Nanosecond,
		Lists: must(lists.New(lists.Config{DynamoDB: a.db, Table: "lists", Orders: a.orders}))(t),
	}

	return a
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}

		return value
	}
}

func (a *archive) payments() *payments.Payments {
	tables := ledger.Tables{Accounts: "accounts", Transfers: "transfers", Entries: "entries", Holds: "holds"}
	paid := payments.Tables{Payments: "payments", Due: "payments-due"}
	book := must(ledger.New(ledger.Config{DynamoDB: a.db, Tables: tables}))(a.t)
	bank := must(sandbox.New(sandbox.Config{DynamoDB: a.db, Table: "charges"}))(a.t)

	return must(payments.New(payments.Config{DynamoDB: a.db, Tables: paid, Ledger: book, Processor: bank}))(a.t)
}

// place places an order and moves it through the events.
func (a *archive) place(id transitions.OrderID, events ...workflow.Event) {
	a.t.Helper()

	_, err := a.orders.Create(a.t.Context(), transitions.NewOrder{
		ID: id, Total: transitions.Money{Amount: 5, Currency: "EUR"}, Customer: "ada", Shipping: transitions.Address{"name": "Ada"},
	})
	if err != nil {
		a.t.Fatal(err)
	}

	for _, e := range events {
		if r, err := a.orders.Apply(a.t.Context(), transitions.Request{OrderID: id, Event: e, RequestID: transitions.RequestID(e)}); err != nil || !r.Verdict.Done() {
			a.t.Fatal(r.Verdict, err)
		}
	}
}

// ended places o-1 and cancels it. It leaves a delivery, a refused report and dead letters of both handlers.
func (a *archive) ended() {
	a.t.Helper()
	a.place("o-1", workflow.Cancel)

	order, _, err := a.orders.Get(a.t.Context(), "o-1")
	if err != nil {
		a.t.Fatal(err)
	}

	n := notify.Notification{Key: "o-1/0/2/notify", OrderID: "o-1", Incarnation: "0", TransitionID: 2, State: "CANCELLED", At: time.Now(), Attributes: map[string]string{"customer": "ada"}}
	if err := a.config.Deliveries.Accept(a.t.Context(), n); err != nil {
		a.t.Fatal(err)
	}

	r := shipping.Report{ID: "r-1", Shipment: order.EffectKey(2, shipping.Effect), OrderID: "o-1", Milestone: shipping.Shipped, Tracking: "ada"}
	if effect, err := a.config.Reports.Receive(a.t.Context(), r); err != nil || effect != reports.Refused {
		a.t.Fatal(effect, err)
	}
	a.letter("o-1", 1)
}

// letter makes both handlers give up on a change of an order.
func (a *archive) letter(id string, sequence int) {
	a.t.Helper()

	var handlers []streams.Handler
	for _, name := range a.config.Handlers {
		handlers = append(handlers, streams.Handler{Name: name, Handle: func(context.Context, streams.Record) error {
			return streams.Permanent(errors.New("cannot reach ada"))
		}})
	}
	fn := must(lambda.New(lambda.Config{Handlers: handlers, DynamoDB: a.db, DeadLetterTable: "letters"}))(a.t)
	record := fmt.Sprintf(`{"Records":[{"eventID":"e","eventName":"MODIFY","eventSourceARN":"arn:aws:dynamodb:r:1:table/orders/stream/L",
		"dynamodb":{"SequenceNumber":"%d","Keys":{"orderId":{"S":%q}},"NewImage":{"orderId":{"S":%q},"customer":{"S":"ada"}}}}]}`, sequence, id, id)

	out, err := fn.Handle(a.t.Context(), json.RawMessage(record))
	if err != nil || len(out.Failures) != 0 {
		a.t.Fatal(out, err)
	}
}

func (a *archive) eraser(edit ...func(*erasure.Config)) *erasure.Eraser {
	a.t.Helper()

	cfg := a.config
	for _, e := range edit {
		e(&cfg)
	}

	return must(erasure.New(cfg))(a.t)
}

// holds counts the rows of all tables that contain the text.
func (a *archive) holds(text string) (count int) {
	a.t.Helper()

	for _, table := range []string{"orders", "events", "deliveries", "reports", "refusals", "letters", "lists"} {
		out, err := a.db.Scan(a.t.Context(), &dynamodb.ScanInput{TableName: aws.String(table)})
		if err != nil {
			a.t.Fatal(err)
		}

		for _, row := range out.Items {
			if strings.Contains(string(must(json.Marshal(row))(a.t)), text) {
				count++
			}
		}
	}

	return count
}

// TestAPersonIsErasedOnce: the person is erased from everything that is stored about the order, and
// nothing of another order changes.
func TestAPersonIsErasedOnce(t *testing.T) {
	a := newArchive(t)
	a.ended()
	a.place("o-2", workflow.Cancel)
	a.letter("o-2", 2)
	others := 3 // the order and its dead letters

	if n := a.holds("ada"); n != others+5 {
		t.Fatalf("%d rows have the person", n)
	}

	for i, want := range []erasure.Erased{
		{OrderID: "o-1", Deliveries: 1, DeadLetters: 2, Reports: 1},
		{OrderID: "o-1"},
	} {
		if got, err := a.eraser().Erase(t.Context(), "o-1"); err != nil || got != want {
			t.Errorf("time %d: %+v, %v", i, got, err)
		}
	}

	if n := a.holds("ada"); n != others {
		t.Errorf("%d rows have the person", n)
	}

	for letter, err := range a.config.DeadLetters.All(t.Context(), "first", deadletters.Filter{}) {
		if err != nil || (letter.Error == erasure.ErasedError) != (dynamo.Text(letter.Keys, "orderId") == "o-1") {
			t.Errorf("%+v, %v", letter, err)
		}
	}
}

// TestNoFailureIsTakenForAnErasure fails each call in turn: Erase returns an error, and a repeat
// erases the rest, the order itself last.
func TestNoFailureIsTakenForAnErasure(t *testing.T) {
	for call, struck := 1, true; struck; call++ {
		a := newArchive(t)
		a.ended()

		injected := a.wire.Inject(embeddedtest.Answer("AccessDeniedException").From(call).Next(1))
		_, err := a.eraser().Erase(t.Context(), "o-1")
		struck = injected.Strikes() > 0
		injected.Remove()

		if struck != (err != nil) || err != nil && !strings.Contains(err.Error(), "erase the person of order o-1: ") {
			t.Errorf("call %d fails: %t, and Erase returns %v", call, struck, err)
		}

		if _, err := a.eraser().Erase(t.Context(), "o-1"); err != nil && !errors.Is(err, deadletters.ErrRedriving) {
			t.Errorf("after call %d: %v", call, err)
		}
	}
}

// TestAnErasureIsRefused, with the reason, while something may still be written or done.
func TestAnErasureIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.config.QuietFor = time.Minute
		a.ended()
		a.place("open")
		a.place("fresh", workflow.Cancel)

		order, _, err := a.orders.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}
		settled := order.UpdatedAt.Add(time.Minute)

		for _, row := range []struct {
			id   transitions.OrderID
			at   time.Time
			want error
			text string
		}{
			{"o-1", settled.Add(-time.Millisecond), erasure.ErrTooSoon, "it can be erased from " + settled.UTC().Format(time.RFC3339)},
			{"none", settled, transitions.ErrUnknownOrder, "order none"},
			{"open", settled, transitions.ErrNotEnded, "order open"},
			{"o-1", settled, nil, ""},
		} {
			time.Sleep(time.Until(row.at))
			e := a.eraser()

			if order, found, _ := a.orders.Get(t.Context(), row.id); found {
				if err := e.Check(t.Context(), order); !errors.Is(err, row.want) || err != nil && !strings.Contains(err.Error(), row.text) {
					t.Errorf("check %s: %v, want %v", row.id, err, row.want)
				}
			}

			if _, err := e.Erase(t.Context(), row.id); !errors.Is(err, row.want) || err != nil && !strings.Contains(err.Error(), row.text) {
				t.Errorf("erase %s: %v, want %v", row.id, err, row.want)
			}
		}
	})
}

// TestAHandlerThatWaitsKeepsTheOrder: a handler failed on a change of the order, and will try
// again. Changes of other orders do not count.
func TestAHandlerThatWaitsKeepsTheOrder(t *testing.T) {
	a := newArchive(t)
	a.ended()
	a.place("o-2", workflow.Cancel)

	poller := must(poller.New(poller.Config{
		Streams: dynamodbstreams.NewFromConfig(a.aws), DynamoDB: a.db, TableName: "orders", LeaseTable: "leases", DeadLetterTable: "letters",
		Log: embeddedtest.Quiet(),
		Handlers: []streams.Handler{{Name: "second", Handle: func(_ context.Context, r streams.Record) error {
			if dynamo.Text(r.Keys, "orderId") == "o-2" {
				return errors.New("not now")
			}

			return nil
		}}},
	}))(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- poller.Run(ctx) }()

	for waits := 0; waits == 0; {
		items, err := retryqueue.Items(t.Context(), a.config.DeadLetters, "orders", "second")
		if err != nil {
			t.Fatal(err)
		}

		if waits = len(items); waits == 0 {
			<-time.After(time.Millisecond)
		}
	}
	stop()

	if err := <-ended; err != nil {
		t.Error(err)
	}

	if _, err := a.eraser().Erase(t.Context(), "o-2"); !errors.Is(err, erasure.ErrHandlersWait) || !strings.Contains(err.Error(), ": second") {
		t.Errorf("error %v", err)
	}

	if _, err := a.eraser().Erase(t.Context(), "o-1"); err != nil {
		t.Errorf("another order: %v", err)
	}
}

// TestLettersThatCannotBeReadKeepTheOrder: all else is erased, and a repeat finds the order.
func TestLettersThatCannotBeReadKeepTheOrder(t *testing.T) {
	a := newArchive(t)
	a.ended()

	letters, _, err := a.config.DeadLetters.List(t.Context(), "first", "", 0)
	if err != nil || len(letters) != 1 {
		t.Fatal(letters, err)
	}

	out, err := a.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("letters")})
	if err != nil {
		t.Fatal(err)
	}

	for _, row := range out.Items {
		if dynamo.Text(row, "handler") == "first" {
			row["record"] = dynamo.S("{")
			if _, err := a.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("letters"), Item: row}); err != nil {
				t.Fatal(err)
			}
		}
	}

	got, err := a.eraser().Erase(t.Context(), "o-1")
	if !errors.Is(err, erasure.ErrUnreadableDeadLetters) || !strings.Contains(err.Error(), "first "+letters[0].ID) || got.DeadLetters != 1 || got.Reports != 1 {
		t.Errorf("%+v, %v", got, err)
	}

	if order, _, err := a.orders.Get(t.Context(), "o-1"); err != nil || order.Customer != "ada" {
		t.Errorf("%+v, %v", order, err)
	}

	if err := a.config.DeadLetters.Delete(t.Context(), "first", letters[0].ID); err != nil {
		t.Fatal(err)
	}

	if got, err := a.eraser().Erase(t.Context(), "o-1"); err != nil || got != (erasure.Erased{OrderID: "o-1"}) || a.holds("ada") != 0 {
		t.Errorf("%+v, %v, %d rows have the person", got, err, a.holds("ada"))
	}
}

// TestAnErasureNeedsNoLists: there are none, or their table is missing.
func TestAnErasureNeedsNoLists(t *testing.T) {
	for name, edit := range map[string]func(*archive, *erasure.Config){
		"none": func(_ *archive, c *erasure.Config) { c.Lists = nil },
		"missing": func(a *archive, _ *erasure.Config) {
			if _, err := a.db.DeleteTable(a.t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("lists")}); err != nil {
				a.t.Fatal(err)
			}
		},
	} {
		a := newArchive(t)
		a.ended()

		if _, err := a.eraser(func(c *erasure.Config) { edit(a, c) }).Erase(t.Context(), "o-1"); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		if order, _, err := a.orders.Get(t.Context(), "o-1"); err != nil || order.Customer == "ada" {
			t.Errorf("%s: %+v, %v", name, order, err)
		}
	}
}

func TestNewNamesEveryFieldThatBreaksARule(t *testing.T) {
	_, err := erasure.New(erasure.Config{QuietFor: -1})
	for _, field := range []string{"DynamoDB", "Orders", "OrdersTable", "RefusalsTable", "Deliveries", "Reports", "DeadLetters", "Handlers", "QuietFor -1ns"} {
		if err == nil || !strings.Contains(err.Error(), "erasure: Config."+field+": must be") {
			t.Errorf("%s is missing in %v", field, err)
		}
	}

	a := newArchive(t)
	if _, err := erasure.New(a.config); err != nil {
		t.Error(err)
	}
	a.config.QuietFor = 0

	if _, err := erasure.New(a.config); err == nil {
		t.Error("New accepts QuietFor 0")
	}
}

// TestAnEndThatIsNotKnownKeepsTheOrder: another program has ended the order, and nothing tells when. That is not long ago.
func TestAnEndThatIsNotKnownKeepsTheOrder(t *testing.T) {
	for about, item := range map[string]map[string]types.AttributeValue{
		"no time":                 {"orderId": &types.AttributeValueMemberS{Value: "o-1"}, "orderState": &types.AttributeValueMemberS{Value: "CANCELLED"}},
		"a time in another form":  {"orderId": &types.AttributeValueMemberS{Value: "o-1"}, "orderState": &types.AttributeValueMemberS{Value: "CANCELLED"}, "updatedAt": &types.AttributeValueMemberS{Value: "2026-11-28T10:00:00Z"}},
		"a transition of another": nil,
	} {
		t.Run(about, func(t *testing.T) {
			a := newArchive(t)

			if item == nil {
				a.place("o-1")

				order := must(a.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("orders"), Key: map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: "o-1"}}}))(t)
				item = order.Item
				item["orderState"] = &types.AttributeValueMemberS{Value: "CANCELLED"}
			}

			if _, err := a.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: item}); err != nil {
				t.Fatal(err)
			}

			found := 0
			ended := erasure.Ended{Orders: a.orders}

			err := ended.Before(t.Context(), "", time.Now().Add(time.Hour), func(order *transitions.Order, err error) error {
				if found++; order.ID != "o-1" || !errors.Is(err, transitions.ErrUnreadable) || !erasure.Keeps(err) {
					t.Errorf("order %s: %v", order.ID, err)
				}

				return nil
			})
			if err != nil || found != 1 {
				t.Errorf("%d were found, %v", found, err)
			}
		})
	}
}
