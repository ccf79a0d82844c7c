package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/operate/audit"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestACustomerIsErasedFromWhatHasEnded: of three orders of one customer, one has not ended, and
// one is another tenant's. The command says so, goes on with the rest, and its act does not name
// the customer.
func TestACustomerIsErasedFromWhatHasEnded(t *testing.T) {
	t.Setenv("RATCHET_JOURNAL", "transactional")

	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		for _, id := range []transitions.OrderID{"ended", "open", "acme:o-1"} {
			order := transitions.NewOrder{ID: id, Total: transitions.Money{Amount: 1, Currency: "EUR"}, Customer: "c-77"}
			if _, err := b.Orders.Create(ctx, order); err != nil {
				return err
			}
		}

		if _, err := b.Orders.Apply(ctx, transitions.Request{OrderID: "ended", Event: workflow.Expire, TransitionID: 2}); err != nil {
			return err
		}

		return longAgo(t, b, "ended")
	})

	out, code := erase(t, s, "--customer", "c-77", "--dry-run")
	if code != exit.Refused || !strings.Contains(out, "selected: order ended\n") || !strings.Contains(out, "order open: the order has not ended: it is PENDING\n") || strings.Contains(out, "acme") {
		t.Errorf("dry run: exit status %d\n%s", code, out)
	}

	out, code = erase(t, s, "--customer", "c-77")
	if code != exit.Refused || !strings.Contains(out, "erased: order ended\n") {
		t.Errorf("exit status %d\n%s", code, out)
	}

	if out, code := erase(t, s, "ended", "nobody"); code != exit.NotFound || !strings.Contains(out, "erased: order ended\n") {
		t.Errorf("again, with an order that does not exist: exit status %d\n%s", code, out)
	}

	err := s.With(t.Context(), func(b *server.Backend) error {
		for id, want := range map[transitions.OrderID]string{"ended": "", "open": "c-77", "acme:o-1": "c-77"} {
			if order, _, err := b.Orders.Get(t.Context(), id); err != nil || order.Customer != want || order.ErasedAt.IsZero() != (want != "") {
				t.Errorf("%+v, %v", order, err)
			}
		}

		acts, _, err := b.Audit.List(t.Context(), audit.Filter{Since: time.Now().Add(-time.Hour)}, "", 10)
		if len(acts) != 3 {
			t.Errorf("%d acts, want those of two commands and that of the job: a dry run is none", len(acts))
		}

		for _, e := range acts {
			if !slices.Contains([]string{"orders erase", "orders-erase"}, e.Act) || strings.Contains(e.On, "c-77") {
				t.Errorf("act %+v", e)
			}
		}

		// Neither does the job name the customer, nor its ids and rows.
		stored, failed := b.DynamoDB.Scan(t.Context(), &dynamodb.ScanInput{TableName: &b.Tables.Jobs})
		if failed == nil && len(stored.Items) != 4 {
			t.Errorf("%d items, want a job, its ids and its two rows", len(stored.Items))
		}

		for _, item := range stored.Items {
			for name, value := range item {
				if strings.Contains(fmt.Sprintf("%#v", value), "c-77") {
					t.Errorf("%s names the customer: %#v", name, item)
				}
			}
		}

		return errors.Join(err, failed)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestALetterThatCannotBeReadDoesNotEndTheErasure: the letter is named, and the next order is
// erased.
func TestALetterThatCannotBeReadDoesNotEndTheErasure(t *testing.T) {
	t.Setenv("RATCHET_JOURNAL", "transactional")

	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		for _, id := range []transitions.OrderID{"o-1", "o-2", "o-3"} {
			order := transitions.NewOrder{ID: id, Total: transitions.Money{Amount: 1, Currency: "EUR"}, Customer: "c-77"}
			if _, err := b.Orders.Create(ctx, order); err != nil {
				return err
			}

			if _, err := b.Orders.Apply(ctx, transitions.Request{OrderID: id, Event: workflow.Expire, TransitionID: 2}); err != nil {
				return err
			}

			if err := longAgo(t, b, string(id)); err != nil {
				return err
			}

			if err := commandtest.UnreadableLetter(ctx, b, "notify", string(id)); err != nil {
				return err
			}

			if id == "o-3" {
				return b.DeadLetters().Delete(ctx, "notify", "letter-of-o-3")
			}
		}

		return nil
	})

	out, code := erase(t, s, "--customer", "c-77")
	if code != exit.Refused || strings.Count(out, "refused: ") != 2 || !strings.Contains(out, "erased: order o-3\n") ||
		!strings.Contains(out, "dead letters that cannot be read may name the person: notify letter-of-o-1\n") {
		t.Errorf("exit status %d\n%s", code, out)
	}

	for _, id := range []string{"o-1", "o-2"} {
		if _, code := printed(t, s, "deadletters", "discard", "notify", "letter-of-"+id); code != exit.OK {
			t.Errorf("discard: exit status %d", code)
		}
	}

	if out, code := erase(t, s, "--customer", "c-77"); code != exit.OK || strings.Count(out, "erased: ") != 2 {
		t.Errorf("again: exit status %d\n%s", code, out)
	}
}

// TestLettersOfAHandlerThatIsOffAreFound: workers with other settings have written them.
func TestLettersOfAHandlerThatIsOffAreFound(t *testing.T) {
	t.Setenv("RATCHET_JOURNAL", "transactional")

	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		order := transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 1, Currency: "EUR"}, Customer: "c-77"}
		if _, err := b.Orders.Create(ctx, order); err != nil {
			return err
		}

		if _, err := b.Orders.Apply(ctx, transitions.Request{OrderID: "o-1", Event: workflow.Expire, TransitionID: 2}); err != nil {
			return err
		}

		return errors.Join(longAgo(t, b, "o-1"), commandtest.UnreadableLetter(ctx, b, "refund", "o-1"), commandtest.UnreadableLetter(ctx, b, "lists", "o-1"))
	})

	out, code := erase(t, s, "o-1")
	if code != exit.Refused || !strings.Contains(out, "may name the person: refund letter-of-o-1, lists letter-of-o-1\n") {
		t.Errorf("exit status %d\n%s", code, out)
	}

	for handler, setting := range map[string]string{"refund": "refund-returns", "lists": "order-lists"} {
		if _, code := printed(t, s, "deadletters", "discard", handler, "letter-of-o-1", "--"+setting); code != exit.OK {
			t.Errorf("discard: exit status %d", code)
		}
	}

	if out, code := erase(t, s, "o-1"); code != exit.OK || !strings.Contains(out, "erased: order o-1") {
		t.Errorf("again: exit status %d\n%s", code, out)
	}
}

// erase runs the command as a person does, with its row in the table of acts.
func erase(t *testing.T, s *settings.Settings, args ...string) (string, int) {
	t.Helper()

	var out bytes.Buffer
	root := newRoot(server.Parts{})
	root.SetArgs(append([]string{"orders", "erase", "--quiet", "--data", s.Flags.Lookup("data").Value.String()}, args...))
	root.SetOut(&out)
	root.SetErr(&out)
	code := commandtest.ExitStatus(root.ExecuteContext(t.Context()), &out)

	return out.String(), code
}

// longAgo makes the newest write of the order an old one.
func longAgo(t *testing.T, b *server.Backend, id string) error {
	_, err := b.DynamoDB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                 &b.Tables.Orders,
		Key:                       map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: id}},
		UpdateExpression:          aws.String("SET updatedAt = :at"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":at": &types.AttributeValueMemberN{Value: "1700000000000"}},
	})

	return err
}
