package audit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// DefaultRetention is how long a row is kept unless the configuration says otherwise.
const DefaultRetention = 400 * 24 * time.Hour

// ErrEnded says that an act has a result already.
var ErrEnded = errors.New("audit: the act has a result already")

// dynamoDB has the methods of a *dynamodb.Client that this package calls.
type dynamoDB interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Config says where the rows are. DynamoDB and Table must be set.
type Config struct {
	DynamoDB dynamoDB
	// Table is the name of a table as [TableInput] describes it.
	Table string
	// Retention is how long a row is kept, at least an hour. Default: [DefaultRetention], 400 days.
	Retention time.Duration
}

// Log is the table of acts. Its methods may be called from many goroutines.
type Log struct{ cfg Config }

// New checks cfg and returns the log.
func New(cfg Config) (*Log, error) {
	if cfg.Retention == 0 {
		cfg.Retention = DefaultRetention
	}

	var faults []error
	if cfg.DynamoDB == nil {
		faults = append(faults, errors.New("audit: Config.DynamoDB: must be set"))
	}

	if cfg.Table == "" {
		faults = append(faults, errors.New("audit: Config.Table: must be set"))
	}

	if cfg.Retention < time.Hour {
		faults = append(faults, fmt.Errorf("audit: Config.Retention: %s, must be at least 1h", cfg.Retention))
	}

	return &Log{cfg}, errors.Join(faults...)
}

// TableInput describes the table of acts. Its keys are day and place.
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(dayKey), dynamo.TextKey(placeKey))
}

// Act is an act that has begun.
type Act struct {
	log *Log
	key dynamo.Item
}

// Begin writes the row of an act that is about to begin. The fields are cut to their bounds. If
// Begin fails, the act must not be done.
func (l *Log) Begin(ctx context.Context, e Entry) (*Act, error) {
	return l.begin(ctx, e, time.Now().UTC())
}

func (l *Log) begin(ctx context.Context, e Entry, now time.Time) (*Act, error) {
	e.At, e.EndedAt, e.Result, e.Code = now, time.Time{}, "", ""
	// The random part keeps acts of the same nanosecond apart.
	e.ID = placeOf(now) + "#" + rand.Text()[:12]

	item := e.item()
	item[ExpiryAttribute] = dynamo.Seconds(now.Add(l.cfg.Retention))

	_, err := l.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                &l.cfg.Table,
		Item:                     item,
		ConditionExpression:      ptr("attribute_not_exists(#place)"),
		ExpressionAttributeNames: map[string]string{"#place": placeKey},
	})
	// The key is random, so an existing row was written by this call: the SDK repeated it after a
	// lost answer.
	if _, exists := dynamo.FailedCondition(err); err != nil && !exists {
		return nil, fmt.Errorf("audit: write the begin of %s: %w", e.Act, err)
	}

	return &Act{log: l, key: dynamo.Item{dayKey: item[dayKey], placeKey: item[placeKey]}}, nil
}

// End adds the result to the row. Code says more about it, for programs, in up to 64 bytes. A repeat
// of the same result succeeds; another one fails with ErrEnded.
func (a *Act) End(ctx context.Context, result Result, code string) error {
	code = dynamo.Cut(code, maxCode)

	// An update would create a missing item. Without the first condition, a row that the time to
	// live removed would come back as a result without an act.
	update := dynamo.NewUpdate(a.log.cfg.Table, a.key).
		IfPresent(placeKey).
		IfAbsent(resultAttribute).
		SetValue(resultAttribute, dynamo.S(string(result))).
		SetValue(endedAttribute, dynamo.Millis(time.Now()))
	if code != "" {
		update.SetValue(codeAttribute, dynamo.S(code))
	}

	_, err := a.log.cfg.DynamoDB.UpdateItem(ctx, update.Input())

	// The same result is a repeat of this call after a lost answer.
	if old, failed := dynamo.FailedCondition(err); failed {
		if dynamo.Text(old, resultAttribute) == string(result) && dynamo.Text(old, codeAttribute) == code {
			return nil
		}

		return fmt.Errorf("%w: %s", ErrEnded, dynamo.Text(old, resultAttribute))
	}

	if err != nil {
		return fmt.Errorf("audit: write the result %s: %w", result, err)
	}

	return nil
}

func ptr[T any](v T) *T { return &v }
