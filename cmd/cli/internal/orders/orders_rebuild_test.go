package orders

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/server"
)

// TestMissingOrderIsRebuiltAfterItsIDIsTyped deletes an item directly in the table.
func TestMissingOrderIsRebuiltAfterItsIDIsTyped(t *testing.T) {
	t.Setenv("RATCHET_JOURNAL", "transactional")

	s := commandtest.OrdersAt(t, commandtest.PlaceAndPay)
	if err := s.With(t.Context(), func(b *server.Backend) error {
		_, err := b.DynamoDB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.Tables.Orders,
			Key: map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: "o-1"}}})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	rebuild := func(typed string, args ...string) (string, int) {
		t.Helper()
		var out bytes.Buffer
		command := ordersRebuild(s)
		command.SetArgs(append([]string{"o-1"}, args...))
		command.SetIn(strings.NewReader(typed))
		command.SetOut(&out)
		command.SetErr(io.Discard) // on a busy machine it gets the progress, too
		command.SilenceErrors, command.SilenceUsage = true, true
		code := commandtest.ExitStatus(command.ExecuteContext(t.Context()), &out)

		return out.String(), code
	}

	out, code := rebuild("")
	if code != exit.OK || !strings.Contains(out, "order o-1 is PAYMENT_RECEIVED since transition 4") ||
		!strings.Contains(out, "comes back without items, total") || strings.Contains(out, "written") {
		t.Errorf("dry run: exit status %d\n%s", code, out)
	}

	if out, code := rebuild("o-2\n", "--write"); code != exit.Usage {
		t.Errorf("another id was typed: exit status %d\n%s", code, out)
	}

	if out, code := rebuild("o-1\n", "--write"); code != exit.OK || !strings.HasSuffix(out, "written\n") {
		t.Errorf("exit status %d\n%s", code, out)
	}

	if out, code := run(t, s, "verify"); code != exit.OK {
		t.Errorf("verify: exit status %d\n%s", code, out)
	}
}
