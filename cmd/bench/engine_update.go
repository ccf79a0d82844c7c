package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded"
	"ratchet/internal/dynamo"
)

const (
	updateTable   = "bench-updates"
	updateItems   = 1024 // updated once each in a round of 32 clients
	updateItems1  = 128  // and in a round of one client
	updateWarmUps = 2    // rounds before the first one: Java compiles what has run often
)

// benchEngineUpdate compares conditional UpdateItems over loopback, by the SDK's client in this
// process, with 32 clients and with one. Each server is a process of its own.
func benchEngineUpdate(ctx context.Context, work size) ([]figure, error) {
	return onDisk(func(dir string) (figures []figure, err error) {
		others := []func(context.Context, string) (*rival, error){openRivalNothing}
		if !work.short() {
			others = append(others, openRivalLocal, openRivalDynoxideFile, openRivalDynoxideMemory)
		}

		if os.Getenv("BENCH_BEFORE") != "" {
			// A comparison with an earlier build needs no other server.
			others = []func(context.Context, string) (*rival, error){openRivalNothing, openRivalBefore}
		}

		all, err := openRivals(ctx, dir, others...)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, all.stop()) }()

		for _, r := range all {
			if err := r.tables(ctx, keyedTable(updateTable, "orderId", "")); err != nil {
				return nil, err
			}
		}

		figures, err = all.compare(ctx, work, 32, updateItems, "update", "", "conditional UpdateItem over loopback, 32 clients, synced to disk",
			func(r *rival) way { return updates(r.db, updateTable, 32, updateItems) })
		if err != nil {
			return figures, err
		}

		// The items of the two comparisons have different names, so neither changes the revisions
		// of the other.
		one, err := all.compare(ctx, work, 1, updateItems1, "update", "_1", "the same, one client",
			func(r *rival) way { return updates(r.db, updateTable, 1, updateItems1) })

		return append(figures, one...), err
	})
}

// keyedTable returns a table with a hash key, a text, and a sort key, a number, unless it is "".
func keyedTable(name, hash, sort string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &hash, AttributeType: types.ScalarAttributeTypeS}},
	}
	if sort != "" {
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: &sort, KeyType: types.KeyTypeRange})
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &sort, AttributeType: types.ScalarAttributeTypeN})
	}

	return in
}

// updateItem returns an item of about 200 bytes.
func updateItem(id string) dynamo.Item {
	return dynamo.Item{
		"orderId":    dynamo.S(id),
		"orderState": dynamo.S("PENDING"),
		"revision":   dynamo.N(0),
		"updatedAt":  dynamo.S("2026-11-23T08:00:00Z"),
		"customer":   dynamo.S("c-123456"),
		"padding":    dynamo.S(strings.Repeat("x", 100)),
	}
}

const (
	updateCondition = "attribute_exists(orderId) AND revision = :from"
	updateChange    = "SET orderState = :state, revision = :to, updatedAt = :at"
)

// updates returns the way to update items once each in a round: each from the revision that the
// round before left.
func updates(db *dynamodb.Client, table string, callers, items int) way {
	id := func(piece int) string { return fmt.Sprintf("o-%d-%d", callers, piece) }

	// Rounds count from 0. The rounds that warm up come before them and count from -updateWarmUps.
	update := func(ctx context.Context, round, piece int) error {
		_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:           &table,
			Key:                 dynamo.Item{"orderId": dynamo.S(id(piece))},
			ConditionExpression: aws.String(updateCondition),
			UpdateExpression:    aws.String(updateChange),
			ExpressionAttributeValues: dynamo.Item{
				// The condition holds only if every round before has updated the item once.
				":from":  &types.AttributeValueMemberN{Value: strconv.Itoa(round + updateWarmUps)},
				":to":    &types.AttributeValueMemberN{Value: strconv.Itoa(round + updateWarmUps + 1)},
				":state": dynamo.S("PAYMENT_RECEIVED"),
				":at":    dynamo.S("2026-11-23T08:00:01Z"),
			},
		})

		return err
	}

	return way{
		prepare: func(ctx context.Context, round int) error {
			// The items are placed once, before the first round.
			if round > 0 {
				return nil
			}

			err := share(ctx, 32, items, func(ctx context.Context, piece int) error {
				_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: updateItem(id(piece))})
				return err
			})
			for before := -updateWarmUps; before < 0 && err == nil; before++ {
				err = share(ctx, callers, items, func(ctx context.Context, piece int) error { return update(ctx, before, piece) })
			}

			return err
		},
		do: update,
	}
}

// benchEngineInProcess compares the same UpdateItem through the SDK's client of the engine in this
// process with the same client over a transport that answers {} at once; there the client also
// signs. Then it compares a table with two indexes with a table without indexes.
func benchEngineInProcess(ctx context.Context, work size) ([]figure, error) {
	return onDisk(func(dir string) (figures []figure, err error) {
		engine, err := embedded.Open(embedded.Config{Dir: dir})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, engine.Close()) }()

		e := &endpoint{name: "the engine in process", db: dynamodb.NewFromConfig(engine.AWSConfig())}
		indexed := indexedTable("bench-indexed")
		if err := e.tables(ctx, keyedTable(updateTable, "orderId", ""), indexed); err != nil {
			return nil, err
		}

		// Signing is a part of every call to AWS, and the engine's client in process leaves it out.
		stub := dynamodb.NewFromConfig(aws.Config{
			Region:      "us-east-1",
			Credentials: credentials.NewStaticCredentialsProvider("bench", "bench", ""),
			HTTPClient:  answeringNothing{},
		})

		const callers = 32

		m, err := turns(ctx, work, callers, updateItems,
			updates(e.db, updateTable, callers, updateItems),
			updates(stub, updateTable, callers, updateItems),
			updates(e.db, *indexed.TableName, callers, updateItems))
		if err != nil {
			return nil, fmt.Errorf("engine in process: %w", err)
		}

		return []figure{
			{
				name:  "engine_update_in_process_per_second",
				value: median(m[0].rates),
				unit:  "1/s",
				about: "conditional UpdateItem through the SDK's client in process, 32 callers, synced to disk",
			},
			{
				name:  "engine_update_vs_stub",
				value: ratio(m[0].rates, m[1].rates),
				about: fmt.Sprintf("the same / the SDK's client, which signs, over a transport that answers {} (%.0f per second)", median(m[1].rates)),
			},
			{
				name:  "engine_update_indexes_cost",
				value: ratio(m[0].rates, m[2].rates),
				about: "time of an UpdateItem of a table with two global indexes, whose entries it changes both / of one without",
			},
			{
				name:  "engine_update_indexes_cpu_cost",
				value: ratio(m[2].cpu, m[0].cpu),
				about: "the same in processor time of this process, the client included",
			},
			{
				name:  "engine_update_in_process_allocs",
				value: median(m[0].allocs),
				about: "allocations of one UpdateItem, the SDK's client and the engine",
			},
		}, nil
	})
}

// indexedTable returns a table with two global indexes over all attributes.
func indexedTable(name string) *dynamodb.CreateTableInput {
	in := keyedTable(name, "orderId", "")
	all := &types.Projection{ProjectionType: types.ProjectionTypeAll}
	in.AttributeDefinitions = append(in.AttributeDefinitions,
		types.AttributeDefinition{AttributeName: aws.String("customer"), AttributeType: types.ScalarAttributeTypeS},
		types.AttributeDefinition{AttributeName: aws.String("orderState"), AttributeType: types.ScalarAttributeTypeS},
		types.AttributeDefinition{AttributeName: aws.String("revision"), AttributeType: types.ScalarAttributeTypeN})
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{
		{
			IndexName:  aws.String("by-customer"),
			Projection: all,
			KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("customer"), KeyType: types.KeyTypeHash}},
		},
		{
			IndexName:  aws.String("by-state"),
			Projection: all,
			KeySchema: []types.KeySchemaElement{
				{AttributeName: aws.String("orderState"), KeyType: types.KeyTypeHash},
				{AttributeName: aws.String("revision"), KeyType: types.KeyTypeRange},
			},
		},
	}

	return in
}

// answeringNothing is an HTTP client that answers {} without a connection.
type answeringNothing struct{}

// Do returns the answer.
func (answeringNothing) Do(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{},
		Body:       io.NopCloser(strings.NewReader("{}")),
		Request:    r,
	}, nil
}
