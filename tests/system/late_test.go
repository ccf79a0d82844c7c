package system

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/notify"
	"ratchet/operate/erasure"
	"ratchet/transitions"
	"ratchet/workflow"
)

// beforeItem calls first before the write of the order's item.
type beforeItem struct {
	*dynamodb.Client

	first func()
}

func (b beforeItem) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	b.first()

	return b.Client.TransactWriteItems(ctx, in, opts...)
}

// TestALetterThatCannotBeReadIsNamed: all but the order itself is erased, so that a repeat finds it when
// the letter is discarded.
func TestALetterThatCannotBeReadIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t)
		settle()

		letters, _, err := e.Backend.DeadLetters().List(t.Context(), "breaks", "", 2)
		if err != nil || len(letters) != 2 {
			t.Fatalf("%d letters, %v", len(letters), err)
		}

		broken := letters[1].ID

		_, err = e.Backend.DynamoDB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &e.Backend.Tables.DeadLetters,
			Key: map[string]types.AttributeValue{
				"source": &types.AttributeValueMemberS{Value: "streams/breaks"},
				"id":     &types.AttributeValueMemberS{Value: broken},
			},
			ConditionExpression:       aws.String("attribute_exists(id)"),
			UpdateExpression:          aws.String("SET #record = :half"),
			ExpressionAttributeNames:  map[string]string{"#record": "record"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":half": &types.AttributeValueMemberS{Value: `{"new": "` + person}},
		})
		if err != nil {
			t.Fatal(err)
		}

		done, err := e.eraser().Erase(t.Context(), "o-1")
		if !errors.Is(err, erasure.ErrUnreadableDeadLetters) || !strings.Contains(err.Error(), "breaks "+broken) || done.DeadLetters < 4 || done.Reports != 1 {
			t.Errorf("erased %+v, %v", done, err)
		}

		if left := e.tables(); !e.order().ErasedAt.IsZero() || len(left["dead-letters"]) != 1 || len(left["deliveries"])+len(left["order-events"]) > 0 {
			t.Errorf("before the letter is discarded: the order is erased at %v, and the person is in %v", e.order().ErasedAt, left)
		}

		if err := e.Backend.DeadLetters().Delete(t.Context(), "breaks", broken); err != nil {
			t.Fatal(err)
		}
		settle()

		if _, err := e.eraser().Erase(t.Context(), "o-1"); err != nil {
			t.Errorf("without the letter: %v", err)
		}
		settle()

		// The handler that breaks has given up on the erasure's own record, too.
		if _, err := e.eraser().Erase(t.Context(), "o-1"); err != nil {
			t.Errorf("once more: %v", err)
		}

		for table, items := range e.tables() {
			t.Errorf("table %s has %d items of the person, like %s", table, len(items), items[0])
		}
	})
}

// TestListsThatAreNotKeptAnyMoreAreErased: their rows name the customer.
func TestListsThatAreNotKeptAnyMoreAreErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t)
		settle()

		e.Backend.Config.OrderLists, e.Backend.Lists = false, nil

		if len(e.tables()["order-lists"]) == 0 {
			t.Fatal("before: nothing in the lists")
		}

		if _, err := e.eraser().Erase(t.Context(), "o-1"); err != nil {
			t.Fatal(err)
		}

		for _, item := range e.tables()["order-lists"] {
			t.Errorf("the lists have %s", item)
		}

		// Without the table, an erasure works as before.
		if _, err := e.Backend.DynamoDB.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &e.Backend.Tables.OrderLists}); err != nil {
			t.Fatal(err)
		}

		if _, err := e.eraser().Erase(t.Context(), "o-1"); err != nil {
			t.Errorf("without the table: %v", err)
		}
	})
}

// TestANotificationOfALateHandlerIsErased: a handler of a change that came late has read the order
// before the erasure, and stores its notification when the deliveries were erased already.
func TestANotificationOfALateHandlerIsErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t)
		settle()

		b := e.Backend
		late := beforeItem{b.DynamoDB, func() {
			n := notify.Notification{
				Key: "o-1/4/late", OrderID: "o-1", TransitionID: 4, State: workflow.Delivered, Event: workflow.Deliver, At: time.Now(),
				Attributes: map[string]string{"customer": person + "-customer"}, Cause: transitions.Cause{Text: person + "-late"},
			}
			if err := b.Deliveries.Accept(t.Context(), n); err != nil {
				t.Error(err)
			}
		}}

		eraser, err := erasure.New(erasure.Config{
			DynamoDB: late, Orders: b.Orders, OrdersTable: b.Tables.Orders, RefusalsTable: b.Tables.Refusals,
			Deliveries: b.Deliveries, Reports: b.Reports, DeadLetters: b.DeadLetters(), Handlers: b.HandlerNames(), QuietFor: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}

		done, err := eraser.Erase(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		if left := e.tables()["deliveries"]; len(left) != 0 || done.Deliveries < 2 {
			t.Errorf("%+v, and left is %s", done, left)
		}
	})
}
