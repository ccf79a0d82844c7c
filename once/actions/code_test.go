package actions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/actions"
)

func coupons(count int) actions.Batch {
	return actions.Batch{ID: "summer sale", Prefix: "summer", Count: count, Payload: json.RawMessage(`{"off":10}`), ExpiresAt: start.Add(48 * time.Hour)}
}

// bulk makes the batch and returns its codes in order, and how many were new.
func (s *signedActions) bulk(t testing.TB, b actions.Batch) (codes []actions.ID, made int) {
	t.Helper()

	err := s.Bulk(t.Context(), b, func(c actions.BatchAction) error {
		if c.Index != b.From+len(codes) {
			t.Errorf("code %d was reported as %d", b.From+len(codes), c.Index)
		}

		codes = append(codes, c.Code)
		if c.Made {
			made++
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(time.Second)

	return codes, made
}

func TestBulkIsIdempotent(t *testing.T) {
	s := newSignedActions(t)
	codes, made := s.bulk(t, coupons(600))
	if len(codes) != 600 || made != 600 {
		t.Fatalf("%d codes, %d new", len(codes), made)
	}

	form := regexp.MustCompile(`^SUMMER(-[0-9A-HJKMNP-TV-Z]{5}){4}$`)
	seen := map[actions.ID]bool{}
	for _, c := range codes {
		if seen[c] || !form.MatchString(string(c)) {
			t.Fatalf("code %q", string(c))
		}
		seen[c] = true
	}
	s.want(t, actions.Request{ID: codes[17], ConsumeID: "c"}, actions.Consumed)

	again, made := s.bulk(t, coupons(600))
	if made != 0 || fmt.Sprintf("%q", again) != fmt.Sprintf("%q", codes) {
		t.Errorf("%d were new", made)
	}
	s.want(t, actions.Request{ID: codes[17], ConsumeID: "another"}, actions.AlreadyUsed)

	rest := coupons(610)
	rest.From = 595
	if more, made := s.bulk(t, rest); len(more) != 15 || made != 10 || more[0] != codes[595] {
		t.Errorf("%d codes, %d new", len(more), made)
	}

	other := coupons(1)
	other.Payload = json.RawMessage(`{"off":20}`)
	if err := s.Bulk(t.Context(), other, func(actions.BatchAction) error { return nil }); !errors.Is(err, actions.ErrConflict) {
		t.Errorf("the batch with other content must be a conflict: %v", err)
	}
}

func TestABatchThatFailedIsRepeated(t *testing.T) {
	s := newSignedActions(t)
	ctx, interrupt := context.WithCancel(t.Context())
	s.transport.Inject(embeddedtest.LoseRequest().From(301).With(context.Canceled).If(func(c *embeddedtest.Call) bool {
		if c.N > 300 { // the first run writes nothing but codes
			interrupt()
		}

		return true
	}))

	reported := 0
	err := s.Bulk(ctx, coupons(600), func(actions.BatchAction) error { reported++; return nil })
	if err == nil || !strings.Contains(err.Error(), "after 256 of 600") || reported != 256 {
		t.Errorf("%d codes were reported: %v", reported, err)
	}
	s.transport.Clear()
	s.clock.Advance(time.Second)

	if codes, made := s.bulk(t, coupons(600)); len(codes) != 600 || made < 300 || made > 344 {
		t.Errorf("%d codes, %d new", len(codes), made)
	}

	stop := errors.New("disk full")
	if err := s.Bulk(t.Context(), coupons(600), func(actions.BatchAction) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the callback must end the run: %v", err)
	}
}

func TestUnansweredWritesOfABatchAreRetried(t *testing.T) {
	s := newSignedActions(t)
	s.loseAnswers(6) // more often than the SDK tries

	if codes, made := s.bulk(t, coupons(1)); len(codes) != 1 || made != 1 {
		t.Errorf("%d codes, %d made by this run", len(codes), made)
	}
}

func TestACodeIsReadAsPeopleTypeIt(t *testing.T) {
	s := newSignedActions(t)
	codes, _ := s.bulk(t, coupons(40))
	for i, c := range codes {
		typed := string(c)
		switch i % 4 {
		case 0:
			typed = strings.ToLower(typed)
		case 1:
			prefix, rest, _ := strings.Cut(typed, "-")
			typed = " " + prefix + "-" + strings.ReplaceAll(rest, "-", "") + " "
		case 2:
			typed = strings.ReplaceAll(typed, "-", " ")
		case 3:
			prefix, rest, _ := strings.Cut(typed, "-")
			typed = prefix + "-" + strings.NewReplacer("0", "o", "1", "l").Replace(rest)
		}
		s.want(t, actions.Request{ID: actions.ID(typed)}, actions.Consumed)
	}
}

func TestACodeWithAnyOtherCharacterIsUnknownWithoutARead(t *testing.T) {
	s := newSignedActions(t)
	codes, _ := s.bulk(t, coupons(1))
	code := string(codes[0])
	s.calls()

	for i := range code {
		for _, c := range []byte("2AZ7") {
			if code[i] == c || code[i] == '-' {
				continue
			}
			typo := code[:i] + string(c) + code[i+1:]
			s.want(t, actions.Request{ID: actions.ID(typo)}, actions.NotFound)
		}
	}

	if n := s.calls(); n != 0 {
		t.Errorf("%d calls", n)
	}
	s.want(t, actions.Request{ID: codes[0]}, actions.Consumed)
}

func TestACodeWhoseNameIsTakenGetsAnother(t *testing.T) {
	s := newSignedActions(t)
	codes, _ := s.bulk(t, coupons(3))
	// The name of index 1 is taken by another batch. By chance, that is one in 2^35.
	out, err := s.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("actions")})
	if err != nil {
		t.Fatal(err)
	}

	for _, item := range out.Items {
		if fmt.Sprint(attributeText(item["batchIndex"])) == "1" {
			item["batchId"] = text("another batch")
			if _, err := s.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("actions"), Item: item}); err != nil {
				t.Fatal(err)
			}
		}
	}

	for run, made := range []int{1, 0} {
		again, n := s.bulk(t, coupons(3))
		if n != made || again[0] != codes[0] || again[1] == codes[1] || again[2] != codes[2] {
			t.Errorf("run %d: %d new, %q", run, n, again)
		}
		s.want(t, actions.Request{ID: again[1], ConsumeID: "c"}, actions.Consumed)
	}
}

func TestABatchStaysTheSameWhenKeysChange(t *testing.T) {
	s := newSignedActions(t)
	old, _ := s.bulk(t, coupons(2))
	s.keys = append([]actions.Key{actions.NewKey(2)}, s.keys...)
	s.reopen(t, func(*actions.Config) {})

	fresh, made := s.bulk(t, coupons(2))
	if made != 0 || fresh[0] == old[0] {
		t.Errorf("%d were new, %q", made, string(fresh[0]))
	}
	s.want(t, actions.Request{ID: old[0]}, actions.Consumed)
	s.want(t, actions.Request{ID: fresh[0]}, actions.AlreadyUsed)
	s.want(t, actions.Request{ID: fresh[1]}, actions.Consumed)
	s.want(t, actions.Request{ID: old[1]}, actions.AlreadyUsed)
}

func TestPoint42_ALateCodeIsExpired(t *testing.T) {
	s := newSignedActions(t)
	s.reopen(t, func(c *actions.Config) { c.Retention = 2 * time.Hour })
	codes, _ := s.bulk(t, coupons(2))
	s.want(t, actions.Request{ID: codes[0]}, actions.Consumed)
	s.clock.Advance(51 * time.Hour)
	s.sweep(t)

	for _, c := range codes {
		s.want(t, actions.Request{ID: c}, actions.Expired)
	}

	if err := s.Bulk(t.Context(), coupons(2), func(actions.BatchAction) error { return nil }); !errors.Is(err, actions.ErrInvalid) {
		t.Errorf("a batch that has expired was made again: %v", err)
	}
}

func TestBadBatchesAndCodesAreNamed(t *testing.T) {
	s := newSignedActions(t)
	for rule, change := range map[string]func(*actions.Batch){
		"batch:":     func(b *actions.Batch) { b.ID = "" },
		"prefix:":    func(b *actions.Batch) { b.Prefix = "a-b" },
		"count 0:":   func(b *actions.Batch) { b.Count = 0 },
		"count 1000": func(b *actions.Batch) { b.Count = 1_000_000 + 1 },
		"from -1:":   func(b *actions.Batch) { b.From = -1 },
		"parallel":   func(b *actions.Batch) { b.Parallel = 257 },
		"expiresAt":  func(b *actions.Batch) { b.ExpiresAt = start },
		"payload:":   func(b *actions.Batch) { b.Payload = json.RawMessage(`{`) },
	} {
		b := coupons(1)
		change(&b)

		if err := s.Bulk(t.Context(), b, func(actions.BatchAction) error { return nil }); !errors.Is(err, actions.ErrInvalid) || !strings.Contains(err.Error(), rule) {
			t.Errorf("%s %v", rule, err)
		}
	}

	for _, code := range []string{"A", "-AB", "AB-", "A_B", "ÄÖÜ", strings.Repeat("A", 65), "SUMMER-AAAAA-AAAAA-AAAAA-AAAAA"} {
		if _, err := s.Create(t.Context(), actions.Spec{Code: code, ExpiresAt: start.Add(time.Hour)}); !errors.Is(err, actions.ErrInvalid) {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// TestABatchIsFoundAfterItsEnd: a repeat after the expiry, for a run whose end was not heard, reports what was made
// and makes nothing.
//
//raced:here
func TestABatchIsFoundAfterItsEnd(t *testing.T) {
	s := newSignedActions(t)
	codes, _ := s.bulk(t, coupons(3))
	s.clock.Advance(49 * time.Hour)

	if again, made := s.bulk(t, coupons(3)); made != 0 || !slices.Equal(again, codes) {
		t.Errorf("%d made, %v", made, again)
	}

	if err := s.Bulk(t.Context(), coupons(4), func(actions.BatchAction) error { return nil }); !errors.Is(err, actions.ErrInvalid) {
		t.Errorf("one more: %v", err)
	}
}
