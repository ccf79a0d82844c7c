package actions_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/actions"
)

// verbs are the calls, each on the action that the state has left.
var verbs = map[string]func(ctx context.Context, s *signedActions, id actions.ID) (actions.Outcome, error){
	"create": func(ctx context.Context, s *signedActions, _ actions.ID) (actions.Outcome, error) {
		_, err := s.Create(ctx, actions.Spec{ExpiresAt: s.clock.Now().Add(time.Hour)})
		return "", err
	},
	"get": func(ctx context.Context, s *signedActions, id actions.ID) (actions.Outcome, error) {
		_, _, err := s.Get(ctx, id)
		return "", err
	},
	"consume": func(ctx context.Context, s *signedActions, id actions.ID) (actions.Outcome, error) {
		r, err := s.Consume(ctx, actions.Request{ID: id, ConsumeID: "c", PIN: "1234"})
		return r.Outcome, err
	},
	"reserve": func(ctx context.Context, s *signedActions, id actions.ID) (actions.Outcome, error) {
		r, err := s.Reserve(ctx, actions.Request{ID: id, Holder: "me", PIN: "1234"}, time.Minute)
		return r.Outcome, err
	},
	"release": func(ctx context.Context, s *signedActions, id actions.ID) (actions.Outcome, error) {
		r, err := s.Release(ctx, actions.Request{ID: id, Holder: "me", Fence: 1})
		return r.Outcome, err
	},
	"cancel": func(ctx context.Context, s *signedActions, id actions.ID) (actions.Outcome, error) {
		r, err := s.Cancel(ctx, id)
		return r.Outcome, err
	},
}

// situations are what an action may be in.
var situations = map[string]func(t *testing.T, s *signedActions) actions.ID{
	"active":     func(t *testing.T, s *signedActions) actions.ID { return s.make(t, nil).ID },
	"with a PIN": func(t *testing.T, s *signedActions) actions.ID { return s.make(t, withPIN).ID },
	"another's PIN": func(t *testing.T, s *signedActions) actions.ID {
		return s.make(t, func(spec *actions.Spec) { spec.PIN = "9999" }).ID
	},
	"held": func(t *testing.T, s *signedActions) actions.ID {
		id := s.make(t, nil).ID
		_, err := s.Reserve(t.Context(), actions.Request{ID: id, Holder: "another"}, time.Minute)
		ok(t, err)

		return id
	},
	"expired": func(t *testing.T, s *signedActions) actions.ID {
		id := s.make(t, nil).ID
		s.clock.Advance(2 * time.Hour)

		return id
	},
}

func ok(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

// What DynamoDB refuses to do is an error of the call that names verb and action, whichever
// of its calls that is, and no outcome.
func TestFailuresOfDynamoDBAreErrors(t *testing.T) {
	for verb, call := range verbs {
		for situation, prepare := range situations {
			s := newSignedActions(t)

			// The first run says how many calls there are.
			id := prepare(t, s)
			s.calls()
			_, _ = call(t.Context(), s, id)
			calls := s.calls()

			for failing := range calls {
				s := newSignedActions(t)
				id := prepare(t, s)
				s.transport.Inject(embeddedtest.Answer("AccessDeniedException").From(failing + 1).Next(1))

				got, err := call(t.Context(), s, id)
				if err == nil || got != "" || !strings.HasPrefix(err.Error(), verb+" action #") || !strings.Contains(err.Error(), "AccessDenied") {
					t.Errorf("%s of an action that is %s, call %d of %d failed: %q, %v", verb, situation, failing+1, calls, got, err)
				}
			}
		}
	}
}

// A lost connection leaves open what has become of the call.
func TestALostConnectionIsUnavailable(t *testing.T) {
	for verb, call := range verbs {
		s := newSignedActions(t)
		id := s.make(t, nil).ID
		s.transport.Inject(embeddedtest.LoseRequest())

		if _, err := call(t.Context(), s, id); !errors.Is(err, actions.ErrUnavailable) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// A condition that fails although nothing speaks against the call is an error, and no
// outcome: neither does it use the action nor does it say that there is none.
func TestARefusalWithoutAReasonIsAnError(t *testing.T) {
	for verb, never := range map[string]string{
		"consume": "attribute_not_exists(actionId) AND ",
		"cancel":  "attribute_not_exists(actionId) AND ",
		"reserve": "attribute_not_exists(actionId) AND ",
		"create":  "attribute_exists(actionId) AND ",
	} {
		s := newSignedActions(t)
		id := s.make(t, nil).ID
		_, err := s.Reserve(t.Context(), actions.Request{ID: id, Holder: "me"}, time.Second)
		ok(t, err)
		s.clock.Advance(time.Minute) // the hold has run out
		s.transport.Before(func(c *embeddedtest.Call) error {
			const condition = `"ConditionExpression":"`
			c.SetBody(bytes.Replace(c.Body(), []byte(condition), []byte(condition+never), 1))

			return nil
		})

		if got, err := verbs[verb](t.Context(), s, id); err == nil || got != "" || strings.Contains(err.Error(), "Validation") {
			t.Errorf("%s: %q, %v", verb, got, err)
		}
	}
}

// The observer hears of every decision, once, under the name of the method.
func TestEveryDecisionIsObserved(t *testing.T) {
	for verb, want := range map[string]actions.Outcome{
		"consume": actions.Consumed, "reserve": actions.Reserved, "release": actions.HoldLost, "cancel": actions.Canceled,
	} {
		s := newSignedActions(t)
		var seen []string
		s.reopen(t, func(c *actions.Config) {
			c.Events.Decided = func(verb string, o actions.Outcome) { seen = append(seen, verb+" "+string(o)) }
		})
		id := s.make(t, nil).ID

		for range 2 {
			if got, err := verbs[verb](t.Context(), s, id); err != nil || got != want {
				t.Errorf("%s: %s, %v", verb, got, err)
			}
		}

		if _, err := verbs[verb](t.Context(), s, "unknown"); err != nil {
			t.Error(err)
		}

		if got, want := strings.Join(seen, ", "), strings.Repeat(verb+" "+string(want)+", ", 2)+verb+" "+string(actions.NotFound); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A batch outlasts an outage of seconds, and gives up after half a minute at most.
func TestABatchOutlastsAnOutage(t *testing.T) {
	for outage, want := range map[time.Duration]error{6 * time.Second: nil, time.Hour: actions.ErrUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			s := newSignedActions(t)
			began := time.Now()
			s.transport.Inject(embeddedtest.LoseRequest("PutItem").If(func(*embeddedtest.Call) bool { return time.Since(began) < outage }))

			err := s.Bulk(t.Context(), coupons(1), func(actions.BatchAction) error { return nil })
			if took := time.Since(began); !errors.Is(err, want) || took < 6*time.Second || took > 30*time.Second {
				t.Errorf("an outage of %s: after %s: %v", outage, took, err)
			}
		})
	}
}

// A batch has as many writes in flight as it asks for, and no more.
func TestABatchIsWrittenInParallel(t *testing.T) {
	for parallel, want := range map[int]time.Duration{1: 64 * time.Second, 0: 4 * time.Second, 32: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newSignedActions(t)
			s.transport.Inject(embeddedtest.Delay(time.Second, "PutItem"))
			began := time.Now()
			b := coupons(64)
			b.Parallel = parallel

			err := s.Bulk(t.Context(), b, func(actions.BatchAction) error { return nil })
			if took := time.Since(began); err != nil || took != want {
				t.Errorf("%d at once: after %s, want %s: %v", parallel, took, want, err)
			}
		})
	}
}

// A code whose name is taken by another batch gets another name, 16 times. What cannot be
// read belongs to no action.
func TestABatchEndsAtACodeThatItCannotHave(t *testing.T) {
	for about, row := range map[string]struct {
		status, batch string
		want          string
		writes        int
	}{
		"each name is taken": {"OPEN", "another", "index 0: 16 codes are taken by other batches", 16},
		"an unreadable item": {"LOST", "summer sale", `status "LOST"`, 1},
	} {
		s := newSignedActions(t)
		taken := map[string]any{"status": map[string]string{"S": row.status}, "batchId": map[string]string{"S": row.batch}, "expiresAt": map[string]string{"N": "1"}}
		s.transport.Inject(embeddedtest.Answer("", "PutItem").With(&embeddedtest.Error{Code: "ConditionalCheckFailedException", Members: map[string]any{"Item": taken}}))

		err := s.Bulk(t.Context(), coupons(1), func(actions.BatchAction) error { t.Error("reported"); return nil })
		if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), `batch "summer sale": after 0 of 1: `) || s.transport.Count("PutItem") != row.writes {
			t.Errorf("%s: %v after %d writes", about, err, s.transport.Count("PutItem"))
		}
	}
}

// Codes on paper and ids in mails outlive a release of this software: their form stays.
func TestTheFormOfCodesAndIDsStays(t *testing.T) {
	s := newSignedActions(t)
	key := actions.Key{Version: 1, Secret: []byte("0123456789abcdef0123456789abcdef")}
	s.reopen(t, func(c *actions.Config) { c.Keys = []actions.Key{key} })

	codes, _ := s.bulk(t, coupons(2))
	s.remove(t)
	id := s.make(t, func(spec *actions.Spec) { spec.RequestID, spec.ExpiresAt = "order-1", start.Add(time.Hour) }).ID

	// A repeat is recognized by the digest that an earlier release has stored.
	out, err := s.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("actions")})
	ok(t, err)

	if content, _ := out.Items[0]["content"].(*types.AttributeValueMemberB); hex.EncodeToString(content.Value[:8]) != "4f1f7c3ccc69eaaf" {
		t.Errorf("the digest of the content begins with %x", content.Value[:8])
	}

	if got, want := fmt.Sprintf("%s", []string{string(codes[0]), string(codes[1]), string(id)}), "[SUMMER-11V0W-XCHGR-PWZTA-QNTR8 SUMMER-11V0W-1K22W-8DMXT-GP3HR act_AQBrAZXQseW5eq3wD6qIOy7zHruS9R0ny8qPPnzjiCE]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The hour in a code is the first one at or after the end of its action: of a code whose
// item is gone, it tells whether there can have been one.
func TestACodeKnowsTheHourOfItsEnd(t *testing.T) {
	for end, expired := range map[time.Time]time.Time{
		start.Add(2 * time.Hour):                    start.Add(2 * time.Hour),
		start.Add(2*time.Hour + time.Millisecond):   start.Add(3 * time.Hour),
		start.Add(2*time.Hour - time.Millisecond):   start.Add(2 * time.Hour),
		start.Add(2*time.Hour - 30*time.Minute):     start.Add(2 * time.Hour),
		start.Add(5*366*24*time.Hour - time.Minute): start.Add(5 * 366 * 24 * time.Hour),
	} {
		s := newSignedActions(t)
		b := coupons(1)
		b.ExpiresAt = end
		codes, _ := s.bulk(t, b)
		s.remove(t)

		for now, want := range map[time.Time]actions.Outcome{expired.Add(-time.Millisecond): actions.NotFound, expired: actions.Expired} {
			s.clock.Set(now)
			s.want(t, actions.Request{ID: codes[0]}, want)
		}
	}
}

// A code with a character that no code has is unknown, without a request.
func TestACodeOfOtherCharactersIsUnknown(t *testing.T) {
	s := newSignedActions(t)
	for _, code := range []actions.ID{"SUMMER-UUUUU-UUUUU-UUUUU-UUUUU", "SUMMER-*****-*****-*****-*****"} {
		s.want(t, actions.Request{ID: code}, actions.NotFound)
	}

	if n := s.calls(); n > 1 { // the creation of the table
		t.Errorf("%d calls", n)
	}
}

// An action ends at a millisecond and is forgotten at a second, for every verb the same.
func TestAnActionEndsToTheMillisecond(t *testing.T) {
	for at, want := range map[time.Duration]actions.Outcome{time.Hour - time.Millisecond: actions.Canceled, time.Hour: actions.Expired} {
		s := newSignedActions(t)
		id := s.make(t, nil).ID
		s.clock.Advance(at)

		got, err := s.Cancel(t.Context(), id)
		outcome(t, got, err, want)
	}

	const retention = 30 * 24 * time.Hour
	for at, repeated := range map[time.Duration]bool{time.Hour + retention - time.Millisecond: true, time.Hour + retention: false} {
		s := newSignedActions(t)
		spec := actions.Spec{RequestID: "r", ExpiresAt: s.clock.Now().Add(time.Hour)}
		_, err := s.Create(t.Context(), spec)
		ok(t, err)
		s.clock.Advance(at)
		spec.ExpiresAt = s.clock.Now().Add(time.Hour)

		if _, err := s.Create(t.Context(), spec); repeated != errors.Is(err, actions.ErrConflict) || !repeated && err != nil {
			t.Errorf("after %s: %v", at, err)
		}
	}
}

// remove deletes the actions behind the package's back.
func (s *signedActions) remove(t *testing.T) {
	t.Helper()

	out, err := s.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("actions")})
	ok(t, err)

	for _, item := range out.Items {
		_, err := s.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("actions"),
			Key: map[string]types.AttributeValue{"actionId": item["actionId"]}})
		ok(t, err)
	}
}
