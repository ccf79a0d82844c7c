package orders

import (
	"bytes"
	"context"
	"encoding/json"
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
	"ratchet/transitions"
	"ratchet/workflow"
)

// ownCommands are the commands that write own attributes beside what they are about, with the order that they are for.
var ownCommands = []struct {
	command string
	order   transitions.OrderID
}{
	{"apply o-1 hold --request-id k-7", "o-1"},
	{"edit add-item o-1 cup:1:5 --event-id k-1", "o-1"},
	{"edit change-item o-1 mug:2:5 --event-id k-2", "o-1"},
	{"edit remove-item o-1 mug --event-id k-3", "o-1"},
	{"edit set-address o-1 shipping city=Ulm --event-id k-4", "o-1"},
	{"edit add-note o-1 x --event-id k-5", "o-1"},
	{"edit set-own o-1 --event-id k-6", "o-1"},
	{"ship o-2 mug:1 --parcel p-1 --force --reason by-hand", "o-2"},
}

// twoOrders places two orders with own attributes, of which the second one is paid, in a table whose own attribute
// "shelf" is the key of an index.
func twoOrders(ctx context.Context, b *server.Backend) error {
	if _, err := b.DynamoDB.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName:            &b.Tables.Orders,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("shelf"), AttributeType: types.ScalarAttributeTypeS}},
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName:  aws.String("by-shelf"),
			KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("shelf"), KeyType: types.KeyTypeHash}},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}}},
	}); err != nil {
		return err
	}

	for _, id := range []transitions.OrderID{"o-1", "o-2"} {
		if _, err := b.Orders.Create(ctx, transitions.NewOrder{
			ID: id, Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: 5}}, Total: transitions.Money{Amount: 10, Currency: "EUR"},
			Own: transitions.Attributes{"color": &types.AttributeValueMemberS{Value: "red"}, "size": &types.AttributeValueMemberN{Value: "3"}},
		}); err != nil {
			return err
		}
	}
	_, err := b.Orders.Apply(ctx, transitions.Request{OrderID: "o-2", Event: workflow.Pay, TransitionID: 2})

	return err
}

// Each command that changes an order refuses own attributes by the same rules, changes nothing then, and does not
// print their values.
func TestEveryCommandRefusesOwnAttributes(t *testing.T) {
	s := commandtest.OrdersAt(t, twoOrders)

	for _, c := range ownCommands {
		for _, row := range []struct {
			own    string
			status int
			says   string
		}{
			{"--set total=secret", exit.Usage, `own/set/total: attribute "total": is one of Ratchet's fields: total`},
			{"--set orderId=secret", exit.Usage, `own/set/orderId: attribute "orderId": is the key of the table`},
			{"--set a=secret --remove a", exit.Usage, `own/remove/0: attribute "a": `},
			{`--set shelf={"N":"1234"}`, exit.Usage, `own/set/shelf: must be of type S, not N: it is a key of the index "by-shelf"`},
			{"--set shelf=", exit.Usage, `own/set/shelf: must be not empty: it is a key of the index "by-shelf"`},
			{"--set a", exit.Usage, "own attribute number 1: must be NAME=VALUE"},
			{"--set a=secret --if color=secret", exit.Refused, `own attribute "color" has another value than the request needs`},
			{`--set a=secret --if size={"N":"1234"}`, exit.Refused, `own attribute "size" has another value than the request needs`},
			{"--set a=secret --if phone=secret", exit.Refused, `own attribute "phone" has another value than the request needs`},
			{"--set a=secret --if-missing size", exit.Refused, `own attribute "size" exists, and the request needs that it does not`},
		} {
			said, status := said(t, s, strings.Fields(c.command+" "+row.own))

			if status != row.status || !strings.Contains(said, row.says) || strings.Contains(said, "secret") || strings.Contains(said, "1234") {
				t.Errorf("%s %s: exit status %d, %q, want %d, %q", c.command, row.own, status, said, row.status, row.says)
			}
		}
	}

	wantOwn(t, s, `{"color":{"S":"red"},"size":{"N":"3"}}`, "o-1", "o-2")
}

// said runs a command about orders, and returns all that it prints, its error included, and its exit status.
func said(t *testing.T, s *settings.Settings, args []string) (text string, status int) {
	t.Helper()

	var out bytes.Buffer
	c := ordersCommand(s)
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&out)
	c.SilenceErrors, c.SilenceUsage = true, true

	err := c.ExecuteContext(t.Context())
	if err != nil {
		fmt.Fprint(&out, err)
	}

	return out.String(), exit.StatusOf(err)
}

// wantOwn wants the own attributes of orders.
func wantOwn(t *testing.T, s *settings.Settings, want string, ids ...transitions.OrderID) {
	t.Helper()

	if err := s.With(t.Context(), func(b *server.Backend) error {
		for _, id := range ids {
			order, _, err := b.Orders.Get(t.Context(), id)
			if err != nil {
				return err
			}

			own, err := json.Marshal(order.Own)
			if err != nil {
				return err
			}

			if string(own) != want {
				t.Errorf("order %s has %s, want %s", id, own, want)
			}
		}

		return nil
	}); err != nil {
		t.Error(err)
	}
}

// Each command writes own attributes with what it is about. A repeat changes nothing, and one with others is refused.
func TestEveryCommandWritesOwnAttributes(t *testing.T) {
	for _, c := range ownCommands {
		s := commandtest.OrdersAt(t, twoOrders)
		args := strings.Fields(c.command + " --set shelf=B7 --remove size --if color=red --if-missing shelf")

		for _, verdict := range []string{"Applied", "Replayed"} {
			if text, status := said(t, s, args); status != exit.OK || !strings.HasPrefix(text, verdict) {
				t.Errorf("%s: exit status %d, %s, want %s", c.command, status, text, verdict)
			}
		}

		if text, status := said(t, s, strings.Fields(c.command+" --set shelf=B8")); status != exit.Refused || !strings.HasPrefix(text, "Conflict") {
			t.Errorf("%s with another value: exit status %d, %s, want Conflict", c.command, status, text)
		}

		wantOwn(t, s, `{"color":{"S":"red"},"shelf":{"S":"B7"}}`, c.order)
	}
}
