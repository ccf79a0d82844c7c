package ratchettest_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/tests/shop"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

// settings writes a mapping as the settings have it.
func settings(m server.OrdersTable, attributes map[string]string) server.OrdersTable {
	for field, name := range attributes {
		m.Attributes = append(m.Attributes, field+"="+name)
	}

	return m
}

// An execution brings an order to its delivery in each mapping of the orders' table, beside other entities: the
// stream's reactions, the lists, the journal and the views use the same mapping.
func TestAnOrderIsDeliveredInEveryMapping(t *testing.T) {
	odd := shop.OddMapping()

	for name, table := range map[string]server.OrdersTable{
		"own table":    {},
		"single table": {Key: "pk=ORDER#{id}", Sort: "sk=ORDER"},
		"prefixed":     {Key: "id={id}", Prefix: "ratchet_"},
		"odd names":    settings(server.OrdersTable{Key: odd.PartitionKey + "=" + odd.Key, Sort: odd.SortKey + "=" + odd.Sort}, odd.Attributes),
	} {
		t.Run(name, func(t *testing.T) {
			env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{OrdersTable: table, OrderLists: true}})
			env.SetStock("mug", 10)

			m := env.Backend.Orders.Mapping()
			if m.SortKey != "" {
				other := m.ItemKey("other")
				other[m.SortKey] = &types.AttributeValueMemberS{Value: "LINE#1"}

				if _, err := env.Backend.DynamoDB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(env.Backend.Tables.Orders), Item: other}); err != nil {
					t.Fatal(err)
				}
			}

			const id = "2026/7 é"
			env.Execute(ratchettest.NewOrder(id, "mug"))
			env.WantExecution(id, sfntypes.ExecutionStatusSucceeded)
			env.WantOrder(id, workflow.Delivered, 4)
			env.WantJournal(id, workflow.Pending, workflow.PaymentReceived, workflow.Shipped, workflow.Delivered)
			env.WantEffects(id, "2/shipping", "2/notify", "3/notify", "4/notify")

			env.Wait("the list of delivered orders to have it", func() (bool, string, error) {
				page, err := env.Backend.Lists.Page(t.Context(), lists.Query{State: workflow.Delivered, Limit: 10})
				if err != nil || len(page.Orders) == 0 {
					return false, "empty", err
				}

				return len(page.Orders) == 1 && page.Orders[0].ID == id, string(page.Orders[0].ID), nil
			})

			found, err := inspect.List(t.Context(), env.Backend.Orders, inspect.Page{State: workflow.Delivered, Limit: 10})
			if err != nil || len(found.Orders) != 1 || found.Orders[0].ID != id {
				t.Errorf("the table lists %+v, %v", found, err)
			}

			waits, err := env.Backend.JournalWaits(t.Context(), id)
			if err != nil || waits {
				t.Errorf("the journal waits: %t, %v", waits, err)
			}
		})
	}
}
