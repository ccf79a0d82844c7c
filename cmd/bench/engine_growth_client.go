package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// clientOperations are rawOperations with the SDK's client, as an application makes them.
var clientOperations = []growthOperation{
	{"get", (*grown).clientGet}, {"query", (*grown).clientQuery}, {"update", (*grown).clientUpdate}, {"put", (*grown).clientPut},
}

// id returns the id of a random item.
func (g *grown) id() string { return "o-" + strconv.Itoa(rand.IntN(g.items)) }

func (g *grown) clientGet(ctx context.Context) error {
	out, err := g.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      aws.String(growthTable),
		Key:            dynamo.Item{"orderId": dynamo.S(g.id())},
		ConsistentRead: aws.Bool(true),
	})
	if err == nil && out.Item == nil {
		err = fmt.Errorf("an item of %d is missing", g.items)
	}

	return err
}

func (g *grown) clientQuery(ctx context.Context) error {
	out, err := g.db.Query(ctx, &dynamodb.QueryInput{
		TableName:                 aws.String(growthTable),
		KeyConditionExpression:    aws.String("orderId = :id"),
		ExpressionAttributeValues: dynamo.Item{":id": dynamo.S(g.id())},
	})
	if err == nil && out.Count != 1 {
		err = fmt.Errorf("a Query found %d items", out.Count)
	}

	return err
}

func (g *grown) clientUpdate(ctx context.Context) error {
	_, err := g.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 aws.String(growthTable),
		Key:                       dynamo.Item{"orderId": dynamo.S(g.id())},
		ConditionExpression:       aws.String("attribute_exists(orderId)"),
		UpdateExpression:          aws.String("SET orderState = :state, revision = :to"),
		ExpressionAttributeValues: dynamo.Item{":state": dynamo.S("PAYMENT_RECEIVED"), ":to": dynamo.N(rand.Int64())},
	})

	return err
}

func (g *grown) clientPut(ctx context.Context) error {
	n := g.items + rand.Int()

	_, err := g.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(growthTable),
		Item: dynamo.Item{
			"orderId":    dynamo.S("o-" + strconv.Itoa(n)),
			"orderState": dynamo.S("PENDING"),
			"revision":   dynamo.N(int64(n)),
			"customer":   dynamo.S(fmt.Sprintf("c-%06d", n%1_000_000)),
			"padding":    dynamo.S(strings.Repeat("x", 120)),
		},
		ConditionExpression: aws.String("attribute_not_exists(orderId)"),
	})

	return err
}
