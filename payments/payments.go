package payments

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/ledger"
	"ratchet/txn"
	"ratchet/workflow"
)

// store is what Payments needs of the SDK's client.
type store interface {
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Config of [Payments].
type Config struct {
	// DynamoDB, Table, DueTable, Ledger and Processor are required.
	DynamoDB  store
	Table     string
	DueTable  string
	Ledger    *ledger.Ledger
	Processor Processor
	// Callbacks verifies what the processor sends. Nil: every callback is refused.
	Callbacks verifier
	// CallTimeout bounds one question to the processor. Default 10 s.
	CallTimeout time.Duration
	// Patience is how long a step may be under way before Recover takes it up: longer
	// than a worker may need for it. Default 30 s.
	Patience time.Duration
	// Now is the clock that stamps records and judges expiry. Default time.Now.
	Now func() time.Time
}

// Payments are the payments behind a table. Its methods may be called from many
// goroutines and processes.
type Payments struct {
	cfg    Config
	ledger *ledger.Owned // what payments hold and move is in nobody else's reach
	writer *txn.Writer
}

// New checks cfg and returns the payments behind it.
func New(cfg Config) (*Payments, error) {
	switch {
	case cfg.DynamoDB == nil:
		return nil, errors.New("payments: Config.DynamoDB: must be set")
	case cfg.Table == "":
		return nil, errors.New("payments: Config.Table: must be set")
	case cfg.DueTable == "":
		return nil, errors.New("payments: Config.DueTable: must be set")
	case cfg.Ledger == nil:
		return nil, errors.New("payments: Config.Ledger: must be set")
	case cfg.Processor == nil:
		return nil, errors.New("payments: Config.Processor: must be set")
	case cfg.CallTimeout < 0 || cfg.Patience < 0:
		return nil, errors.New("payments: Config.CallTimeout and Patience: must not be negative")
	}

	if cfg.CallTimeout == 0 {
		cfg.CallTimeout = 10 * time.Second
	}

	if cfg.Patience == 0 {
		cfg.Patience = 30 * time.Second
	}

	if cfg.Now == nil {
		cfg.Now = time.Now
	}

	writer, err := txn.New(txn.Config{DynamoDB: cfg.DynamoDB, Keys: map[string][]string{cfg.Table: {"paymentId"}, cfg.DueTable: {"shard", "due"}}})
	if err != nil {
		return nil, err
	}

	owned, err := cfg.Ledger.Owned(LedgerOwner)
	if err != nil {
		return nil, err
	}

	return &Payments{cfg, owned, writer}, nil
}

// Get reads a payment. ErrUnknownPayment when there is none.
func (s *Payments) Get(ctx context.Context, id string) (Payment, error) {
	if !paymentRule.MatchString(id) {
		return Payment{}, fmt.Errorf("%w: id: 1 to 60 of A-Z a-z 0-9 . _ : -", ErrInvalid)
	}

	out, err := s.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.cfg.Table, Key: paymentKey(id), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return Payment{}, fmt.Errorf("read payment %s: %w", id, err)
	}

	p := paymentOf(out.Item)
	if p == nil {
		return Payment{}, fmt.Errorf("payment %s: %w", id, ErrUnknownPayment)
	}

	return *p, nil
}

// Page asks for a part of all payments.
type Page struct {
	// State keeps only payments in that state; empty keeps all.
	State workflow.State
	// After is the next of the page before; empty starts at the beginning.
	After string
	// Limit is how many to return at most, 1 to 1,000. Default 100.
	Limit int
}

// List returns payments in no useful order, and the After of the next page, empty at
// the end. It scans the table: for people and for checks.
func (s *Payments) List(ctx context.Context, page Page) (all []Payment, next string, err error) {
	if page.Limit == 0 {
		page.Limit = 100
	}

	switch {
	case page.Limit < 1 || page.Limit > 1000:
		return nil, "", fmt.Errorf("list payments: %w: limit %d: 1 to 1000", ErrInvalid, page.Limit)
	case page.State != "" && !workflow.Payment().HasState(page.State):
		return nil, "", fmt.Errorf("list payments: %w: state: not one of a payment's", ErrInvalid)
	}
	all = []Payment{}

	in := &dynamodb.ScanInput{TableName: &s.cfg.Table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(page.Limit))}
	if page.After != "" {
		in.ExclusiveStartKey = paymentKey(page.After)
	}

	for {
		out, err := s.cfg.DynamoDB.Scan(ctx, in)
		if err != nil {
			return nil, "", fmt.Errorf("list payments: %w", err)
		}

		for _, item := range out.Items {
			if isReceipt(dynamo.Text(item, "paymentId")) {
				continue
			}

			p := paymentOf(item)
			if page.State != "" && p.State != page.State {
				continue
			}

			if all = append(all, *p); len(all) == page.Limit {
				return all, p.ID, nil
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return all, "", nil
		}
	}
}

// Names of the parts of transactions.
const (
	partPayment = "payment"
	partReceipt = "receipt"
)

// put is the write of the payment's next record over the revision before it.
func (s *Payments) put(next Payment) types.TransactWriteItem {
	put := &types.Put{TableName: &s.cfg.Table, Item: next.item(), ConditionExpression: aws.String("attribute_not_exists(paymentId)")}
	if next.Revision > 1 {
		put.ConditionExpression = aws.String("revision = :before")
		put.ExpressionAttributeValues = dynamo.Item{":before": dynamo.N(next.Revision - 1)}
	}

	return types.TransactWriteItem{Put: put}
}

// beside writes the payment's next record in a transaction of the ledger's.
func (s *Payments) beside(next Payment, more []ledger.TxPart) ledger.TxPart {
	return func(t *txn.Transaction) {
		t.Add(partPayment, s.put(next), txn.FailWith(errMoved))
		s.noteDue(next, t)

		for _, add := range more {
			add(t)
		}
	}
}

// errMoved: somebody else has written the payment since it was read.
var errMoved = errors.New("the payment has moved on")

// save writes the payment's next record with what goes beside it. When somebody else was
// faster it returns errMoved and the payment as it is.
func (s *Payments) save(ctx context.Context, next Payment, more ...ledger.TxPart) (Payment, error) {
	var t txn.Transaction
	s.beside(next, more)(&t)
	return s.settled(next, s.writer.Write(ctx, &t))
}

// settled reads the answer to a write of next: its own write is recognised by the call,
// also when the answer was lost.
func (s *Payments) settled(next Payment, err error) (Payment, error) {
	var refused *txn.Refused
	switch {
	case err == nil:
		return next, nil
	case !errors.As(err, &refused) || refused.Part != partPayment:
		return next, err
	}

	now := paymentOf(refused.Old)
	switch {
	case now == nil:
		return next, fmt.Errorf("payment %s: %w", next.ID, ErrUnknownPayment)
	case now.Revision == next.Revision && now.call == next.call:
		return *now, nil
	}

	return *now, errMoved
}

// newCall names one writer's write.
func newCall() string { return rand.Text() }

func isReceipt(key string) bool { return strings.HasPrefix(key, receiptPrefix) }
