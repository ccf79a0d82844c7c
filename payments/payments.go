package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/due"
	"ratchet/internal/dynamo"
	"ratchet/once/ledger"
	"ratchet/once/txn"
	"ratchet/workflow"
)

// dynamoDB has the methods of the SDK's client that Payments calls.
type dynamoDB interface {
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Tables are the names of the tables. Both must be set.
type Tables struct {
	// Payments holds payments and the receipts of callbacks.
	Payments string
	// Due holds a row for each pending step and each payment that expires.
	Due string
}

// Inputs describe the tables, with the keys paymentId; shard and due.
func (t Tables) Inputs() []*dynamodb.CreateTableInput {
	return []*dynamodb.CreateTableInput{
		dynamo.Table(t.Payments, dynamo.TextKey("paymentId")),
		due.TableInput(t.Due),
	}
}

// Config configures [Payments].
type Config struct {
	// DynamoDB, Tables, Ledger and Processor are required.
	DynamoDB  dynamoDB
	Tables    Tables
	Ledger    *ledger.Ledger
	Processor Processor
	// Callbacks verifies the processor's callbacks. If it is nil, every callback is refused with
	// ErrNoCallbacks.
	Callbacks verifier
	// Events are optional.
	Events Events
	// Now is the clock of this machine, for tests. Default time.Now. It may be wrong: records are
	// stamped, and ends compared, with the time that the answers of DynamoDB state.
	Now func() time.Time
}

// Events are called in the goroutine of the method that makes the step. They must not block.
type Events struct {
	// Called is called after each attempt at a pending step, with the attempt's error. A void or an
	// expiry after a capture sends the processor nothing and is reported, too. Look-ups are not
	// reported, nor is the refund of a capture for a closed account.
	Called func(step Kind, took time.Duration, err error)
}

const (
	// callTimeout bounds one call of the processor.
	callTimeout = 10 * time.Second
	// staleAfter is how old a pending step must be before Recover finishes it. A worker needs less
	// time for a step.
	staleAfter = 30 * time.Second
)

func (c *Config) check() error {
	var faults []error
	require := func(ok bool, rule string) {
		if !ok {
			faults = append(faults, errors.New("payments: Config."+rule))
		}
	}
	require(c.DynamoDB != nil, "DynamoDB: must be set")
	require(c.Tables.Payments != "", "Tables.Payments: must be set")
	require(c.Tables.Due != "", "Tables.Due: must be set")
	require(c.Ledger != nil, "Ledger: must be set")
	require(c.Processor != nil, "Processor: must be set")

	return errors.Join(faults...)
}

// Payments reads and writes the payments in the tables. It is safe for concurrent use. Any
// number of processes may have one on the same tables.
type Payments struct {
	cfg    Config
	clock  *dynamo.Clock
	ledger *ledger.Owned // its holds and transfers cannot be ended through the plain ledger
	writer *txn.Writer
	due    *due.Table
}

// New returns Payments. The error names every field that breaks a rule.
func New(cfg Config) (*Payments, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	clock := &dynamo.Clock{Local: cfg.Now}

	writer, err := txn.New(txn.Config{
		DynamoDB: cfg.DynamoDB,
		Clock:    clock,
		Keys: map[string][]string{
			cfg.Tables.Payments: {"paymentId"},
			cfg.Tables.Due:      due.KeyNames(),
		},
	})
	if err != nil {
		return nil, err
	}

	owned, err := cfg.Ledger.Owned(ledgerOwner)
	if err != nil {
		return nil, err
	}

	rows := &due.Table{Name: cfg.Tables.Due, DynamoDB: cfg.DynamoDB, Clock: clock, First: firstRecovery, Most: lastRecovery}

	return &Payments{cfg: cfg, clock: clock, ledger: owned, writer: writer, due: rows}, nil
}

// Get reads a payment. It returns ErrUnknownPayment if there is none.
func (s *Payments) Get(ctx context.Context, id string) (Payment, error) {
	if err := checkPaymentID(id); err != nil {
		return Payment{}, err
	}

	began := s.clock.LocalNow()

	out, err := s.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &s.cfg.Tables.Payments,
		Key:            paymentKey(id),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return Payment{}, fmt.Errorf("read payment %s: %w", id, err)
	}

	s.clock.Hear(began, out.ResultMetadata, nil)

	p, err := readPayment(out.Item)
	switch {
	case err != nil:
		return Payment{}, err
	case p == nil:
		return Payment{}, fmt.Errorf("payment %s: %w", id, ErrUnknownPayment)
	}

	return *p, nil
}

// learn makes sure that the clock has heard DynamoDB before an end is compared. It reads a record at
// most once in the life of the Payments.
func (s *Payments) learn(ctx context.Context) error {
	return s.clock.Learn(ctx, func(ctx context.Context) error {
		_, err := s.Get(ctx, "-") // any id
		if errors.Is(err, ErrUnknownPayment) {
			err = nil
		}

		return err
	})
}

const (
	defaultLimit = 100
	maxLimit     = 1000
)

// checkLimit checks the size of a page.
func checkLimit(limit int) error {
	if limit < 1 || limit > maxLimit {
		return fmt.Errorf("%w: limit %d: 1 to %d", ErrInvalid, limit, maxLimit)
	}

	return nil
}

// List returns up to limit payments (1 to 1,000, 0 means 100) in no useful order, and the value of
// after for the next page, empty at the end. A state that is not empty selects the payments in that
// state. List scans the table: it is meant for people and checks.
func (s *Payments) List(ctx context.Context, state workflow.State, after string, limit int) (all []Payment, next string, err error) {
	if limit == 0 {
		limit = defaultLimit
	}

	if err := checkLimit(limit); err != nil {
		return nil, "", fmt.Errorf("list payments: %w", err)
	}

	if state != "" && !workflow.Payment().HasState(state) {
		return nil, "", fmt.Errorf("list payments: %w: state: not one of a payment's", ErrInvalid)
	}

	all = []Payment{}

	in := &dynamodb.ScanInput{
		TableName:      &s.cfg.Tables.Payments,
		ConsistentRead: aws.Bool(true),
		Limit:          aws.Int32(int32(limit)),
	}
	if after != "" {
		in.ExclusiveStartKey = paymentKey(after)
	}

	for {
		out, err := s.cfg.DynamoDB.Scan(ctx, in)
		if err != nil {
			return nil, "", fmt.Errorf("list payments: %w", err)
		}

		for _, item := range out.Items {
			// Payments and receipts share the table.
			if isReceipt(dynamo.Text(item, "paymentId")) {
				continue
			}

			p := decodePayment(item)
			if state != "" && p.State != state {
				continue
			}

			// The list is full, perhaps in the middle of a page of the scan. The next call
			// begins after this payment.
			if all = append(all, *p); len(all) == limit {
				return all, p.ID, nil
			}
		}

		// A page of the scan may have receipts or other states only, and more pages may follow.
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return all, "", nil
		}
	}
}
