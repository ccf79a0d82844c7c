package retryqueue

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/store"
)

const arn = "arn:aws:dynamodb:eu-central-1:000000000000:table/orders/stream/1"

// queueEnv is a retry queue on an engine of its own. former has the client of a worker whose writes, once
// it is cut off, arrive when the test lets them.
type queueEnv struct {
	*testing.T
	*Table
	former *Table
	sent   *embeddedtest.Transport // of former
	cut    bool
	late   []func()
	// answered are the operations that are answered nevertheless.
	answered []string
}

func newQueueEnv(t *testing.T) *queueEnv {
	t.Helper()

	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)

	direct := dynamodb.NewFromConfig(engine.AWSConfig())
	embeddedtest.Create(t, direct, deadletters.TableInput("dead-letters"))

	cfg := engine.AWSConfig()
	cfg.Retryer = embeddedtest.RetryAtOnce
	transport := embeddedtest.Intercept(&cfg)

	e := &queueEnv{
		T:        t,
		sent:     transport,
		answered: []string{"GetItem", "Query"},
		Table:    &Table{API: direct, Table: "dead-letters", Scope: "orders"},
		former:   &Table{API: dynamodb.NewFromConfig(cfg), Table: "dead-letters", Scope: "orders"},
	}
	transport.Around(func(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
		c.Body() // before the call ends

		if !e.cut || c.Is(e.answered...) {
			return send()
		}
		c.Request = c.Request.Clone(context.Background())
		e.late = append(e.late, func() {
			if response, err := send(); err == nil {
				_ = response.Body.Close()
			}
		})

		return nil, errors.New("no answer")
	})

	return e
}

func (e *queueEnv) must(err error) {
	e.Helper()

	if err != nil {
		e.Fatal(err)
	}
}

func record(sequence string, epoch int64) streams.Record {
	return streams.Record{StreamARN: arn, ShardID: "s", SequenceNumber: sequence, Handler: "h", Epoch: epoch, Keys: dynamo.Item{"id": dynamo.S("o")}}
}

var hash = store.HashOf(store.ItemKey(record("1", 1)))

// park stores a record and returns the first row.
func (e *queueEnv) park(t *Table, epoch int64) Row {
	e.Helper()

	_, err := t.Park(e.Context(), hash, record("1", epoch), Row{Attempts: 1, NextTry: time.Now()})
	e.must(err)

	return e.first()
}

func (e *queueEnv) first() Row {
	e.Helper()

	row, _, err := e.First(e.Context(), "h", hash)
	e.must(err)

	return row
}

// begin makes the holder with this epoch begin with the first row.
func (e *queueEnv) begin(holder int64, tries TryCount) Row {
	e.Helper()

	row := e.first()
	row.Holder = holder

	begun, err := e.Begin(e.Context(), "h", row, tries)
	if e.must(err); !begun {
		e.Fatal("the row has changed")
	}
	row = e.first()
	row.Holder = holder

	return row
}

func (e *queueEnv) remove(row Row) {
	e.Helper()

	removed, err := e.Remove(e.Context(), "h", row)
	if e.must(err); !removed {
		e.Fatal("the row has changed")
	}
}

func (e *queueEnv) rows() []map[string]types.AttributeValue {
	e.Helper()

	out, err := e.API.(*dynamodb.Client).Scan(e.Context(), &dynamodb.ScanInput{TableName: aws.String("dead-letters"), ConsistentRead: aws.Bool(true)})
	e.must(err)

	return out.Items
}

// TestNoLateWriteIsTaken: for each call that writes to the queue, what its worker sends arrives after its
// lease was lost, or after a repeat was carried out. It changes nothing.
func TestNoLateWriteIsTaken(t *testing.T) {
	mine, other := TryCount{Count: 1, By: "mine"}, TryCount{Count: 2, By: "other"}

	// held prepares a row with which the former holder, of epoch 1, has begun.
	held := func(e *queueEnv) Row {
		e.park(e.Table, 1)
		return e.begin(1, mine)
	}
	taken := func(e *queueEnv, _ Row) { e.begin(2, other) }

	for name, test := range map[string]struct {
		prepare   func(*queueEnv) Row
		call      func(*queueEnv, *Table, Row) error
		meanwhile func(*queueEnv, Row)
	}{
		"park, the next owner has parked it": {
			prepare:   func(*queueEnv) Row { return Row{} },
			call:      parks(1),
			meanwhile: func(e *queueEnv, _ Row) { e.park(e.Table, 2) },
		},
		"park, the next owner has taken over the row": {
			prepare: func(e *queueEnv) Row {
				e.answered = append(e.answered, "PutItem")
				return e.park(e.Table, 1)
			},
			call:      parks(2),
			meanwhile: func(e *queueEnv, _ Row) { e.park(e.Table, 3) },
		},
		"park, a repeat was stored and handled": {
			prepare: func(*queueEnv) Row { return Row{} },
			call:    parks(1),
			meanwhile: func(e *queueEnv, _ Row) {
				_, err := e.Park(e.Context(), hash, record("1", 1), Row{Unsure: true})
				e.must(err)
				e.remove(e.first())
			},
		},
		"park, an earlier try and a repeat were stored and handled": {
			prepare: func(e *queueEnv) Row { return e.park(e.Table, 1) },
			call:    parks(1),
			meanwhile: func(e *queueEnv, _ Row) {
				_, err := e.Park(e.Context(), hash, record("1", 1), Row{Unsure: true})
				e.must(err)
				e.remove(e.first())
			},
		},
		"postpone": {
			prepare: held,
			call: func(e *queueEnv, t *Table, row Row) error {
				row.Attempts, row.NextTry = 7, time.Now().Add(time.Hour)
				return t.Postpone(e.Context(), "h", row)
			},
			meanwhile: taken,
		},
		"postpone, a later one was stored": {
			prepare: held,
			call: func(e *queueEnv, t *Table, row Row) error {
				row.Attempts, row.NextTry = 2, time.Now().Add(time.Hour)
				return t.Postpone(e.Context(), "h", row)
			},
			meanwhile: func(e *queueEnv, row Row) {
				row.Attempts, row.NextTry = 3, time.Now()
				e.must(e.Postpone(e.Context(), "h", row))
			},
		},
		"begin": {
			prepare: func(e *queueEnv) Row { row := e.park(e.Table, 1); row.Holder = 1; return row },
			call: func(e *queueEnv, t *Table, row Row) error {
				_, err := t.Begin(e.Context(), "h", row, mine)
				return err
			},
			meanwhile: taken,
		},
		"the end of a try": {
			prepare:   held,
			call:      func(e *queueEnv, t *Table, row Row) error { return t.EndTry(e.Context(), "h", row, mine) },
			meanwhile: taken,
		},
		"the end of a try, the next one has begun": {
			prepare: held,
			call:    func(e *queueEnv, t *Table, row Row) error { return t.EndTry(e.Context(), "h", row, mine) },
			meanwhile: func(e *queueEnv, _ Row) {
				e.begin(1, TryCount{Count: 2, By: mine.By})
			},
		},
		"remove": {
			prepare:   held,
			call:      removes,
			meanwhile: taken,
		},
		"remove, the record was handled and parked again": {
			prepare:   held,
			call:      removes,
			meanwhile: func(e *queueEnv, row Row) { e.remove(row); e.park(e.Table, 2) },
		},
		"keep the end": {
			prepare: held,
			call: func(e *queueEnv, t *Table, row Row) error {
				row.Ends = time.Now()
				return t.KeepEnd(e.Context(), "h", row)
			},
			meanwhile: taken,
		},
		"a dead letter": {
			prepare: held,
			call: func(e *queueEnv, t *Table, row Row) error {
				letters := &deadletters.Table{API: t.API, Table: t.Table}
				return letters.Store(e.Context(), record("1", 1), errors.New("no"), t.Check(row))
			},
			meanwhile: taken,
		},
		"a failed redrive": {
			prepare: heldLetter,
			call: func(e *queueEnv, t *Table, row Row) error {
				letter, err := letters(t, row).Get(e.Context(), "h", row.DeadLetter)
				e.must(err)

				return letters(t, row).StoreFailedRedrive(e.Context(), streams.Handler{Name: "h"}, letter, errors.New("no"))
			},
			meanwhile: taken,
		},
		"the end of a redrive": {
			prepare: heldLetter,
			call: func(e *queueEnv, t *Table, row Row) error {
				return letters(t, row).Delete(e.Context(), "h", row.DeadLetter)
			},
			meanwhile: taken,
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				e := newQueueEnv(t)
				row := test.prepare(e)

				e.cutOff(func() error { return test.call(e, e.former, row) })
				time.Sleep(time.Second) // later writes have other times
				test.meanwhile(e, row)
				before := e.rows()

				for _, arrive := range e.late {
					arrive()
				}

				if diff := cmp.Diff(before, e.rows(), values); diff != "" || len(e.late) == 0 {
					t.Errorf("%d late writes have changed the queue: %s", len(e.late), diff)
				}
			})
		})
	}
}

var values = cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{},
	types.AttributeValueMemberM{}, types.AttributeValueMemberBOOL{})

func parks(epoch int64) func(*queueEnv, *Table, Row) error {
	return func(e *queueEnv, t *Table, _ Row) error {
		_, err := t.Park(e.Context(), hash, record("1", epoch), Row{})
		return err
	}
}

func removes(e *queueEnv, t *Table, row Row) error {
	_, err := t.Remove(e.Context(), "h", row)
	return err
}

// heldLetter prepares a dead letter that is redriven by the holder of epoch 1.
func heldLetter(e *queueEnv) Row {
	rows := &deadletters.Table{API: e.API, Table: e.Table.Table}
	e.must(rows.Store(e.Context(), record("1", 1), errors.New("no"), nil))

	all, _, err := deadletters.Letters{DynamoDB: e.API, Table: e.Table.Table}.List(e.Context(), "h", "", 0)
	e.must(err)
	e.must(e.addLetter(e.Context(), "h", all[0].ID, *all[0].Record, nil))

	return e.begin(1, TryCount{})
}

func letters(t *Table, row Row) deadletters.Letters {
	return deadletters.Letters{DynamoDB: t.API, Table: t.Table, Check: t.Check(row)}
}

// cutOff makes a call whose writes have no answer. What it reads is answered.
func (e *queueEnv) cutOff(call func() error) {
	e.Helper()
	e.cut = true

	if err := call(); err == nil {
		e.Error("the call has got an answer")
	}
	e.cut = false
}

// TestAnItemsRecordsComeInOrder: those that are delivered again first.
func TestAnItemsRecordsComeInOrder(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newQueueEnv(t)
		for _, sequence := range []string{"10", "9", "100"} {
			_, err := e.Park(t.Context(), hash, record(sequence, 1), Row{})
			e.must(err)
		}
		e.must(e.AddAgain(t.Context(), record("99", 0)))
		e.must(e.AddAgain(t.Context(), record("99", 0))) // a repeat adds nothing

		var got []string
		for row := e.first(); row.Token != ""; row = e.first() {
			r, err := e.Record(t.Context(), "h", row)
			e.must(err)
			got = append(got, r.SequenceNumber)
			e.remove(row)
		}

		if diff := cmp.Diff([]string{"99", "9", "10", "100"}, got); diff != "" || len(e.rows()) > 0 {
			t.Errorf("%s; %d rows are left", diff, len(e.rows()))
		}
	})
}

// TestARowIsTakenOverWithItsCalls: the next owner of the shard finds the record in the queue.
func TestARowIsTakenOverWithItsCalls(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newQueueEnv(t)
		former := e.park(e.Table, 1)

		_, err := e.Park(t.Context(), hash, record("1", 2), Row{Attempts: 9})
		e.must(err)

		row := e.first()
		if row.Epoch != 2 || row.Attempts != former.Attempts || row.Token != former.Token {
			t.Errorf("the row is %+v", row)
		}

		_, err = e.Park(t.Context(), hash, record("1", 1), Row{Unsure: true})
		e.must(err)

		if row := e.first(); row.Epoch != 2 {
			t.Errorf("a former owner has taken the row back: %+v", row)
		}

		if r, err := e.Record(t.Context(), "h", row); err != nil || r.Epoch != 2 {
			t.Errorf("the record has epoch %d, %v", r.Epoch, err)
		}
	})
}
