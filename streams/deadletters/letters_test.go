package deadletters_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/store"
)

const handler, arn = "h", "arn:aws:dynamodb:eu-central-1:000000000000:table/orders/stream/1"

// letterEnv is a table of dead letters. The transport carries what the SDK sends, which repeats at once.
type letterEnv struct {
	*testing.T
	deadletters.Letters
	sent *embeddedtest.Transport
}

func newLetterEnv(t *testing.T) *letterEnv {
	t.Helper()

	engine := embeddedtest.Open(t)
	cfg := engine.AWSConfig()
	cfg.Retryer = embeddedtest.RetryAtOnce
	sent := embeddedtest.Intercept(&cfg)
	db := dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, db, deadletters.TableInput("dead-letters"))

	return &letterEnv{t, deadletters.Letters{DynamoDB: db, Table: "dead-letters"}, sent}
}

func (e *letterEnv) must(err error) {
	e.Helper()

	if err != nil {
		e.Fatal(err)
	}
}

// store stores the same record as a dead letter, and returns it.
func (e *letterEnv) store(name, cause string) deadletters.Letter {
	e.Helper()

	e.must(e.Rows().Store(e.Context(), streams.Record{
		StreamARN: arn, ShardID: "s", SequenceNumber: "1", EventName: streams.Modify, Handler: handler, Attempt: 3,
		Keys: dynamo.Item{"id": dynamo.S("o")}, New: dynamo.Item{"name": dynamo.S(name)},
	}, errors.New(cause), nil))

	return e.only()
}

// only returns the only dead letter.
func (e *letterEnv) only() deadletters.Letter {
	e.Helper()

	all, _, err := e.List(e.Context(), handler, "", 0)
	if e.must(err); len(all) != 1 {
		e.Fatalf("there are %d dead letters", len(all))
	}

	return all[0]
}

// delayed makes the first request of the call arrive later, after its repeat. It returns a function that lets it arrive.
func (e *letterEnv) delayed(call func() error) (arrive func()) {
	e.Helper()
	defer e.sent.Clear()

	e.sent.Around(func(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
		c.Body() // before the call ends

		if arrive != nil || c.Is("GetItem", "Query") {
			return send()
		}
		c.Request = c.Request.Clone(context.Background())
		arrive = func() {
			if response, err := send(); err == nil {
				_ = response.Body.Close()
			}
		}

		return nil, errors.New("no answer")
	})
	e.must(call())

	return arrive
}

// TestAnExpiredDeadLetterDoesNotStandForANewOne: time to live deletes it days later, and until then it is not listed.
func TestAnExpiredDeadLetterDoesNotStandForANewOne(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newLetterEnv(t)
		former := e.store("Ada", "the first")

		expired := dynamo.NewUpdate(e.Table, e.Rows().Key(handler, former.ID)).SetValue(store.Expiry, dynamo.Seconds(time.Now()))
		if _, _, err := store.Apply(t.Context(), e.DynamoDB, expired); err != nil {
			t.Fatal(err)
		}

		// A rebuild delivers the same version again, and the handler gives it up again.
		if letter := e.store("Grace", "the second"); letter.Error != "the second" || dynamo.Text(letter.Record.New, "name") != "Grace" {
			t.Errorf("%q of %v", letter.Error, letter.Record)
		}

		if letter := e.store("Ada", "a repeat"); letter.Error != "the second" {
			t.Errorf("a repeat has replaced it: %q", letter.Error)
		}
	})
}

// TestARedriveThatFailsLaterLeavesAnErasedDeadLetterErased: the error of a handler that had the record before may say
// who the person was.
func TestARedriveThatFailsLaterLeavesAnErasedDeadLetterErased(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newLetterEnv(t)
		read := e.store("Ada", "no Ada")

		e.must(e.Rewrite(t.Context(), handler, read.ID, "erased", func(r *streams.Record) { r.New = nil }))

		err := e.StoreFailedRedrive(t.Context(), streams.Handler{Name: handler}, read, errors.New("still no Ada"))
		if letter := e.only(); !errors.Is(err, deadletters.ErrChanged) || letter.Error != "erased" || letter.Redrives != 0 {
			t.Errorf("%v; its error is %q after %d redrives", err, letter.Error, letter.Redrives)
		}
	})
}

// TestAFailedRedriveIsStoredOnce: also if its answer is lost, or if it arrives once more.
func TestAFailedRedriveIsStoredOnce(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newLetterEnv(t)
		read := e.store("Ada", "no")
		h := streams.Handler{Name: handler}

		e.sent.Inject(embeddedtest.LoseAnswer("UpdateItem").Next(1))
		e.must(e.StoreFailedRedrive(t.Context(), h, read, errors.New("the first")))

		time.Sleep(time.Second)
		arrive := e.delayed(func() error { return e.StoreFailedRedrive(t.Context(), h, e.only(), errors.New("the second")) })
		time.Sleep(time.Second)
		e.must(e.StoreFailedRedrive(t.Context(), h, e.only(), errors.New("the third")))
		arrive()

		if letter := e.only(); letter.Redrives != 3 || letter.Error != "the third" {
			t.Errorf("%d redrives, %q", letter.Redrives, letter.Error)
		}

		e.must(e.Delete(t.Context(), handler, read.ID))
		// There is nothing to store it in any more.
		e.must(e.StoreFailedRedrive(t.Context(), h, read, errors.New("the fourth")))
	})
}

// TestADeadLetterIsDeletedOnce: a lost answer is no change by others, and a request that arrives late deletes no dead
// letter that was stored after it.
func TestADeadLetterIsDeletedOnce(t *testing.T) {
	for name, remove := range map[string]func(e *letterEnv, l deadletters.Letter) error{
		"whatever it is": func(e *letterEnv, l deadletters.Letter) error { return e.Delete(e.Context(), handler, l.ID) },
		"as it was seen": func(e *letterEnv, l deadletters.Letter) error {
			return e.DeleteFrom(e.Context(), handler, l.ID, l.Redrives)
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				e := newLetterEnv(t)

				lost := e.sent.Inject(embeddedtest.LoseAnswer("DeleteItem").Next(1))
				if err := remove(e, e.store("Ada", "no")); err != nil || lost.Strikes() != 1 {
					t.Errorf("%v after %d lost answers", err, lost.Strikes())
				}

				letter := e.store("Ada", "no")
				arrive := e.delayed(func() error { return remove(e, letter) })
				time.Sleep(time.Second)
				e.store("Ada", "once more")
				arrive()

				if letter := e.only(); letter.Error != "once more" {
					t.Errorf("its error is %q", letter.Error)
				}
			})
		})
	}
}

// TestTheEndOfAFormerClaimEndsNoOther: the claim of a redrive that the handler has skipped, long after it has lapsed.
func TestTheEndOfAFormerClaimEndsNoOther(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newLetterEnv(t)
		id := e.store("Ada", "no").ID
		redrive := func(handle streams.HandlerFunc) error {
			return e.Redrive(t.Context(), id, streams.Handler{Name: handler, Handle: handle})
		}
		skip := func(context.Context, streams.Record) error { return streams.Skip(errors.New("not any more")) }

		var late func()
		e.sent.Around(func(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
			c.Body()

			// The second write ends the claim.
			if !c.Is("UpdateItem") || e.sent.Count("UpdateItem") != 2 {
				return send()
			}
			c.Request = c.Request.Clone(context.Background())
			late = func() {
				if response, err := send(); err == nil {
					_ = response.Body.Close()
				}
			}

			return send()
		})
		e.sent.Reset()

		if err := redrive(skip); !errors.Is(err, streams.ErrSkipped) || late == nil {
			t.Fatal(err)
		}
		e.sent.Clear()
		time.Sleep(time.Second)

		err := redrive(func(context.Context, streams.Record) error {
			late()

			if err := redrive(skip); !errors.Is(err, deadletters.ErrRedriving) {
				t.Errorf("beside another redrive: %v", err)
			}

			return nil
		})
		e.must(err)
	})
}

// TestClaimsOfTwoMachinesAreComparedByTheServicesClock: the first machine's clock is an hour behind the service's and the
// second machine's, so by its own clock the second one would find that the claim has ended long ago.
func TestClaimsOfTwoMachinesAreComparedByTheServicesClock(t *testing.T) {
	for name, claims := range map[string]func(d deadletters.Letters, id string, meanwhile func()) error{
		"Redrive": func(d deadletters.Letters, id string, meanwhile func()) error {
			return d.Redrive(context.Background(), id, streams.Handler{Name: handler, Handle: func(context.Context, streams.Record) error {
				meanwhile()
				return nil
			}})
		},
		"Rewrite": func(d deadletters.Letters, id string, meanwhile func()) error {
			return d.Rewrite(context.Background(), handler, id, "(erased)", func(*streams.Record) { meanwhile() })
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				e := newLetterEnv(t)
				id := e.store("Ada", "no").ID

				ahead := func() time.Time { return time.Now().Add(time.Hour) }
				e.DynamoDB = dynamodb.New(e.DynamoDB.(*dynamodb.Client).Options(), func(o *dynamodb.Options) {
					o.APIOptions, o.HTTPClient = nil, embeddedtest.Dated{Doer: o.HTTPClient, Now: ahead}
				})

				called := false
				e.must(claims(e.Letters, id, func() {
					called = true

					out, err := e.DynamoDB.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &e.Table, Key: e.Rows().Key(handler, id)})
					e.must(err)

					if ends := time.Until(dynamo.Time(out.Item, "claimedUntil")); ends < time.Hour+30*time.Second || ends > time.Hour+50*time.Second {
						t.Errorf("%s: the claim ends in %v by the first machine's clock", name, ends)
					}

					other := e.Letters
					other.Clock = &dynamo.Clock{Local: ahead}

					err = other.Redrive(t.Context(), id, streams.Handler{Name: handler, Handle: func(context.Context, streams.Record) error {
						t.Errorf("%s: the second machine calls the handler, too", name)
						return nil
					}})
					if !errors.Is(err, deadletters.ErrRedriving) {
						t.Errorf("%s: the second machine: %v", name, err)
					}
				}))

				if !called {
					t.Errorf("%s was not called", name)
				}
			})
		})
	}
}

// TestALateNoteOfTheQueueSaysNothing: the workers have redriven the dead letter before the note arrives. It would say for
// an hour that the dead letter waits there.
func TestALateNoteOfTheQueueSaysNothing(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newLetterEnv(t)
		letter := e.store("Ada", "no")

		arrive := e.delayed(func() error { return e.NoteQueued(t.Context(), letter, time.Now()) })
		if e.only().QueuedAt.IsZero() {
			t.Error("it is not queued")
		}
		time.Sleep(time.Second)
		e.must(e.StoreFailedRedrive(t.Context(), streams.Handler{Name: handler}, e.only(), errors.New("no")))
		arrive()

		if letter := e.only(); !letter.QueuedAt.IsZero() {
			t.Errorf("queued at %v", letter.QueuedAt)
		}
	})
}

// TestARedriveThatOthersOvertakeIsNotStored: although they have failed in the same way.
func TestARedriveThatOthersOvertakeIsNotStored(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newLetterEnv(t)
		h, down := streams.Handler{Name: handler}, errors.New("it is down")
		read := e.store("Ada", "no")

		for range 2 {
			time.Sleep(time.Second)
			e.must(e.StoreFailedRedrive(t.Context(), h, e.only(), down))
		}

		if err := e.StoreFailedRedrive(t.Context(), h, read, down); !errors.Is(err, deadletters.ErrChanged) || e.only().Redrives != 2 {
			t.Errorf("%v; %d redrives", err, e.only().Redrives)
		}
	})
}

// TestAFilterSelectsByTimeAndError: from Since on, and before Before.
func TestAFilterSelectsByTimeAndError(t *testing.T) {
	at := time.Unix(1_790_000_000, 0)
	letter := deadletters.Letter{FailedAt: at, Error: "the carrier is down"}

	for _, c := range []struct {
		filter deadletters.Filter
		want   bool
	}{
		{deadletters.Filter{}, true},
		{deadletters.Filter{Since: at}, true},
		{deadletters.Filter{Since: at.Add(1)}, false},
		{deadletters.Filter{Before: at}, false},
		{deadletters.Filter{Since: at, Before: at.Add(1)}, true},
		{deadletters.Filter{Error: "carrier"}, true},
		{deadletters.Filter{Error: "bank"}, false},
		{deadletters.Filter{Since: at, Error: "bank"}, false},
	} {
		if got := c.filter.Selects(letter); got != c.want {
			t.Errorf("%+v: %t", c.filter, got)
		}
	}
}

// TestADeadLetterThatIsGoneHoldsUpNoLaterOne: others have handled it meanwhile.
func TestADeadLetterThatIsGoneHoldsUpNoLaterOne(t *testing.T) {
	virtually(t, func(t *testing.T) {
		e := newLetterEnv(t)
		for _, id := range []string{"o-1", "o-2"} {
			for _, sequence := range []string{"1", "2"} {
				e.must(e.Rows().Store(t.Context(), streams.Record{
					StreamARN: arn, ShardID: "s", SequenceNumber: sequence, Handler: handler, Keys: dynamo.Item{"id": dynamo.S(id)},
				}, errors.New("no"), nil))
			}
		}

		all, _, err := e.List(t.Context(), handler, "", 0)
		e.must(err)

		h := streams.Handler{Name: handler, Handle: func(context.Context, streams.Record) error { return nil }}
		var results []error

		e.must(e.RedriveAll(t.Context(), h, deadletters.Filter{}, func(_ deadletters.Letter, result error) {
			if results = append(results, result); len(results) == 2 { // before the first one of the other item
				e.must(e.Delete(t.Context(), handler, all[2].ID))
			}
		}))

		if len(results) != 4 || results[0] != nil || results[1] != nil || !errors.Is(results[2], deadletters.ErrNotFound) || results[3] != nil {
			t.Errorf("%v", results)
		}
	})
}
