package orders

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// run runs one command and returns its output and its exit status.
func run(t *testing.T, s *settings.Settings, name string, args ...string) (string, int) {
	t.Helper()

	command := ordersExplain(s)
	if name == "verify" {
		command = verifyCommand(s)
	}
	var out bytes.Buffer
	command.SetArgs(args)
	command.SetOut(&out)
	command.SetErr(&out)
	command.SilenceErrors, command.SilenceUsage = true, true
	code := commandtest.ExitStatus(command.ExecuteContext(t.Context()), &out)

	return out.String(), code
}

func TestOrdersExplain(t *testing.T) {
	s := commandtest.OrdersAt(t, commandtest.PlaceAndPay)
	out, code := run(t, s, "explain", "o-1")
	for _, want := range []string{"order o-1 is PAYMENT_RECEIVED since transition 4", "2 ids before it never applied",
		"what was refused in the last 7 days is in the time line, but not all of it", "leads to SHIPPED", "needs SHIPPED; it may still come there",
		"needs PENDING; it cannot come there any more", "no: the definition lets no one edit an order that is PAYMENT_RECEIVED"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}

	if code != exit.OK {
		t.Errorf("exit status %d", code)
	}

	if _, code := run(t, s, "explain", "nobody"); code != exit.NotFound {
		t.Errorf("an unknown order: exit status %d", code)
	}

	s.JSON = true
	if out, _ := run(t, s, "explain", "o-1"); !strings.Contains(out, `"options":[{"event":"pay","legal":false`) {
		t.Errorf("JSON: %s", out)
	}
}

// TestOrdersExplainShowsWhatWasRefused: a process writes its refusals at its end at the latest.
func TestOrdersExplainShowsWhatWasRefused(t *testing.T) {
	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		if err := commandtest.PlaceAndPay(ctx, b); err != nil {
			return err
		}
		_, err := b.Orders.Apply(ctx, transitions.Request{OrderID: "o-1", Event: workflow.Deliver, RequestID: "r-1", Cause: transitions.Cause{Source: "cli", Actor: "cli:ada"}})

		return err
	})

	out, _ := run(t, s, "explain", "o-1")
	if !strings.Contains(out, "deliver was refused: WrongState, through cli: the order was PAYMENT_RECEIVED, it needs SHIPPED\n") || strings.Contains(out, "ada") {
		t.Errorf("%s", out)
	}

	s.JSON = true
	if out, _ := run(t, s, "explain", "o-1"); !strings.Contains(out, `"kind":"refusal"`) {
		t.Errorf("JSON: %s", out)
	}
}

// TestTheColumnsOfAnExplanationAreAligned: other lines between the rows change nothing, and a text
// of several lines is one line of the time line.
func TestTheColumnsOfAnExplanationAreAligned(t *testing.T) {
	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		if _, err := b.Orders.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 1, Currency: "EUR"}}); err != nil {
			return err
		}

		hold := transitions.Request{OrderID: "o-1", Event: workflow.Hold, TransitionID: 4, Cause: transitions.Cause{Code: "fraud", Text: "the address does not exist"}}
		if _, err := b.Orders.Apply(ctx, hold); err != nil {
			return err
		}

		if _, err := b.Orders.Apply(ctx, transitions.Request{OrderID: "o-1", Event: workflow.Release, TransitionID: 5}); err != nil {
			return err
		}

		letter := streams.Record{Handler: reactions.NotifyHandler, EventName: streams.Modify, Keys: b.Orders.Mapping().ItemKey("o-1"), SequenceNumber: "1"}

		return b.DeadLetters().Rows().Store(ctx, letter, errors.New("first line\nsecond\tline"), nil)
	})

	out, _ := run(t, s, "explain", "o-1")

	_, table, _ := strings.Cut(out, "\ntransitions\n")
	lines := strings.Split(table, "\n")
	at := strings.Index(lines[0], "RECORDED IN")

	rows := 0
	for _, line := range lines {
		if recorded := strings.Index(line, "ring"); recorded >= 0 {
			if rows++; recorded != at {
				t.Errorf("%q: the column RECORDED IN begins at %d, want %d", line, recorded, at)
			}
		}
	}

	if rows != 3 || !strings.Contains(out, "first line second line") {
		t.Errorf("%d rows\n%s", rows, out)
	}

	_, timeline, _ := strings.Cut(out, "\ntime line\n")
	timeline, _, _ = strings.Cut(timeline, "\n\n")

	for line := range strings.SplitSeq(timeline, "\n") {
		if !strings.HasPrefix(line, "20") {
			t.Errorf("the time line has %q", line)
		}
	}
}

// TestAnEventThatSkipsAnEffectIsForced: no worker has booked the shipment of the paid order.
func TestAnEventThatSkipsAnEffectIsForced(t *testing.T) {
	s := commandtest.OrdersAt(t, commandtest.PlaceAndPay)
	apply := func(args ...string) (string, int) {
		var out bytes.Buffer
		c := ordersApply(s)
		c.SetArgs(append([]string{"o-1"}, args...))
		c.SetOut(&out)
		c.SetErr(&out)
		c.SilenceErrors, c.SilenceUsage = true, true
		err := c.ExecuteContext(t.Context())
		code := commandtest.ExitStatus(err, &out)
		fmt.Fprint(&out, err)

		return out.String(), code
	}

	if out, code := run(t, s, "explain", "o-1"); code != exit.OK || !strings.Contains(out, "handler shipping has not acted yet") || strings.Contains(out, "apply o-1 ship") {
		t.Errorf("explained: exit status %d\n%s", code, out)
	}

	for _, row := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"ship"}, exit.Refused, "would skip what is due: handler shipping"},
		{[]string{"ship", "--force"}, exit.Usage, "say why"},
		{[]string{"hold"}, exit.OK, "PAID_ON_HOLD"},
		{[]string{"release"}, exit.OK, "PAYMENT_RECEIVED"},
		{[]string{"ship", "--force", "--reason", "by-hand"}, exit.OK, "SHIPPED"},
	} {
		if out, code := apply(row.args...); code != row.code || !strings.Contains(out, row.text) {
			t.Errorf("%q: exit status %d\n%s", row.args, code, out)
		}
	}
}

func TestVerify(t *testing.T) {
	s := commandtest.OrdersAt(t, commandtest.PlaceAndPay)
	if out, code := run(t, s, "verify"); code != exit.OK || !strings.Contains(out, "1 order and 0 rows compared: 0 mismatched, 1 whose journal follows") {
		t.Errorf("before the stream is read: exit status %d\n%s", code, out)
	}

	out, code := run(t, s, "verify", "--lag", "0")
	if code != exit.Failure || !strings.Contains(out, "order o-1 (PAYMENT_RECEIVED, transition 4): behind: the journal ends at transition 0") {
		t.Errorf("with lag 0: exit status %d\n%s", code, out)
	}

	if _, code := run(t, s, "verify", "--lag", "-1s"); code != exit.Usage {
		t.Errorf("a negative lag: exit status %d", code)
	}

	if err := s.With(t.Context(), func(b *server.Backend) error {
		_, err := b.DynamoDB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &b.Tables.Orders,
			Key:              map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: "o-1"}},
			UpdateExpression: aws.String("SET orderState = :s"), ExpressionAttributeValues: map[string]types.AttributeValue{":s": &types.AttributeValueMemberS{Value: "SHIPPED"}}})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s.JSON = true

	out, code = run(t, s, "verify")
	if code != exit.Failure || !strings.Contains(out, `"kind":"moved"`) || !strings.Contains(out, `"mismatched":1`) {
		t.Errorf("a state that no transition made: exit status %d\n%s", code, out)
	}
}
