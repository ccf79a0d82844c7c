package executions_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/operate/executions"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestAStartIsRepeatedUnderALaterDefinition that refuses the content: what was placed or started before is
// found, and only a new order is refused.
func TestAStartIsRepeatedUnderALaterDefinition(t *testing.T) {
	e := newOrderExecutions(t)
	e.place("wait-both")

	if _, err := e.orders.Create(t.Context(), content("wait-placed")); err != nil {
		t.Fatal(err)
	}

	started := map[transitions.OrderID]string{}
	for _, id := range []transitions.OrderID{"wait-both", "wait-started"} {
		arn, err := e.Start(t.Context(), e.machine, content(id))
		if err != nil {
			t.Fatal(err)
		}
		started[id] = arn
	}

	spec := workflow.Order().Spec()
	spec.Version, spec.Content = 2, []workflow.Part{workflow.PartItems, workflow.PartTotal} // no customer

	d, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}

	later, err := executions.New(executions.Config{
		SFN:     e.sfn,
		Orders:  e.kit.Orders(func(c *transitions.Config) { c.Definition, c.Versions = d, []int{1} }),
		Machine: func(context.Context) (string, error) { return e.machine, nil },
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, id := range []transitions.OrderID{"wait-both", "wait-started", "wait-placed"} {
		arn, err := later.Start(t.Context(), e.machine, content(id))
		if err != nil || started[id] != "" && arn != started[id] {
			t.Errorf("%s: %s, %v, want %s", id, arn, err, started[id])
		}

		other := content(id)
		other.Customer = "c-2"

		if _, err := later.Start(t.Context(), e.machine, other); !errors.Is(err, executions.ErrOtherOrder) {
			t.Errorf("%s with other content: %v", id, err)
		}
	}

	if _, err := later.Start(t.Context(), e.machine, content("wait-new")); !errors.Is(err, transitions.ErrInvalidRequest) {
		t.Errorf("a new order: %v", err)
	}

	if _, exists, err := later.Current(t.Context(), "wait-new"); exists || err != nil {
		t.Errorf("the refused order has an execution: %v, %v", exists, err)
	}
}

// TestAnOrderOfAnUnknownVersionIsListed once a deployment would be over, and without its other problems, which nothing
// mends before it is migrated.
func TestAnOrderOfAnUnknownVersionIsListed(t *testing.T) {
	e := newOrderExecutions(t)
	e.place("o-failed")
	e.ended("o-failed")

	_, err := e.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                 aws.String(shop.OrdersTable),
		Key:                       map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: "o-failed"}},
		UpdateExpression:          aws.String("SET definitionVersion = :version"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":version": &types.AttributeValueMemberN{Value: "99"}},
	})
	if err != nil {
		t.Fatal(err)
	}

	got, _ := e.survey(time.Now(), executions.Filter{})
	equal(t, "while another version is deployed", got, []string(nil))

	got, all := e.survey(time.Now().Add(time.Hour), executions.Filter{})
	equal(t, "listed", got, []string{"o-failed unknown version"})

	if !strings.Contains(all[0].Cause, "version 99") || !strings.HasPrefix(all[0].Commands[0], "ratchet workflow migrate") {
		t.Errorf("%+v", all[0])
	}
}

// TestAnOrderThatCannotBeReadIsListed beside the others, and does not hide the others.
func TestAnOrderThatCannotBeReadIsListed(t *testing.T) {
	e := newOrderExecutions(t)
	e.place("o-failed")
	e.ended("o-failed")
	e.place("wait-damaged")

	_, err := e.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                 aws.String(shop.OrdersTable),
		Key:                       map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: "wait-damaged"}},
		UpdateExpression:          aws.String("SET transitionId = :text"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":text": &types.AttributeValueMemberS{Value: "two"}},
	})
	if err != nil {
		t.Fatal(err)
	}

	got, all := e.survey(time.Now(), executions.Filter{})
	equal(t, "listed", got, []string{"o-failed failed", "wait-damaged unreadable"})

	for _, p := range all {
		if p.Kind == executions.Unreadable {
			equal(t, "cause", p.Cause, "the order cannot be read: attribute transitionId is not a number")
		}
	}

	got, _ = e.survey(time.Now(), executions.Filter{Orders: []transitions.OrderID{"wait-damaged", "o-failed"}})
	equal(t, "named", got, []string{"o-failed failed", "wait-damaged unreadable"})

	got, _ = e.survey(time.Now(), executions.Filter{Error: "Other"})
	equal(t, "with an error of an execution", got, []string(nil))
}
