package sandbox

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// dynamoDB has the methods of the SDK's client that this package calls.
type dynamoDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Table describes the table of a bank, with the key paymentKey.
func Table(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey("paymentKey"))
}

// Config configures a [Bank].
type Config struct {
	// DynamoDB and Table are required. The function Table describes the table.
	DynamoDB dynamoDB
	Table    string
	// DeclinePercent is the share of the orders whose payments are declined: 0 to 100.
	DeclinePercent int
	// TimeoutPercent is the share of the keys for which the first answer is lost: 0 to 100. The request
	// was carried out, and the caller gets payments.ErrTimeout. Only answers of success are lost.
	TimeoutPercent int
}

func (c Config) check() error {
	var faults []error
	if c.DynamoDB == nil {
		faults = append(faults, errors.New("sandbox: Config.DynamoDB: must be set"))
	}

	if c.Table == "" {
		faults = append(faults, errors.New("sandbox: Config.Table: must be set"))
	}

	for name, percent := range map[string]int{"DeclinePercent": c.DeclinePercent, "TimeoutPercent": c.TimeoutPercent} {
		if percent < 0 || percent > 100 {
			faults = append(faults, fmt.Errorf("sandbox: Config.%s %d: 0 to 100", name, percent))
		}
	}

	return errors.Join(faults...)
}

// Bank charges, holds and returns money that does not exist. It is safe for concurrent use.
type Bank struct {
	cfg    Config
	writer *txn.Writer
}

// New returns a Bank. The error names every field that breaks a rule.
func New(cfg Config) (*Bank, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	writer, err := txn.New(txn.Config{DynamoDB: cfg.DynamoDB})
	if err != nil {
		return nil, err
	}

	return &Bank{cfg: cfg, writer: writer}, nil
}

// Statuses of an item of the table. The texts are stored.
const (
	statusDeclined   = "DECLINED"
	statusVoided     = "VOIDED"
	statusAuthorized = "AUTHORIZED"
	statusSold       = "SOLD"
	statusCaptured   = "CAPTURED"
	statusRefunded   = "REFUNDED"
)

// Declines reports whether the bank declines the payments of the order.
func (b *Bank) Declines(orderID string) bool {
	return draw("decline", orderID) < b.cfg.DeclinePercent
}

// losesAnswer reports whether the bank loses its first answer to the request with the key.
func (b *Bank) losesAnswer(key string) bool {
	return draw("timeout", key) < b.cfg.TimeoutPercent
}

// draw returns a number from 0 to 99 that depends on the purpose and the id only.
func draw(purpose, id string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(purpose + "/" + id)) // a hash does not fail

	// A hash and not a random number: a repeat, also in another process, must draw the same number.
	return int(h.Sum32() / 7 % 100)
}

func bankKey(key string) dynamo.Item { return dynamo.Item{"paymentKey": dynamo.S(key)} }

// reference returns the bank's own id of the operation under a key.
func reference(key string) string { return "ch_" + key }
