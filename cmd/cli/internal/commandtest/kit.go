package commandtest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// OrdersAt prepares a data directory and returns settings that point at it.
func OrdersAt(t *testing.T, prepare func(context.Context, *server.Backend) error) *settings.Settings {
	t.Helper()

	for _, name := range []string{"RATCHET_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}

	s := At(t, t.TempDir())

	if err := s.With(t.Context(), func(b *server.Backend) error { return prepare(t.Context(), b) }); err != nil {
		t.Fatal(err)
	}

	return s
}

// Ask runs a command with arguments, and returns what it printed and its exit status.
func Ask(t *testing.T, c *cobra.Command, args ...string) (string, int) {
	t.Helper()
	var out, diagnosis bytes.Buffer
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&diagnosis)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.With(exit.Usage, arguments.FlagError(err)) }) // as the root's
	code := exit.Report(c.ExecuteContext(t.Context()))

	return out.String(), code
}

// At returns settings that point at a data directory.
func At(t *testing.T, dir string) *settings.Settings {
	t.Helper()

	s := &settings.Settings{Creates: true}
	s.Flags = s.SharedFlags(settings.FlagGroups...)

	for name, value := range map[string]string{"data": dir, "log-level": "error"} {
		if err := s.Flags.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}

	return s
}

// PlaceAndPay places the order o-1 and pays it.
func PlaceAndPay(ctx context.Context, b *server.Backend) error {
	if _, err := b.Orders.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
		return err
	}
	_, err := b.Orders.Apply(ctx, transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 4})

	return err
}

// ExitStatus returns the exit status of an error, and writes what the program prints about it.
func ExitStatus(err error, out *bytes.Buffer) int {
	var s *exit.Error
	switch {
	case err == nil:
		return exit.OK
	case errors.As(err, &s):
		return s.Status
	case errors.Is(err, exit.ErrNotFound):
		return exit.NotFound
	}
	out.WriteString(err.Error())

	return exit.Failure
}

// UnreadableLetter stores a dead letter about the order whose record cannot be decoded.
func UnreadableLetter(ctx context.Context, b *server.Backend, handler, order string) error {
	_, err := b.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &b.Tables.DeadLetters, Item: map[string]types.AttributeValue{
		"source":  &types.AttributeValueMemberS{Value: "streams/" + handler},
		"id":      &types.AttributeValueMemberS{Value: "letter-of-" + order},
		"handler": &types.AttributeValueMemberS{Value: handler},
		"keys":    &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: order}}},
		"record":  &types.AttributeValueMemberS{Value: "{"},
	}})

	return err
}
