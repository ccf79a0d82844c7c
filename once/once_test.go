package once_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is the callers' clock; tests move it.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() time.Time          { return time.UnixMilli(c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(d.Milliseconds()) }

func newClaims(t *testing.T) (*once.Claims, *clock) {
	t.Helper()
	c := &clock{}
	c.now.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	claims, err := once.New(once.Config{DynamoDB: embeddedtest.DynamoDB(t, once.TableInput("once")), Table: "once",
		Lease: time.Minute, Retention: time.Hour, Margin: time.Second, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	return claims, c
}

func claim(t *testing.T, c *once.Claims, key string) *once.Claim {
	t.Helper()
	got, err := c.Claim(t.Context(), key, []byte("payload"))
	if err != nil {
		t.Fatalf("claim %s: %v", key, err)
	}
	return got
}

func TestOneOfManyClaims(t *testing.T) {
	claims, _ := newClaims(t)
	var won, refused atomic.Int32
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			_, err := claims.Claim(t.Context(), "k", nil)
			switch {
			case err == nil:
				won.Add(1)
			case errors.Is(err, once.ErrInProgress):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 || refused.Load() != 49 {
		t.Errorf("%d won, %d were refused", won.Load(), refused.Load())
	}
}

func TestTheResultIsWhatEverybodyGets(t *testing.T) {
	claims, clock := newClaims(t)
	for name, result := range map[string][]byte{"text": []byte("done"), "empty": {}, "zero": {0}} {
		if err := claim(t, claims, name).Complete(t.Context(), result); err != nil {
			t.Fatal(err)
		}
		clock.advance(59 * time.Minute)
		again := claim(t, claims, name)
		if !again.Completed || string(again.Result) != string(result) {
			t.Errorf("%s: completed %v, result %q", name, again.Completed, again.Result)
		}
		clock.advance(2 * time.Minute)
		if fresh := claim(t, claims, name); fresh.Completed || fresh.Fence != 2 {
			t.Errorf("%s: past its retention the key is free and the fence goes on: %+v", name, fresh)
		}
	}
}

func TestAnotherPayloadIsRefused(t *testing.T) {
	claims, clock := newClaims(t)
	held := claim(t, claims, "k")
	if _, err := claims.Claim(t.Context(), "k", []byte("other")); !errors.Is(err, once.ErrMismatch) {
		t.Errorf("while in progress: %v", err)
	}
	clock.advance(2 * time.Minute)
	if _, err := claims.Claim(t.Context(), "k", []byte("other")); !errors.Is(err, once.ErrMismatch) {
		t.Errorf("an expired lease is not taken over with another payload: %v", err)
	}
	clock.advance(-2 * time.Minute)
	if err := held.Complete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := claims.Claim(t.Context(), "k", []byte("other")); !errors.Is(err, once.ErrMismatch) {
		t.Errorf("when completed: %v", err)
	}
}

func TestAnExpiredLeaseIsTakenOverAndItsHolderIsFencedOff(t *testing.T) {
	claims, clock := newClaims(t)
	first := claim(t, claims, "k")
	clock.advance(time.Minute)
	if err := first.Complete(t.Context(), nil); !errors.Is(err, once.ErrLeaseExpired) {
		t.Errorf("the lease has run out and nobody has taken over: %v", err)
	}
	if _, err := claims.Claim(t.Context(), "k", []byte("payload")); !errors.Is(err, once.ErrInProgress) {
		t.Errorf("within the margin the lease still counts for others: %v", err)
	}
	clock.advance(time.Second)
	second := claim(t, claims, "k")
	if second.Fence != first.Fence+1 {
		t.Errorf("fences %d, %d", first.Fence, second.Fence)
	}
	for name, end := range map[string]error{"complete": first.Complete(t.Context(), nil), "release": first.Release(t.Context())} {
		if !errors.Is(end, once.ErrStaleOwner) {
			t.Errorf("%s by the first holder: %v", name, end)
		}
	}
	if err := second.Complete(t.Context(), []byte("second")); err != nil {
		t.Fatal(err)
	}
	if err := first.Complete(t.Context(), []byte("first")); !errors.Is(err, once.ErrStaleOwner) {
		t.Errorf("after the second has completed: %v", err)
	}
}

func TestDoReleasesOnErrorAndOnPanic(t *testing.T) {
	claims, _ := newClaims(t)
	broken := errors.New("broken")
	_, _, err := claims.Do(t.Context(), "k", nil, func(context.Context, *once.Claim) ([]byte, error) { return nil, broken })
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _, _ = claims.Do(t.Context(), "k", nil, func(context.Context, *once.Claim) ([]byte, error) { panic("broken") })
	}()
	result, replayed, err := claims.Do(t.Context(), "k", nil, func(context.Context, *once.Claim) ([]byte, error) { return []byte("ok"), nil })
	if err != nil || replayed || string(result) != "ok" {
		t.Errorf("after a failure and a panic the work is done: %q %v %v", result, replayed, err)
	}
	result, replayed, err = claims.Do(t.Context(), "k", nil, func(context.Context, *once.Claim) ([]byte, error) { panic("not again") })
	if err != nil || !replayed || string(result) != "ok" {
		t.Errorf("the second call replays: %q %v %v", result, replayed, err)
	}
}

// dropping loses the answer of the next call that was carried out.
type dropping struct {
	client *http.Client
	drop   bool
}

func (d *dropping) Do(r *http.Request) (*http.Response, error) {
	response, err := d.client.Do(r)
	if err == nil && d.drop {
		d.drop = false
		return nil, io.ErrUnexpectedEOF
	}
	return response, err
}

func TestALostAnswerIsRecognised(t *testing.T) {
	engine := embeddedtest.Open(t)
	cfg := engine.AWSConfig()
	wire := &dropping{client: engine.HTTPClient()}
	cfg.HTTPClient = wire
	db := dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, db, once.TableInput("once"))
	claims, err := once.New(once.Config{DynamoDB: db, Table: "once"})
	if err != nil {
		t.Fatal(err)
	}
	wire.drop = true
	held := claim(t, claims, "k")
	if held.Completed || held.Fence != 1 {
		t.Errorf("the winner learns that it won: %+v", held)
	}
	wire.drop = true
	if err := held.Complete(t.Context(), []byte("r")); err != nil {
		t.Errorf("complete: %v", err)
	}
	if again := claim(t, claims, "k"); string(again.Result) != "r" {
		t.Errorf("result %q", again.Result)
	}
}

func TestBadArgumentsAreNamed(t *testing.T) {
	claims, _ := newClaims(t)
	if _, err := claims.Claim(t.Context(), "", nil); !errors.Is(err, once.ErrInvalid) {
		t.Errorf("an empty key: %v", err)
	}
	if _, err := claims.Claim(t.Context(), string(make([]byte, 2049)), nil); !errors.Is(err, once.ErrInvalid) {
		t.Errorf("a long key: %v", err)
	}
	if err := claim(t, claims, "k").Complete(t.Context(), make([]byte, once.MaxResult+1)); !errors.Is(err, once.ErrInvalid) {
		t.Errorf("a large result: %v", err)
	}
	if _, err := once.New(once.Config{Table: "t"}); err == nil {
		t.Error("a nil client is refused")
	}
}
