//go:build unix

package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	stypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// benchEngine is an open engine with a table of orders.
func benchEngine(b *testing.B, view types.StreamViewType) (*Engine, *dynamodb.Client) {
	b.Helper()

	e, err := Open(Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	db := dynamodb.NewFromConfig(e.AWSConfig())

	in := &dynamodb.CreateTableInput{
		TableName: aws.String("orders"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("orderId"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("orderId"), AttributeType: types.ScalarAttributeTypeS}},
	}
	if view != "" {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view}
	}

	if _, err := db.CreateTable(b.Context(), in); err != nil {
		b.Fatal(err)
	}

	return e, db
}

const benchItems = 1000

func benchOrder(i int) item {
	return item{
		"orderId": str(fmt.Sprintf("order-%06d", i)), "orderState": str("PAYMENT_RECEIVED"), "transitionId": num("0"),
		"updatedAt": str("2026-11-21T08:00:00Z"), "total": num("129900"), "currency": str("EUR"), "customer": str("c-123456"),
		"items": &types.AttributeValueMemberL{Value: []types.AttributeValue{
			&types.AttributeValueMemberM{Value: item{"sku": str("sku-1"), "n": num("1"), "price": num("100000")}},
			&types.AttributeValueMemberM{Value: item{"sku": str("sku-2"), "n": num("2"), "price": num("14950")}},
		}},
	}
}

func benchFill(b *testing.B, db *dynamodb.Client) {
	b.Helper()

	for i := 0; i < benchItems; i += 25 {
		var writes []types.WriteRequest
		for n := range 25 {
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: benchOrder(i + n)}})
		}

		if _, err := db.BatchWriteItem(b.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"orders": writes}}); err != nil {
			b.Fatal(err)
		}
	}
}

// cpuPerOp runs body and reports the CPU time of the whole process per call, which does not
// depend on other processes or on the speed of the disk.
func cpuPerOp(b *testing.B, body func(*testing.PB)) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	b.RunParallel(body)
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// processorTime returns how long this process has had a processor.
func processorTime(t testing.TB) time.Duration {
	t.Helper()

	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}

	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// discard is a ResponseWriter that keeps only the status.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

func request(target string, body []byte) *http.Request {
	r, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, "/", nil)
	r.Header["X-Amz-Target"] = []string{target}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return r
}

// call calls the handler without a client.
func call(b *testing.B, h http.Handler, target string, body []byte) {
	w := &discard{header: http.Header{}}
	if h.ServeHTTP(w, request(target, body)); w.status != http.StatusOK {
		b.Errorf("%s: status %d", target, w.status)
	}
}

// BenchmarkOpen opens and closes an engine over an empty directory, as tests do.
func BenchmarkOpen(b *testing.B) {
	for range b.N {
		e, err := Open(Config{Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}

		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRawGetItem(b *testing.B) {
	e, db := benchEngine(b, "")
	benchFill(b, db)
	var n atomic.Int64
	cpuPerOp(b, func(pb *testing.PB) {
		for pb.Next() {
			call(b, e.Handler(), "DynamoDB_20120810.GetItem", fmt.Appendf(nil, `{"TableName":"orders","Key":{"orderId":{"S":"order-%06d"}},"ConsistentRead":true}`, n.Add(1)%benchItems))
		}
	})
}

// benchUpdate returns the body of an UpdateItem as a transition of an order sends it.
func benchUpdate(order, transition int64) []byte {
	return fmt.Appendf(nil, `{"TableName":"orders","Key":{"orderId":{"S":"order-%06d"}},`+
		`"ConditionExpression":"attribute_exists(orderId) AND orderState = :from AND (attribute_not_exists(transitionId) OR transitionId < :id)",`+
		`"UpdateExpression":"SET orderState = :to, transitionId = :id, updatedAt = :at",`+
		`"ExpressionAttributeValues":{":from":{"S":"PAYMENT_RECEIVED"},":to":{"S":"PAYMENT_RECEIVED"},":id":{"N":"%d"},":at":{"S":"2026-11-21T08:00:01Z"}},`+
		`"ReturnValues":"ALL_NEW","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`, order, transition)
}

func BenchmarkRawUpdateItem(b *testing.B) {
	for _, view := range []types.StreamViewType{"", types.StreamViewTypeNewAndOldImages} {
		b.Run("stream="+string(view), func(b *testing.B) {
			e, db := benchEngine(b, view)
			benchFill(b, db)
			var callers atomic.Int64
			b.SetParallelism(100)
			cpuPerOp(b, func(pb *testing.PB) {
				order := callers.Add(1) // of this caller alone, so that its transitions are in order
				for transition := int64(1); pb.Next(); transition++ {
					call(b, e.Handler(), "DynamoDB_20120810.UpdateItem", benchUpdate(order, transition))
				}
			})
		})
	}
}

func BenchmarkSDKGetItem(b *testing.B) {
	_, db := benchEngine(b, "")
	benchFill(b, db)
	var n atomic.Int64
	cpuPerOp(b, func(pb *testing.PB) {
		for pb.Next() {
			_, err := db.GetItem(b.Context(), &dynamodb.GetItemInput{TableName: aws.String("orders"), ConsistentRead: aws.Bool(true),
				Key: item{"orderId": str(fmt.Sprintf("order-%06d", n.Add(1)%benchItems))}})
			if err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkSDKGetItemOnANewGoroutine calls as handlers do: the stack of their goroutine is small before the call.
func BenchmarkSDKGetItemOnANewGoroutine(b *testing.B) {
	_, db := benchEngine(b, "")
	benchFill(b, db)
	var n atomic.Int64
	cpuPerOp(b, func(pb *testing.PB) {
		for pb.Next() {
			done := make(chan error, 1)
			go func() {
				_, err := db.GetItem(b.Context(), &dynamodb.GetItemInput{TableName: aws.String("orders"), ConsistentRead: aws.Bool(true),
					Key: item{"orderId": str(fmt.Sprintf("order-%06d", n.Add(1)%benchItems))}})
				done <- err
			}()

			if err := <-done; err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkSDKUpdateItem(b *testing.B) {
	_, db := benchEngine(b, types.StreamViewTypeNewAndOldImages)
	benchFill(b, db)
	var callers atomic.Int64
	b.SetParallelism(100)
	cpuPerOp(b, func(pb *testing.PB) {
		order := callers.Add(1) // of this caller alone, so that its transitions are in order
		for transition := 1; pb.Next(); transition++ {
			_, err := db.UpdateItem(b.Context(), &dynamodb.UpdateItemInput{TableName: aws.String("orders"),
				Key:                 item{"orderId": str(fmt.Sprintf("order-%06d", order))},
				ConditionExpression: aws.String("attribute_exists(orderId) AND orderState = :from AND (attribute_not_exists(transitionId) OR transitionId < :id)"),
				UpdateExpression:    aws.String("SET orderState = :to, transitionId = :id, updatedAt = :at"),
				ExpressionAttributeValues: item{":from": str("PAYMENT_RECEIVED"), ":to": str("PAYMENT_RECEIVED"),
					":id": num(fmt.Sprint(transition)), ":at": str("2026-11-21T08:00:01Z")},
				ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			})
			if err != nil {
				b.Error(err)
			}
		}
	})
}

// benchPage is an engine with a page of 100 items, and the body of the Query that reads it.
func benchPage(b *testing.B) (h http.Handler, body []byte) {
	b.Helper()
	e, _ := benchEngine(b, "")
	h = e.Handler()
	call(b, h, "DynamoDB_20120810.CreateTable", []byte(`{"TableName":"lines","BillingMode":"PAY_PER_REQUEST",`+
		`"KeySchema":[{"AttributeName":"orderId","KeyType":"HASH"},{"AttributeName":"line","KeyType":"RANGE"}],`+
		`"AttributeDefinitions":[{"AttributeName":"orderId","AttributeType":"S"},{"AttributeName":"line","AttributeType":"N"}]}`))

	for n := range 100 {
		call(b, h, "DynamoDB_20120810.PutItem", fmt.Appendf(nil, `{"TableName":"lines","Item":{"orderId":{"S":"o-1"},"line":{"N":"%d"},`+
			`"orderState":{"S":"PENDING"},"revision":{"N":"0"},"updatedAt":{"S":"2026-11-23T08:00:00Z"},"padding":{"S":"%0120d"}}}`, n, n))
	}

	return h, []byte(`{"TableName":"lines","KeyConditionExpression":"orderId = :id","ExpressionAttributeValues":{":id":{"S":"o-1"}}}`)
}

// BenchmarkRawQuery reads pages of 100 items.
func BenchmarkRawQuery(b *testing.B) {
	h, body := benchPage(b)
	cpuPerOp(b, func(pb *testing.PB) {
		for pb.Next() {
			call(b, h, "DynamoDB_20120810.Query", body)
		}
	})
}

// BenchmarkLoopbackQuery reads the same pages over a socket, with eight clients on two processors.
func BenchmarkLoopbackQuery(b *testing.B) {
	h, body := benchPage(b)
	server := httptest.NewServer(h)
	defer server.Close()

	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	defer client.CloseIdleConnections()

	b.SetParallelism(4)
	cpuPerOp(b, func(pb *testing.PB) {
		for pb.Next() {
			r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL, bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			r.Header.Set("X-Amz-Target", "DynamoDB_20120810.Query")

			res, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}

			_, err = io.Copy(io.Discard, res.Body)
			if err := errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != http.StatusOK {
				b.Errorf("status %d: %v", res.StatusCode, err)
			}
		}
	})
}

// BenchmarkRawGetRecords reads pages of 1000 records with both images.
func BenchmarkRawGetRecords(b *testing.B) {
	e, db := benchEngine(b, types.StreamViewTypeNewAndOldImages)
	benchFill(b, db)
	streams := dynamodbstreams.NewFromConfig(e.AWSConfig())

	list, err := streams.ListStreams(b.Context(), &dynamodbstreams.ListStreamsInput{})
	if err != nil {
		b.Fatal(err)
	}

	d, err := streams.DescribeStream(b.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: list.Streams[0].StreamArn})
	if err != nil {
		b.Fatal(err)
	}

	it, err := streams.GetShardIterator(b.Context(), &dynamodbstreams.GetShardIteratorInput{StreamArn: list.Streams[0].StreamArn,
		ShardId: d.StreamDescription.Shards[0].ShardId, ShardIteratorType: stypes.ShardIteratorTypeTrimHorizon})
	if err != nil {
		b.Fatal(err)
	}
	body := fmt.Appendf(nil, `{"ShardIterator":%q}`, *it.ShardIterator)
	cpuPerOp(b, func(pb *testing.PB) {
		for pb.Next() {
			call(b, e.Handler(), "DynamoDBStreams_20120810.GetRecords", body)
		}
	})
}

// BenchmarkRawLostRace measures an UpdateItem whose condition fails and that returns the item.
func BenchmarkRawLostRace(b *testing.B) {
	e, db := benchEngine(b, types.StreamViewTypeNewAndOldImages)
	benchFill(b, db)
	cpuPerOp(b, func(pb *testing.PB) {
		for pb.Next() {
			r := request("DynamoDB_20120810.UpdateItem", []byte(`{"TableName":"orders","Key":{"orderId":{"S":"order-000001"}},`+
				`"ConditionExpression":"attribute_exists(orderId) AND orderState = :from","UpdateExpression":"SET orderState = :to",`+
				`"ExpressionAttributeValues":{":from":{"S":"NEW"},":to":{"S":"PAYMENT_RECEIVED"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`))
			w := &discard{header: http.Header{}}
			if e.Handler().ServeHTTP(w, r); w.status != http.StatusBadRequest {
				b.Errorf("status %d", w.status)
			}
		}
	})
}
