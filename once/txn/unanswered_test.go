package txn_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/embedded/faults"
	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// answerWith gives the answers to the next transactions; the last one is repeated. nil lets a
// transaction through.
func (b *bank) answerWith(answers ...error) {
	n := 0
	b.transport.Before(func(c *embeddedtest.Call) error {
		if !c.Is(transact) {
			return nil
		}
		n++

		return answers[min(n, len(answers))-1]
	})
}

// sum is a transaction of two parts without a marker.
func sum(n int) *txn.Transaction {
	var t txn.Transaction
	t.Add("source", debit("a", n), txn.FailWith(errFunds))
	t.Add("destination", credit("b", n), txn.FailWith(errUnknown))

	return &t
}

func TestOnlyEvidenceEndsAnUnansweredTransaction(t *testing.T) {
	for name, later := range map[string]error{
		"access denied":         &embeddedtest.Error{Code: "AccessDeniedException"},
		"expired credentials":   &embeddedtest.Error{Code: "ExpiredTokenException"},
		"validation":            &embeddedtest.Error{Code: "ValidationException"},
		"the table is gone":     &embeddedtest.Error{Code: "ResourceNotFoundException"},
		"throttled":             &embeddedtest.Error{Code: "ProvisionedThroughputExceededException"},
		"a server fault":        &embeddedtest.Error{Code: "InternalServerError"},
		"in progress":           &embeddedtest.Error{Code: "TransactionInProgressException"},
		"another body":          &embeddedtest.Error{Code: "IdempotentParameterMismatchException"},
		"contended":             embeddedtest.Canceled("TransactionConflict", "None"),
		"too little throughput": embeddedtest.Canceled("ThrottlingError", "None"),
		"an unknown reason":     embeddedtest.Canceled("ValidationError", "None"),
		"too few reasons":       embeddedtest.Canceled("None"),
		"canceled":              context.Canceled,
	} {
		for _, retries := range []func(*txn.Config, *dynamodb.Options){noRetries, retriesAtOnce} {
			synctest.Test(t, func(t *testing.T) {
				b := newBank(t, retries, attempts(3))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()

				b.answerWith(faults.ErrAnswerLost, later)

				if errors.Is(later, context.Canceled) {
					b.transport.After(func(c *embeddedtest.Call) error {
						if c.Is(transact) {
							cancel()
						}

						return nil
					})
				}

				err := b.Write(ctx, sum(1))
				if !errors.Is(err, txn.ErrUnknown) || !txn.Retryable(err) || errors.Is(err, txn.ErrContended) || errors.Is(err, txn.ErrThrottled) {
					t.Errorf("%s: %v", name, err)
				}
				b.want(t, "9", "1") // it was made
			})
		}
	}
}

// retriesAtOnce is a client of the caller's that retries by itself.
func retriesAtOnce(_ *txn.Config, o *dynamodb.Options) { o.Retryer = embeddedtest.RetryAtOnce() }

func TestARefusalBeforeAnyUnansweredAttemptIsAnAnswer(t *testing.T) {
	for name, row := range map[string]struct {
		answers []error
		err     error
	}{
		"denied":                 {answers: []error{&embeddedtest.Error{Code: "AccessDeniedException"}}},
		"contended, then denied": {answers: []error{canceled("TransactionConflict"), &embeddedtest.Error{Code: "AccessDeniedException"}}},
		"contended":              {answers: []error{canceled("TransactionConflict")}, err: txn.ErrContended},
		"contended, throttled":   {answers: []error{canceled("TransactionConflict"), canceled("ThrottlingError")}, err: txn.ErrThrottled},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBank(t, attempts(3))
			b.answerWith(row.answers...)

			err := b.Write(t.Context(), transfer("t-1", 1, nil))
			if err == nil || errors.Is(err, txn.ErrUnknown) || !errors.Is(err, row.err) && row.err != nil || txn.Retryable(err) != (row.err != nil) {
				t.Errorf("%s: %v", name, err)
			}
			b.want(t, "10", "0")
		})
	}
}

// The transaction that has used the token may be this one, by a call whose answer was lost. Only the marker
// can tell.
func TestAUsedTokenLeavesTheOutcomeOpen(t *testing.T) {
	mismatch := &embeddedtest.Error{Code: "IdempotentParameterMismatchException"}

	for name, later := range map[string]error{
		"another body again":  mismatch,
		"access denied":       &embeddedtest.Error{Code: "AccessDeniedException"},
		"contended":           canceled("TransactionConflict"),
		"the request is lost": faults.ErrLost,
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBank(t, attempts(3))
			first := b.Write(t.Context(), transfer("t-1", 1, item{"at": num(1)}))
			b.answerWith(mismatch, later)

			err := b.Write(t.Context(), transfer("t-1", 1, item{"at": num(2)}))
			if first != nil || !errors.Is(err, txn.ErrUnknown) || errors.Is(err, txn.ErrContended) {
				t.Errorf("%s: %v, %v", name, first, err)
			}
			b.want(t, "9", "1")
		})
	}
}

func TestTheLoopGoesOnUntilThereIsEvidence(t *testing.T) {
	denied := &embeddedtest.Error{Code: "AccessDeniedException"}

	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		b.answerWith(faults.ErrAnswerLost, denied, denied, nil)

		if err := b.Write(t.Context(), transfer("t-1", 1, nil)); err != nil || b.sent() != 4 {
			t.Errorf("made by the first attempt: %v after %d requests", err, b.sent())
		}
		b.want(t, "9", "1")

		// The first attempt was lost on its way. The marker was evaluated with the other parts.
		b.answerWith(faults.ErrLost, denied, nil)

		if err := b.Write(t.Context(), transfer("t-2", 100, nil)); !errors.Is(err, errFunds) {
			t.Errorf("the account decides: %v", err)
		}
	})
}

// A day after its first attempt, DynamoDB would make a transaction without a marker once more.
func TestATransactionWithoutAMarkerIsNotSentBeyondTheLifeOfItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		b.transport.Before(func(c *embeddedtest.Call) error {
			if !c.Is(transact) || c.N > 1 {
				return nil
			}
			time.Sleep(time.Hour)

			return faults.ErrAnswerLost
		})

		if err := b.Write(t.Context(), sum(1)); !errors.Is(err, txn.ErrUnknown) || b.sent() != 1 {
			t.Errorf("%v after %d requests", err, b.sent())
		}
		b.want(t, "9", "1")
	})
}

// until is a transaction that is allowed until the end. The marker has the mark of the call and the
// time of the attempt.
func until(id string, end time.Time, marked bool) *txn.Transaction {
	values := item{":now": num(0), ":end": &types.AttributeValueMemberN{Value: dynamo.Millis(end).(*types.AttributeValueMemberN).Value}}
	put := types.TransactWriteItem{Put: &types.Put{
		TableName:                 aws.String("markers"),
		Item:                      item{"id": str(id), "call": str("mine")},
		ConditionExpression:       aws.String("attribute_not_exists(id) AND :now < :end"),
		ExpressionAttributeValues: values,
	}}

	var t txn.Transaction
	if marked {
		t.Marker("transfer", put)
	} else {
		t.Add("transfer", put, nil)
	}
	t.Add("source", debit("a", 1), txn.FailWith(errFunds))
	t.EachAttempt(func(context.Context) error {
		values[":now"] = dynamo.Millis(time.Now())
		return nil
	})

	return &t
}

func TestEachAttemptComparesTheTimeOfItsOwn(t *testing.T) {
	for _, marked := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := newBank(t)
			tokens := map[string]bool{}
			b.refuse(1, embeddedtest.Canceled("TransactionConflict", "None"))
			b.transport.Before(func(c *embeddedtest.Call) error {
				if c.Is(transact) {
					tokens[between(string(c.Body()), `"ClientRequestToken":"`, `"`)] = true
					time.Sleep(10 * time.Minute)
				}

				return nil
			})

			r := refused(t, b.Write(t.Context(), until("t-1", time.Now().Add(time.Minute), marked)))
			if r.Part != "transfer" || len(r.Old) > 0 || len(tokens) != 2 {
				t.Errorf("marked %t: %v, %d tokens", marked, r, len(tokens))
			}
			b.want(t, "10", "0")
		})
	}
}

func TestTheMarkOfTheCallShowsThatAnUnansweredAttemptWasMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		b.answerWith(faults.ErrAnswerLost, nil)

		r := refused(t, b.Write(t.Context(), until("t-1", time.Now().Add(time.Minute), true)))
		if !r.Marker || dynamo.Text(r.Old, "call") != "mine" || b.sent() != 2 {
			t.Errorf("%+v after %d requests", r, b.sent())
		}
		b.want(t, "9", "0")
	})
}

// Without a marker only the token shows it, so the attempts are equal, the time included.
func TestAnUnansweredAttemptWithoutAMarkerIsRepeatedAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		b.transport.Before(func(c *embeddedtest.Call) error {
			if !c.Is(transact) || c.N > 2 {
				return nil
			}
			time.Sleep(time.Second)

			return faults.ErrAnswerLost
		})

		if err := b.Write(t.Context(), until("t-1", time.Now().Add(time.Minute), false)); err != nil || b.sent() != 3 {
			t.Errorf("%v after %d requests", err, b.sent())
		}
		b.want(t, "9", "0")
	})
}

func TestAnAttemptThatCannotBePreparedIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, row := range map[string]struct {
			answers []error
			unknown bool
			sent    int
		}{
			"the first attempt":        {answers: []error{nil}},
			"after a conflict":         {answers: []error{canceled("TransactionConflict"), nil}, sent: 1},
			"after one without answer": {answers: []error{faults.ErrLost, nil}, sent: 1, unknown: true},
		} {
			b := newBank(t)
			b.answerWith(row.answers...)

			tx := transfer("t-1", 1, nil)
			noTime := errors.New("no time")
			calls := 0
			tx.EachAttempt(func(context.Context) error {
				if calls++; calls < len(row.answers) {
					return nil
				}

				return noTime
			})

			err := b.Write(t.Context(), tx)
			if !errors.Is(err, noTime) || errors.Is(err, txn.ErrUnknown) != row.unknown || b.sent() != row.sent {
				t.Errorf("%s: %v after %d requests", name, err, b.sent())
			}
		}
	})
}

// dated states the time of the machine in every answer.
type dated struct{ aws.HTTPClient }

func (d dated) Do(r *http.Request) (*http.Response, error) {
	response, err := d.HTTPClient.Do(r)
	if err == nil {
		response.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}

	return response, err
}

func TestTheClockHearsEveryAnswer(t *testing.T) {
	const ahead = 72 * time.Hour

	clock := &dynamo.Clock{Local: func() time.Time { return time.Now().Add(ahead) }}
	b := newBank(t, func(c *txn.Config, o *dynamodb.Options) {
		c.Clock = clock
		o.APIOptions, o.HTTPClient = nil, dated{o.HTTPClient}
	})

	for _, n := range []int{1, 100} { // made, refused
		*clock = dynamo.Clock{Local: clock.Local}
		_ = b.Write(t.Context(), transfer("t-1", n, nil))

		if off := (clock.Ahead() - ahead).Abs(); off > 2*time.Second {
			t.Errorf("an answer to %d: %s off", n, off)
		}
	}
}
