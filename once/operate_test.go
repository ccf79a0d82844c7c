package once_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/once/keys"
)

func TestPoint48_WithoutDynamoDBWorkFailsUnlessFailOpenIsSet(t *testing.T) {
	w := newWatchedClaims(t)
	open := w.with(t, func(c *once.Config) { c.FailOpen, c.Operation = true, "newsletter" })
	job := &work{result: []byte("r")}
	for _, name := range []string{"no connection"} {
		w.outage()
		w.outcomes()

		if _, _, err := w.Do(t.Context(), "k", payload, job.do); !errors.Is(err, errOutage) || job.calls != 0 {
			t.Errorf("%s: without FailOpen: %v, %d calls", name, err, job.calls)
		}

		got, replayed, err := open.Do(t.Context(), "k", payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
			if c.Outcome != once.Untracked || errors.Join(c.Extend(ctx), c.Complete(ctx, nil), c.Release(ctx)) != nil {
				t.Errorf("%s: the outcome of the claim is %s", name, c.Outcome)
			}
			return job.do(ctx, c)
		})
		if err != nil || replayed || string(got) != "r" {
			t.Errorf("%s: with FailOpen: %q %t %v", name, got, replayed, err)
		}

		if observed := w.outcomes(); !slices.Equal(observed, []once.Outcome{"unavailable", "unavailable", once.Untracked}) {
			t.Errorf("%s: observed %v", name, observed)
		}
	}
	w.transport.Clear()

	if err := take(t, open, "large").Complete(t.Context(), make([]byte, 100<<10)); err != nil {
		t.Fatal(err)
	}
	job.calls = 0
	w.outage("GetItem")

	if _, replayed, err := open.Do(t.Context(), "large", payload, job.do); !errors.Is(err, once.ErrResultUnavailable) || !replayed || job.calls != 0 {
		t.Errorf("a result that cannot be read must not lead to another run: %t %v, %d calls", replayed, err, job.calls)
	}
	w.transport.Clear()

	missing := w.with(t, func(c *once.Config) { c.FailOpen, c.Table = true, "missing" })
	if _, _, err := missing.Do(t.Context(), "k", payload, job.do); err == nil || job.calls != 0 {
		t.Errorf("a missing table must not count as an outage: %v", err)
	}

	for name, c := range map[string]*once.Claims{"in progress": w.Claims, "mismatch": open} {
		take(t, w.Claims, name)

		if _, _, err := c.Do(t.Context(), name, payload, job.do); err == nil || job.calls != 0 {
			t.Errorf("%s: a refusal must not count as an outage: %v", name, err)
		}
	}
}

func TestPoint49And35_CheckFindsATableThatCannotHoldClaims(t *testing.T) {
	db := embeddedtest.DynamoDB(t)
	expiring := func(table, attribute string) {
		t.Helper()

		if _, err := db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: &table,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: aws.Bool(true)}}); err != nil {
			t.Fatal(err)
		}
	}
	wrongKey, noTTL, good, otherTTL := once.TableInput("key"), once.TableInput("no-ttl"), once.TableInput("good"), once.TableInput("other-ttl")
	wrongKey.KeySchema[0].AttributeName, wrongKey.AttributeDefinitions[0].AttributeName = aws.String("id"), aws.String("id")
	embeddedtest.Create(t, db, wrongKey, noTTL, good, otherTTL)
	expiring("key", once.ExpiryAttribute)
	expiring("good", once.ExpiryAttribute)
	expiring("other-ttl", "ttl")

	for table, want := range map[string]string{"good": "", "key": "its key must be idempotencyKey", "no-ttl": "time to live is off",
		"other-ttl": "time to live is on ttl", "missing": "not found"} {
		switch err := once.Check(t.Context(), db, table); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", table, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", table, err, want)
		}
	}
	w := newWatchedClaims(t)
	w.transport.Around(withoutItem)

	replicated := &describing{meter: w.db, table: types.TableDescription{Replicas: []types.ReplicaDescription{{}},
		KeySchema:            good.KeySchema,
		AttributeDefinitions: good.AttributeDefinitions}}
	if err := once.Check(t.Context(), replicated, "once"); err == nil || !strings.Contains(err.Error(), "replicated") {
		t.Errorf("a global table: %v", err)
	}

	replicated.table.Replicas = nil
	if err := once.Check(t.Context(), replicated, "once"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an endpoint that does not return the item: %v", err)
	}
}

// describing answers DescribeTable for tables that the engine does not support.
type describing struct {
	*meter
	table types.TableDescription
}

func (d *describing) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: &d.table}, nil
}

func (d *describing) DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error) {
	return &dynamodb.DescribeTimeToLiveOutput{TimeToLiveDescription: &types.TimeToLiveDescription{
		TimeToLiveStatus: types.TimeToLiveStatusEnabled, AttributeName: aws.String(once.ExpiryAttribute)}}, nil
}

// reserved are words of DynamoDB's list that records use as attribute names.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ReservedWords.html
var reserved = []string{"STATUS", "OWNER", "RESULT", "OPERATION", "COUNT", "KEY", "REF", "SIZE", "DATA", "TOKEN", "TTL"}

func TestPoint49_NoExpressionNamesAnAttributeWithoutAnAlias(t *testing.T) {
	w := newWatchedClaims(t)
	spy := &expressions{meter: w.db}

	c := w.with(t, func(c *once.Config) { c.DynamoDB = spy })
	held := take(t, c, "k")
	for _, err := range endings(t.Context(), held) {
		_ = err // some steps come after the end of the claim
	}
	w.clock.Advance(2 * time.Minute)

	_, _ = c.Claim(t.Context(), "k", payload)
	if _, _, err := c.Unsettled(t.Context(), w.clock.Now(), "", 10); err != nil {
		t.Fatal(err)
	}

	if len(spy.seen) < 6 {
		t.Fatalf("%d expressions", len(spy.seen))
	}

	for _, e := range spy.seen {
		for _, word := range strings.FieldsFunc(e, func(r rune) bool { return strings.ContainsRune(" ,()=<>+", r) }) {
			if slices.Contains(reserved, strings.ToUpper(word)) {
				t.Errorf("%s: %s is a reserved word", e, word)
			}
		}
	}
}

type expressions struct {
	*meter
	seen []string
}

func (e *expressions) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	e.seen = append(e.seen, aws.ToString(in.ConditionExpression), aws.ToString(in.UpdateExpression))
	return e.meter.UpdateItem(ctx, in, o...)
}

func (e *expressions) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	e.seen = append(e.seen, aws.ToString(in.FilterExpression))
	return e.meter.Scan(ctx, in, o...)
}

func TestPoint50_KeysOwnersAndPayloadsAreNeverInErrorsOrEvents(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.PayloadJSON, c.LogKey = true, []byte("log secret") })
	const secret = "card-4242424242424242"
	var all []error

	_, err := w.Claim(t.Context(), secret, []byte(`{"pan":"`+secret+`"`))
	all = append(all, err)
	held, err := w.Claim(t.Context(), secret, []byte(`{"pan":"`+secret+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	owner := textOf(w.record(t, secret)["owner"])
	_, err = w.Claim(t.Context(), secret, []byte(`{}`))
	all = append(all, err, held.Complete(t.Context(), make([]byte, 4<<20+1)), held.Release(t.Context()), held.Complete(t.Context(), nil))
	w.outage()

	_, err = w.Claim(t.Context(), secret, []byte(`{}`))
	all = append(all, err)
	for _, e := range w.events {
		all = append(all, fmt.Errorf("%+v", e))
	}

	for _, err := range all {
		if err == nil {
			continue
		}

		if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), owner) {
			t.Errorf("the text contains a secret: %v", err)
		}
	}

	if ref := w.Ref(secret); len(ref) != 12 || ref == w.with(t, func(c *once.Config) { c.LogKey = []byte("other") }).Ref(secret) {
		t.Errorf("the digest must depend on LogKey: %s", ref)
	}

	if !strings.Contains(all[len(all)-1].Error(), w.Ref(secret)) {
		t.Errorf("the error must contain the digest of the key: %v", all[len(all)-1])
	}
}

// Without an observer, errors are the same.
func TestErrorsNameVerbAndKeyWithoutAnObserver(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.Events = once.Events{} })
	held := take(t, w.Claims, "k")

	_, err := w.Claim(t.Context(), "k", payload)
	if !errors.Is(err, once.ErrInProgress) || !strings.HasPrefix(err.Error(), "claim key#"+w.Ref("k")+": ") {
		t.Error(err)
	}
	must(t, held.Release(t.Context()))
}

func TestEveryOutcomeIsObservedOnce(t *testing.T) {
	w := newWatchedClaims(t)
	observed := func(why string, want ...once.Outcome) {
		t.Helper()

		if got := w.outcomes(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", why, got, want)
		}
	}
	_, _, _ = w.Do(t.Context(), "k", payload, (&work{}).do)
	observed("first", once.Acquired, "completed")
	_, _, _ = w.Do(t.Context(), "k", payload, (&work{}).do)
	observed("duplicate", once.Replayed)
	_, _, _ = w.Do(t.Context(), "k", []byte("other"), (&work{}).do)
	observed("other payload", "mismatch")
	_, _, _ = w.Do(t.Context(), "f", payload, (&work{err: once.Fail("Closed", nil)}).do)
	observed("final failure", once.Acquired, "failed")
	_, _, _ = w.Do(t.Context(), "f", payload, (&work{}).do)
	observed("its replay", "replayed_failure")
	held := take(t, w.Claims, "h")
	_, _ = w.Claim(t.Context(), "h", payload)
	_ = held.Extend(t.Context())
	w.clock.Advance(2 * time.Minute)
	_ = held.Extend(t.Context())
	take(t, w.Claims, "h")
	_ = held.Extend(t.Context())
	observed("a lease", once.Acquired, "in_progress", "extended", "lease_expired", once.TakenOver, "stale_owner")
}

func TestASweepFindsUnsettledClaims(t *testing.T) {
	known := map[string]once.Resolution{}
	var broken error

	w := newWatchedClaims(t, func(c *once.Config) {
		c.Operation = "charge"
		c.Reconcile = func(_ context.Context, r once.Record) (once.Resolution, error) { return known[r.Key], broken }
	})
	for i := range 250 { // three pages
		k := fmt.Sprintf("done-%d", i)
		if _, _, err := w.Do(t.Context(), k, payload, (&work{}).do); err != nil {
			t.Fatal(err)
		}
	}
	take(t, w.with(t, func(c *once.Config) { c.Operation = "other" }), "another's")
	take(t, w.Claims, "crashed")

	if err := take(t, w.Claims, "unknown").Unknown(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := take(t, w.Claims, "outcome unknown").Unknown(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(10 * time.Minute)
	live := take(t, w.Claims, "live")

	broken = errors.New("gateway down")
	if s, err := w.Sweep(t.Context(), time.Minute); !errors.Is(err, broken) || s != (once.Swept{Found: 3, Failed: 3}) {
		t.Errorf("%+v, %v", s, err)
	}
	broken = nil
	known["crashed"] = once.Resolution{Status: once.StatusFailed, Failure: &once.Failure{Code: "Declined"}}
	known["unknown"] = once.Resolution{Status: once.StatusCompleted, Result: []byte("charged")}
	known["live"] = once.Resolution{Status: once.StatusReleased}

	if s, err := w.Sweep(t.Context(), time.Minute); err != nil || s != (once.Swept{Found: 3, Moved: 2}) {
		t.Errorf("%+v, %v", s, err)
	}
	refused(t, w.Claims, "crashed", &once.Failure{Code: "Declined"})

	if got := take(t, w.Claims, "unknown"); string(got.Result) != "charged" {
		t.Errorf("%+v", got)
	}

	r, _, err := w.Get(t.Context(), "live")
	if err != nil {
		t.Fatal(err)
	}

	if err := w.Resolve(t.Context(), r, known["live"]); !errors.Is(err, once.ErrStaleOwner) {
		t.Errorf("a record whose lease runs must not be resolved: %v", err)
	}

	if err := live.Complete(t.Context(), nil); err != nil {
		t.Error(err)
	}

	for name, bad := range map[string]once.Resolution{"none": {}, "in progress": {Status: once.StatusInProgress}, "no failure": {Status: once.StatusFailed},
		"much": {Status: once.StatusCompleted, Result: make([]byte, 64<<10)}} {
		if err := w.Resolve(t.Context(), r, bad); !errors.Is(err, once.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnOperatorMayReleaseAKeyWithAReason(t *testing.T) {
	w := newWatchedClaims(t)
	held := take(t, w.Claims, "k")
	r, there, err := w.Get(t.Context(), "k")
	if err != nil || !there {
		t.Fatal(err)
	}

	if err := w.ForceRelease(t.Context(), r, "", "because"); !errors.Is(err, once.ErrInvalid) {
		t.Errorf("without a name: %v", err)
	}
	w.loseAnswers(1)

	if err := w.ForceRelease(t.Context(), r, "ada", "its worker is gone"); err != nil {
		t.Fatal(err)
	}
	w.transport.Clear()

	if err := held.Complete(t.Context(), nil); !errors.Is(err, once.ErrStaleOwner) {
		t.Errorf("the former holder: %v", err)
	}

	again, _, err := w.Get(t.Context(), "k")
	if err != nil || again.ReleasedBy != "ada" || again.Reason != "its worker is gone" || again.Status != once.StatusReleased {
		t.Errorf("%+v, %v", again, err)
	}
	take(t, w.Claims, "k")

	if err := w.ForceRelease(t.Context(), r, "ada", "again"); !errors.Is(err, once.ErrStaleOwner) {
		t.Errorf("a record that has changed: %v", err)
	}
}

func TestAKeyIsNeverClaimableAfterItsOwnEnd(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.KeysExpire, c.Cache = true, 10 })
	long, err := keys.Expiring("coupon", "o-1", w.clock.Now().Add(30*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}

	if _, _, err := w.Do(t.Context(), long, payload, (&work{result: []byte("r")}).do); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(29 * 24 * time.Hour) // far beyond the retention

	if got := take(t, w.Claims, long); got.Outcome != once.Replayed {
		t.Errorf("a day before its end: %s", got.Outcome)
	}

	r, _, err := w.Get(t.Context(), long)
	if err != nil || r.ExpiresAt.Before(w.clock.Now().Add(24*time.Hour+2*time.Second)) {
		t.Errorf("the record is kept until %s, %v", r.ExpiresAt, err)
	}
	w.clock.Advance(24 * time.Hour)
	refused(t, w.Claims, long, once.ErrKeyExpired)
	w.sweep(t, long)
	refused(t, w.with(t, func(c *once.Config) { c.KeysExpire = true }), long, once.ErrKeyExpired)
	w.deposit(t, "a", 10)

	for mode, do := range w.modes() {
		if _, _, err := do(t, w.Claims, long, payload, "a"); !errors.Is(err, once.ErrKeyExpired) {
			t.Errorf("%s: %v", mode, err)
		}
	}
	refused(t, w.Claims, "8e03978e", once.ErrInvalid)
}

func TestNewReportsEveryFaultOfItsConfig(t *testing.T) {
	w := newWatchedClaims(t)
	all := once.Config{}
	for name, change := range map[string]func(*once.Config){
		"DynamoDB":  func(c *once.Config) { c.DynamoDB = nil },
		"Table":     func(c *once.Config) { c.Table = "" },
		"Lease":     func(c *once.Config) { c.Lease = time.Microsecond },
		"Retention": func(c *once.Config) { c.Retention = -1 },
		"Margin":    func(c *once.Config) { c.Margin = -1 },
		"Inline":    func(c *once.Config) { c.Inline = 1 << 20 },
		"Cache":     func(c *once.Config) { c.Cache = -1 },
		"Failures":  func(c *once.Config) { c.Failures = map[string]error{"": errDeclined} },
	} {
		cfg := w.config()
		change(&cfg)
		change(&all)

		if _, err := once.New(cfg); err == nil || !strings.Contains(err.Error(), "Config."+name) {
			t.Errorf("%s: %v", name, err)
		}
	}

	_, err := once.New(all)
	if err == nil || strings.Count(err.Error(), "once: Config.") < 8 {
		t.Errorf("want every fault at once: %v", err)
	}

	short := w.config()
	short.Retention = short.Lease
	if _, err := once.New(short); err == nil || !strings.Contains(err.Error(), "must be longer than Lease") {
		t.Errorf("a retention that is as short as the lease: %v", err)
	}

	if err := (&once.Claim{}).Complete(t.Context(), nil); !errors.Is(err, once.ErrInvalid) {
		t.Errorf("a claim that is not held: %v", err)
	}

	if err := take(t, w.Claims, "k").Fail(t.Context(), nil); !errors.Is(err, once.ErrInvalid) {
		t.Errorf("a failure without a code: %v", err)
	}

	if _, err := w.Sweep(t.Context(), 0); !errors.Is(err, once.ErrInvalid) {
		t.Errorf("a sweep without a reconciler: %v", err)
	}
}
