package reactions_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/once"
	"ratchet/shipping"
	"ratchet/shipping/sandbox"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/tasktoken"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop has the tables and the far sides of the reactions, and counts notifications.
type shop struct {
	db      *dynamodb.Client
	carrier *sandbox.Carrier

	mu      sync.Mutex
	notices int
	reacted []string // handlers

	answers   []string // of parked tasks
	answerErr error
}

func (s *shop) Send(context.Context, notify.Notification) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.notices++

	return nil
}

func (s *shop) SendTaskSuccess(_ context.Context, in *sfn.SendTaskSuccessInput, _ ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error) {
	s.answers = append(s.answers, "success "+*in.TaskToken)
	return nil, s.answerErr
}

func (s *shop) SendTaskFailure(_ context.Context, in *sfn.SendTaskFailureInput, _ ...func(*sfn.Options)) (*sfn.SendTaskFailureOutput, error) {
	s.answers = append(s.answers, "failure "+*in.TaskToken+" "+*in.Error)
	return nil, s.answerErr
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{db: embeddedtest.DynamoDB(t, transitions.OrdersTable("orders"), transitions.JournalTable("events"),
		once.TableInput("once"), tasktoken.TableInput("parked"), sandbox.Table("shipments"))}

	var err error
	if s.carrier, err = sandbox.New(sandbox.Config{DynamoDB: s.db, Table: "shipments"}); err != nil {
		t.Fatal(err)
	}

	return s
}

// at returns the orders and reactions of workers of a version of the definition.
func (s *shop) at(t *testing.T, version int) (*transitions.Orders, map[string]streams.HandlerFunc) {
	t.Helper()
	spec := workflow.Order().Spec()
	spec.Version = version

	definition, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}

	orders, err := transitions.New(transitions.Config{DynamoDB: s.db, Table: "orders", JournalTable: "events", Definition: definition, Log: embeddedtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}

	claims, err := once.New(once.Config{DynamoDB: s.db, Table: "once"})
	if err != nil {
		t.Fatal(err)
	}

	parked, err := tasktoken.New(tasktoken.Config{DynamoDB: s.db, Table: "parked"})
	if err != nil {
		t.Fatal(err)
	}

	booker, err := shipping.New(shipping.Config{Claims: claims, Carrier: s.carrier})
	if err != nil {
		t.Fatal(err)
	}

	r, err := reactions.New(reactions.Config{
		Orders: orders,
		Claims: claims,
		Booker: booker,
		Parked: parked,
		SFN:    s,
		Sink:   s,
		Events: reactions.Events{Reacted: func(handler string, _ transitions.Change) {
			s.mu.Lock()
			defer s.mu.Unlock()

			s.reacted = append(s.reacted, handler)
		}},
		Log: embeddedtest.Quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}

	handlers := map[string]streams.HandlerFunc{}
	for _, h := range r.Handlers() {
		handlers[h.Name] = h.Handle
	}

	return orders, handlers
}

// change runs fn and returns what it did to the order as a record.
func (s *shop) change(t *testing.T, fn func()) streams.Record {
	t.Helper()
	item := func() map[string]types.AttributeValue {
		out, err := s.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("orders"),
			Key: map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: "o-1"}}})
		if err != nil {
			t.Fatal(err)
		}

		return out.Item
	}
	old := item()
	fn()

	return streams.Record{Old: old, New: item()}
}

func placeAndPay(t *testing.T, orders *transitions.Orders) {
	t.Helper()

	if _, err := orders.Create(t.Context(), transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}

	if r, err := orders.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2}); err != nil || r.Verdict != transitions.Applied {
		t.Fatalf("%s, %v", r.Verdict, err)
	}
}

// TestReactionsRefuseAnUnknownVersion: a worker leaves the effects of a newer definition to
// newer workers. It writes the journal all the same.
func TestReactionsRefuseAnUnknownVersion(t *testing.T) {
	s := newShop(t)

	newer, newHandlers := s.at(t, 2)
	_, oldHandlers := s.at(t, 1)
	record := s.change(t, func() { placeAndPay(t, newer) })
	for _, name := range []string{reactions.ShippingHandler, reactions.NotifyHandler} {
		if err := oldHandlers[name](t.Context(), record); !errors.Is(err, transitions.ErrUnknownVersion) {
			t.Errorf("%s: got %v", name, err)
		}

		if err := newHandlers[name](t.Context(), record); err != nil {
			t.Errorf("%s of the newer worker: %v", name, err)
		}
	}

	if err := oldHandlers[reactions.JournalHandler](t.Context(), record); err != nil {
		t.Errorf("journal: %v", err)
	}

	if s.notices != 1 {
		t.Errorf("%d notices", s.notices)
	}

	slices.Sort(s.reacted)

	if want := []string{"journal", "notify", "shipping"}; !slices.Equal(s.reacted, want) {
		t.Errorf("Reacted was called for %q, want %q", s.reacted, want)
	}
}

// TestMigrationTriggersNoReaction: a migration is journaled, but it ships nothing and
// sends no notification.
func TestMigrationTriggersNoReaction(t *testing.T) {
	s := newShop(t)
	older, _ := s.at(t, 1)
	newer, handlers := s.at(t, 2)
	placeAndPay(t, older)

	m, err := workflow.NewMigrations([]*workflow.Definition{older.Definition(), newer.Definition()}, []workflow.Migration{{From: 1, To: 2}})
	if err != nil {
		t.Fatal(err)
	}

	record := s.change(t, func() {
		order, _, err := newer.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		if _, moved, err := newer.Migrate(t.Context(), m, order); err != nil || !moved {
			t.Fatalf("moved %v, %v", moved, err)
		}
	})
	for name, handle := range handlers {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := handle(ctx, record); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}

	if s.notices != 0 {
		t.Errorf("%d notices", s.notices)
	}

	count, err := s.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("shipments")})
	if err != nil || count.Count != 0 {
		t.Errorf("%d shipments, %v", count.Count, err)
	}

	rows, err := newer.History(t.Context(), "o-1", 2, 0)
	if err != nil || len(rows) != 1 || rows[0].Event != workflow.Migrate {
		t.Errorf("journal %+v, %v", rows, err)
	}
}

func TestNewNamesEveryMissingField(t *testing.T) {
	_, err := reactions.New(reactions.Config{})
	if err == nil {
		t.Fatal("New accepted the configuration")
	}

	for _, field := range []string{"Orders", "Claims", "Booker", "Parked", "SFN", "Sink"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}

// TestParkedTasksAreAnswered pays an order for which three executions wait.
func TestParkedTasksAreAnswered(t *testing.T) {
	for _, c := range []struct {
		name      string
		answerErr error
		failed    bool
		left      []tasktoken.Token
	}{
		{"Step Functions takes the answers", nil, false, []tasktoken.Token{"reachable"}},
		{"the tasks have ended", &sfntypes.TaskTimedOut{}, false, []tasktoken.Token{"reachable"}},
		{"Step Functions is unavailable", errors.New("unavailable"), true, []tasktoken.Token{"reachable", "reached", "unreachable"}},
	} {
		s := newShop(t)
		s.answerErr = c.answerErr
		orders, handlers := s.at(t, 1)

		if _, err := orders.Create(t.Context(), transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
			t.Fatal(err)
		}

		parked, err := tasktoken.New(tasktoken.Config{DynamoDB: s.db, Table: "parked"})
		if err != nil {
			t.Fatal(err)
		}

		for token, awaited := range map[tasktoken.Token]workflow.State{
			"reached":     workflow.PaymentReceived,
			"reachable":   workflow.Shipped,
			"unreachable": workflow.PaymentFailed,
		} {
			task := tasktoken.Task{OrderID: "o-1", Awaited: string(awaited), Since: 1, Token: token}
			if err := parked.Park(t.Context(), task, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}

		record := s.change(t, func() {
			if r, err := orders.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2}); err != nil || r.Verdict != transitions.Applied {
				t.Fatalf("%s, %v", r.Verdict, err)
			}
		})
		if err := handlers[reactions.ParkedHandler](t.Context(), record); (err != nil) != c.failed {
			t.Errorf("%s: %v", c.name, err)
		}

		slices.Sort(s.answers)

		if want := []string{"failure unreachable Order.WrongState", "success reached"}; !c.failed && !slices.Equal(s.answers, want) {
			t.Errorf("%s: answers %q, want %q", c.name, s.answers, want)
		}

		tasks, err := parked.Waiting(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		var left []tasktoken.Token
		for _, task := range tasks {
			left = append(left, task.Token)
		}

		slices.Sort(left)

		if !slices.Equal(left, c.left) {
			t.Errorf("%s: %q stay parked, want %q", c.name, left, c.left)
		}
	}
}
