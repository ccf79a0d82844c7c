package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/internal/dynamo"
)

const (
	readTable     = "bench-pages"
	transactTable = "bench-transactions"
	recordTable   = "bench-records"
	readCallers   = 8
	pageItems     = 100  // of a Query
	pageRecords   = 1000 // of a GetRecords
	batchItems    = 25   // of a BatchWriteItem, at most
	pageBytes     = pageItems * 200
	recordsBytes  = pageRecords * 200
)

// benchEngineReads compares a Query of 100 items, a TransactWriteItems of three updates, an
// UpdateItem and a GetRecords of 1,000 records with the same calls to DynamoDB Local, and with a
// server that answers at once with as many bytes: over loopback, with a client that does not decode
// the answers.
func benchEngineReads(ctx context.Context, work size) ([]figure, error) {
	return onDisk(func(dir string) (figures []figure, err error) {
		var others []func(context.Context, string) (*rival, error)
		if !work.short() {
			others = append(others, openRivalLocal)
		}

		if os.Getenv("BENCH_BEFORE") != "" {
			others = []func(context.Context, string) (*rival, error){openRivalBefore}
		}

		all, err := openRivals(ctx, dir, others...)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, all.stop()) }()

		iterators := map[*rival][]byte{}
		for _, r := range all {
			if err := fillPages(ctx, r); err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}

			if iterators[r], err = fillRecords(ctx, r); err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}
		}

		// This server is started after the tables are filled, because it has no tables.
		nothing, err := openRivalNothing(ctx, dir)
		if err != nil {
			return nil, err
		}
		all = append(all, nothing)

		for _, part := range []struct {
			name, about string
			callers     int
			pieces      int
			answer      int64 // its least size in bytes
			way         func(*rival) way
		}{
			{"query", "Query of 100 items of 200 bytes over loopback, 8 clients", readCallers, 16 * readCallers, pageBytes, queries},
			{"transact", "TransactWriteItems of three conditional updates over loopback, 8 clients, synced to disk", readCallers, 16 * readCallers, 0, transactions},
			{"update_raw", "conditional UpdateItem over loopback, 32 clients, synced to disk", 32, 32 * readCallers, 0, rawUpdates},
			{"records", "GetRecords of 1,000 records with both images of 200 bytes over loopback, 8 clients", readCallers, 4 * readCallers, recordsBytes, func(r *rival) way {
				return readings(r, targetStreams+"GetRecords", iterators[r], recordsBytes)
			}},
		} {
			f, err := all.compare(ctx, work, part.callers, part.pieces, part.name, "", part.about, func(r *rival) way {
				// The server that answers nothing is asked for an answer of the same size.
				if r == nothing {
					return readings(r.answering(part.answer), part.name, nil, part.answer)
				}

				return part.way(r)
			})
			if err != nil {
				return figures, err
			}
			figures = append(figures, f...)
		}

		return figures, nil
	})
}

// batch writes items in batches, eight at a time.
func batch(ctx context.Context, db *dynamodb.Client, table string, items int, item func(n int) dynamo.Item) error {
	return share(ctx, readCallers, (items+batchItems-1)/batchItems, func(ctx context.Context, n int) error {
		var writes []types.WriteRequest
		for i := n * batchItems; i < min((n+1)*batchItems, items); i++ {
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: item(i)}})
		}

		out, err := db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: writes}})
		// A part of a batch would make the pages short.
		if err == nil && len(out.UnprocessedItems) > 0 {
			err = errors.New("a batch was not written as a whole")
		}

		return err
	})
}

// fillPages makes a page of items for each caller, and the items of the transactions.
func fillPages(ctx context.Context, r *rival) error {
	if err := r.tables(ctx, keyedTable(readTable, "orderId", "line"), keyedTable(transactTable, "orderId", "")); err != nil {
		return err
	}

	err := batch(ctx, r.db, readTable, readCallers*pageItems, func(n int) dynamo.Item {
		item := updateItem("o-" + strconv.Itoa(n/pageItems))
		// The sort key makes the items of one order a page.
		item["line"] = dynamo.N(int64(n % pageItems))

		return item
	})
	if err != nil {
		return err
	}

	return batch(ctx, r.db, transactTable, 32*readCallers*4, func(n int) dynamo.Item {
		return updateItem(fmt.Sprintf("o-%d-%d", n/4, n%4)) // rawUpdates changes the fourth item
	})
}

// fillRecords makes the records and returns the body of a GetRecords that reads them all.
func fillRecords(ctx context.Context, r *rival) ([]byte, error) {
	in := keyedTable(recordTable, "orderId", "")
	in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages}

	if err := r.tables(ctx, in); err != nil {
		return nil, err
	}

	// Each item is written twice, so half of the records have two images.
	for pass := range 2 {
		err := batch(ctx, r.db, recordTable, pageRecords/2, func(n int) dynamo.Item {
			item := updateItem("o-" + strconv.Itoa(n))
			item["revision"] = dynamo.N(int64(pass))

			return item
		})
		if err != nil {
			return nil, err
		}
	}

	table, err := r.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(recordTable)})
	if err != nil {
		return nil, err
	}

	streams := dynamodbstreams.New(dynamodbstreams.Options{
		Region:       "us-east-1",
		BaseEndpoint: &r.url,
		Credentials:  credentials.NewStaticCredentialsProvider("bench", "bench", ""),
	})

	stream, err := streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: table.Table.LatestStreamArn})
	if err != nil {
		return nil, err
	}

	iterator, err := streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn:         table.Table.LatestStreamArn,
		ShardId:           stream.StreamDescription.Shards[0].ShardId,
		ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		return nil, err
	}

	records, err := streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator.ShardIterator})
	// A page with fewer records would be compared with a full one.
	if err == nil && len(records.Records) != pageRecords {
		err = fmt.Errorf("%d records are in the page, want %d", len(records.Records), pageRecords)
	}

	// The iterator of a TRIM_HORIZON can be used again and again: nothing is trimmed meanwhile.
	return fmt.Appendf(nil, `{"ShardIterator":%q,"Limit":%d}`, *iterator.ShardIterator, pageRecords), err
}

// readings returns the way to make the same call again and again. Its answers must have at least
// that number of bytes.
func readings(r *rival, target string, body []byte, least int64) way {
	return way{
		prepare: func(context.Context, int) error { return nil },
		do: func(ctx context.Context, _, _ int) error {
			size, err := r.raw.call(ctx, target, body)
			if err == nil && size < least {
				err = fmt.Errorf("%s answered %d bytes, want %d or more", target, size, least)
			}

			return err
		},
	}
}

func queries(r *rival) way {
	bodies := make([][]byte, readCallers)
	for n := range bodies {
		bodies[n] = fmt.Appendf(nil, `{"TableName":%q,"KeyConditionExpression":"orderId = :id","ExpressionAttributeValues":{":id":{"S":"o-%d"}}}`, readTable, n)
	}

	return way{
		prepare: func(context.Context, int) error { return nil },
		do: func(ctx context.Context, _, piece int) error {
			size, err := r.raw.call(ctx, targetDynamoDB+"Query", bodies[piece%readCallers])
			if err == nil && size < pageBytes {
				err = fmt.Errorf("a Query answered %d bytes", size)
			}

			return err
		},
	}
}

// transactions returns the way to update three items once each in a round, in one transaction.
func transactions(r *rival) way {
	return way{
		prepare: func(context.Context, int) error { return nil },
		do: func(ctx context.Context, round, piece int) error {
			updates := make([]string, 3)
			for n := range updates {
				updates[n] = `{"Update":` + rawUpdate(piece, n, round) + `}`
			}

			_, err := r.raw.call(ctx, targetDynamoDB+"TransactWriteItems", []byte(`{"TransactItems":[`+strings.Join(updates, ",")+`]}`))

			return err
		},
	}
}

// rawUpdates returns the way to update an item once in a round.
func rawUpdates(r *rival) way {
	return way{
		prepare: func(context.Context, int) error { return nil },
		do: func(ctx context.Context, round, piece int) error {
			_, err := r.raw.call(ctx, targetDynamoDB+"UpdateItem", []byte(rawUpdate(piece, 3, round)))
			return err
		},
	}
}

// rawUpdate returns an update of one of the four items of a piece.
func rawUpdate(piece, item, round int) string {
	// From the revision of the round before, so each update changes the item.
	return fmt.Sprintf(`{"TableName":%q,"Key":{"orderId":{"S":"o-%d-%d"}},"ConditionExpression":%q,"UpdateExpression":%q,`+
		`"ExpressionAttributeValues":{":from":{"N":"%d"},":to":{"N":"%d"},":state":{"S":"PAYMENT_RECEIVED"},":at":{"S":"2026-11-23T08:00:01Z"}}}`,
		transactTable, piece, item, updateCondition, updateChange, round, round+1)
}
