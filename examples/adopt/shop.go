package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/file"
)

// table is the shop's table. Its items are orders and their lines.
const table = "shop"

//go:embed workflow.yaml
var definition []byte

// mapping says how the shop's orders stand in the table. ratchet.yaml says the same for the command `ratchet`.
var mapping = transitions.Mapping{
	PartitionKey: "pk", Key: "ORDER#{id}", SortKey: "sk", Sort: "ORDER",
	Prefix: "rt_", Attributes: map[string]string{"orderState": "status"},
}

// shop has orders.
type shop struct {
	db     *dynamodb.Client
	orders *transitions.Orders
}

func openShop(endpoint string) (*shop, error) {
	db := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(cmp.Or(endpoint, "http://127.0.0.1:8700")),
		Credentials: credentials.NewStaticCredentialsProvider("shop", "shop", ""),
	})

	d, err := file.Parse("workflow.yaml", definition, func(*workflow.Definition) error { return nil })
	if err != nil {
		return nil, err
	}

	orders, err := transitions.New(transitions.Config{
		DynamoDB: db, Table: table, Mapping: mapping, Definition: d,
		JournalTable: "shop-order-events", RequestsTable: "shop-order-requests",
	})

	return &shop{db, orders}, err
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// fill makes the table, with a stream of both images, and four orders with a line each.
func (s *shop) fill(ctx context.Context) error {
	if _, err := s.db.CreateTable(ctx, mapping.OrdersTable(table)); err != nil {
		return err
	}

	for id, status := range map[string]string{"o-1": "paid", "o-2": "new", "o-3": "paid", "o-4": "sent"} {
		for _, item := range []map[string]types.AttributeValue{
			{"pk": text("ORDER#" + id), "sk": text("ORDER"), "status": text(status), "customer": text("c-77"), "shelf": text("A 7")},
			{"pk": text("ORDER#" + id), "sk": text("LINE#1"), "sku": text("mug")},
		} {
			if _, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(table), Item: item}); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Println("4 orders")

	return err
}

// set writes the status, whatever the order's is.
func (s *shop) set(ctx context.Context, id, status string) error {
	_, err := s.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 aws.String(table),
		Key:                       mapping.ItemKey(transitions.OrderID(id)),
		UpdateExpression:          aws.String("SET #status = :status"),
		ExpressionAttributeNames:  map[string]string{"#status": "status"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":status": text(status)},
	})
	if err == nil {
		_, err = fmt.Printf("order %s is %s\n", id, status)
	}

	return err
}

// events are the events that the shop's statuses stand for.
var events = map[string]workflow.Event{"paid": "pay", "sent": "send", "done": "finish", "canceled": "cancel"}

// shadow lets Ratchet judge what the shop is about to write, and writes it whatever the answer is.
func (s *shop) shadow(ctx context.Context, id, status string) error {
	judged, err := s.orders.Preview(ctx, transitions.Request{OrderID: transitions.OrderID(id), Event: events[status]})

	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "order %s to %s: not judged: %v\n", id, status, err)
	case judged.Verdict != transitions.Applied:
		fmt.Fprintf(os.Stderr, "order %s to %s: would be refused: %s, it is %s\n", id, status, judged.Verdict, judged.Order.State)
	case string(judged.Transition.To) != status:
		fmt.Fprintf(os.Stderr, "order %s to %s: would be %s\n", id, status, judged.Transition.To)
	}

	return s.set(ctx, id, status)
}

// guarded asks for the event. The condition of the one write decides, and the request id makes a repeat harmless.
func (s *shop) guarded(ctx context.Context, id string, event workflow.Event, request transitions.RequestID) error {
	result, err := s.orders.Apply(ctx, transitions.Request{OrderID: transitions.OrderID(id), Event: event, RequestID: request})
	if err != nil {
		return err
	}

	if result.Order == nil {
		_, err = fmt.Printf("%s: there is no order %s\n", result.Verdict, id)
		return err
	}

	_, err = fmt.Printf("%s: order %s is %s\n", result.Verdict, id, result.Order.State)

	return err
}
