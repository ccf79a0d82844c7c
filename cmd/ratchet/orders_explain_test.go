package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// ordersAt prepares a data directory and returns settings that point at it.
func ordersAt(t *testing.T, prepare func(context.Context, *server.Backend) error) *settings {
	t.Helper()

	for _, name := range []string{"RATCHET_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	s := &settings{}
	root := newRoot()

	s.flags = root.PersistentFlags()
	for name, value := range map[string]string{"data": t.TempDir(), "log-level": "error"} {
		if err := s.flags.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}

	if err := s.with(t.Context(), func(b *server.Backend) error { return prepare(t.Context(), b) }); err != nil {
		t.Fatal(err)
	}

	return s
}

// run runs one command and returns what it printed and its exit status.
func run(t *testing.T, s *settings, name string, args ...string) (string, int) {
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
	code := status(command.ExecuteContext(t.Context()), &out)

	return out.String(), code
}

func status(err error, out *bytes.Buffer) int {
	var s *statusError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &s):
		return s.status
	case errors.Is(err, errNotFound):
		return exitNotFound
	}
	out.WriteString(err.Error())

	return exitFailure
}

func placeAndPay(ctx context.Context, b *server.Backend) error {
	if _, err := b.Orders.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
		return err
	}
	_, err := b.Orders.Apply(ctx, transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 4})

	return err
}

func TestOrdersExplain(t *testing.T) {
	s := ordersAt(t, placeAndPay)
	out, code := run(t, s, "explain", "o-1")
	for _, want := range []string{"order o-1 is PAYMENT_RECEIVED since transition 4", "2 ids before it were never applied",
		"refused requests are in the debug logs only", "leads to SHIPPED", "needs SHIPPED; it may still come there",
		"needs PENDING; it cannot come there any more", "not any more"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}

	if code != exitOK {
		t.Errorf("exit status %d", code)
	}

	if _, code := run(t, s, "explain", "nobody"); code != exitNotFound {
		t.Errorf("an unknown order: exit status %d", code)
	}

	s.json = true
	if out, _ := run(t, s, "explain", "o-1"); !strings.Contains(out, `"options":[{"event":"pay","legal":false`) {
		t.Errorf("JSON: %s", out)
	}
}

func TestVerify(t *testing.T) {
	s := ordersAt(t, placeAndPay)
	if out, code := run(t, s, "verify"); code != exitOK || !strings.Contains(out, "1 orders and 0 rows compared: 0 mismatched, 1 whose journal follows") {
		t.Errorf("before the stream is read: exit status %d\n%s", code, out)
	}

	out, code := run(t, s, "verify", "--lag", "0")
	if code != exitFailure || !strings.Contains(out, "order o-1 (PAYMENT_RECEIVED, transition 4): behind: the journal ends at transition 0") {
		t.Errorf("with lag 0: exit status %d\n%s", code, out)
	}

	if _, code := run(t, s, "verify", "--lag", "-1s"); code != exitUsage {
		t.Errorf("a negative lag: exit status %d", code)
	}

	if err := s.with(t.Context(), func(b *server.Backend) error {
		_, err := b.DynamoDB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &b.Tables.Orders,
			Key:              map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: "o-1"}},
			UpdateExpression: aws.String("SET orderState = :s"), ExpressionAttributeValues: map[string]types.AttributeValue{":s": &types.AttributeValueMemberS{Value: "SHIPPED"}}})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s.json = true

	out, code = run(t, s, "verify")
	if code != exitFailure || !strings.Contains(out, `"kind":"state"`) || !strings.Contains(out, `"mismatched":1`) {
		t.Errorf("a state that no transition made: exit status %d\n%s", code, out)
	}
}
