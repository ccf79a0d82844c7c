package audit_test

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
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/audit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// book is an audit log on an engine of its own.
type book struct {
	*audit.Log
	db        *dynamodb.Client
	transport *embeddedtest.Transport
}

func newBook(t *testing.T) *book {
	t.Helper()

	cfg := embeddedtest.Backend(t)
	cfg.Retryer = embeddedtest.RetryAtOnce
	b := &book{transport: embeddedtest.Intercept(&cfg)}
	b.db = dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, b.db, audit.TableInput("audit"))

	var err error
	if b.Log, err = audit.New(audit.Config{DynamoDB: b.db, Table: "audit"}); err != nil {
		t.Fatal(err)
	}

	return b
}

// act begins an act now, and ends it with the result unless that is empty.
func (b *book) act(t *testing.T, e audit.Entry, result audit.Result) {
	t.Helper()
	b.actAt(t, e, result, time.Now())
}

func (b *book) actAt(t *testing.T, e audit.Entry, result audit.Result, at time.Time) {
	t.Helper()

	act, err := b.BeginAt(t.Context(), e, at)
	if err != nil {
		t.Fatal(err)
	}

	if result == "" {
		return
	}

	if err := act.End(t.Context(), result, ""); err != nil {
		t.Fatal(err)
	}
}

// all returns every row that the filter selects, read in pages of two.
func (b *book) all(t *testing.T, f audit.Filter) (found []audit.Entry) {
	t.Helper()

	if f.Since.IsZero() {
		f.Since = time.Now().AddDate(0, 0, -30)
	}

	for after := ""; ; {
		page, next, err := b.List(t.Context(), f, after, 2)
		if err != nil {
			t.Fatal(err)
		}

		found = append(found, page...)
		if after = next; next == "" {
			return found
		}
	}
}

func TestAnActThatWasNotEndedStaysAsEvidence(t *testing.T) {
	b := newBook(t)
	b.act(t, audit.Entry{Who: "cli:ann", Via: "cli", Act: "keys revoke", On: "k-1"}, "") // the process dies here

	rows := b.all(t, audit.Filter{Begun: true})
	if len(rows) != 1 || rows[0].Result != audit.Begun || rows[0].Who != "cli:ann" || rows[0].On != "k-1" || !rows[0].EndedAt.IsZero() {
		t.Errorf("rows: %+v", rows)
	}
}

func TestAResultIsWrittenOnce(t *testing.T) {
	b := newBook(t)

	act, err := b.Begin(t.Context(), audit.Entry{Who: "cli:ann", Act: "orders apply", On: "o-1 cancel"})
	if err != nil {
		t.Fatal(err)
	}

	for range 2 { // a repeat, as after a lost answer
		if err := act.End(t.Context(), audit.Refused, "wrong_state"); err != nil {
			t.Fatal(err)
		}
	}

	if err := act.End(t.Context(), audit.Done, ""); !errors.Is(err, audit.ErrEnded) {
		t.Errorf("another result: %v, want ErrEnded", err)
	}

	if rows := b.all(t, audit.Filter{}); len(rows) != 1 || rows[0].Result != audit.Refused || rows[0].Code != "wrong_state" {
		t.Errorf("rows: %+v", rows)
	}
}

// TestLostAnswersMakeNoSecondRow: the SDK repeats a write whose answer was lost.
func TestLostAnswersMakeNoSecondRow(t *testing.T) {
	b := newBook(t)
	b.transport.Inject(embeddedtest.LoseAnswer("PutItem").Next(1))
	b.transport.Inject(embeddedtest.LoseAnswer("UpdateItem").Next(1))
	b.act(t, audit.Entry{Who: "cli:ann", Act: "init"}, audit.Done)

	if rows := b.all(t, audit.Filter{}); len(rows) != 1 || rows[0].Result != audit.Done {
		t.Errorf("rows: %+v", rows)
	}
}

func TestARowThatCannotBeWrittenIsAnError(t *testing.T) {
	b := newBook(t)
	b.transport.Inject(embeddedtest.Answer("AccessDeniedException", "PutItem").Next(1))

	if act, err := b.Begin(t.Context(), audit.Entry{Act: "init"}); err == nil || act != nil {
		t.Errorf("begin: %v, %v, want an error", act, err)
	}
}

func TestActsAreListedByTimeAndSelected(t *testing.T) {
	b := newBook(t)
	tenant := "acme"
	noon := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -10).Add(12 * time.Hour)

	for day := range 3 {
		for n := range 3 {
			e := audit.Entry{Who: "cli:ann", Act: "orders apply", On: fmt.Sprintf("o-%d%d", day, n)}
			if n == 1 {
				e.Who, e.Act, e.Tenant = "key:k-1", "disable-endpoint", tenant
			}
			b.actAt(t, e, audit.Done, noon.AddDate(0, 0, 2*day).Add(time.Duration(n)*time.Minute))
		}
	}

	for _, row := range []struct {
		what   string
		filter audit.Filter
		want   []string
	}{
		{"all", audit.Filter{}, []string{"o-00", "o-01", "o-02", "o-10", "o-11", "o-12", "o-20", "o-21", "o-22"}},
		{"since the second day", audit.Filter{Since: noon.AddDate(0, 0, 2)}, []string{"o-10", "o-11", "o-12", "o-20", "o-21", "o-22"}},
		{"until then", audit.Filter{Until: noon.AddDate(0, 0, 2)}, []string{"o-00", "o-01", "o-02"}},
		{"of a key", audit.Filter{Who: "key:k-1"}, []string{"o-01", "o-11", "o-21"}},
		{"of an act", audit.Filter{Act: "disable-endpoint"}, []string{"o-01", "o-11", "o-21"}},
		{"on an order", audit.Filter{On: "o-12"}, []string{"o-12"}},
		{"of a tenant", audit.Filter{Tenant: &tenant}, []string{"o-01", "o-11", "o-21"}},
		{"without a result", audit.Filter{Begun: true}, nil},
	} {
		t.Run(row.what, func(t *testing.T) {
			var got []string
			for _, e := range b.all(t, row.filter) {
				got = append(got, e.On)
			}

			if !slices.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

// TestExpiredRowsAreAbsent: DynamoDB may delete them two days late.
func TestExpiredRowsAreAbsent(t *testing.T) {
	b := newBook(t)
	ended := time.Now().Add(-audit.DefaultRetention)
	b.actAt(t, audit.Entry{Act: "init"}, audit.Done, ended)
	b.actAt(t, audit.Entry{Act: "init", On: "kept"}, audit.Done, ended.Add(time.Minute))

	if rows := b.all(t, audit.Filter{Since: ended.Add(-time.Hour)}); len(rows) != 1 || rows[0].On != "kept" {
		t.Errorf("rows: %+v", rows)
	}
}

func TestFiltersAreChecked(t *testing.T) {
	b := newBook(t)
	now := time.Now()

	for what, try := range map[string]func() error{
		"limit": func() error { _, _, err := b.List(t.Context(), audit.Filter{Since: now}, "", 0); return err },
		"since": func() error { _, _, err := b.List(t.Context(), audit.Filter{}, "", 1); return err },
		"days": func() error {
			_, _, err := b.List(t.Context(), audit.Filter{Since: now.AddDate(-5, 0, 0)}, "", 1)
			return err
		},
		"until": func() error {
			_, _, err := b.List(t.Context(), audit.Filter{Since: now, Until: now.Add(-time.Hour)}, "", 1)
			return err
		},
		"cursor": func() error { _, _, err := b.List(t.Context(), audit.Filter{Since: now}, "x", 1); return err },
	} {
		if err := try(); !errors.Is(err, audit.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
}

// TestARowTakesOneWriteUnit: however long the fields are.
func TestARowTakesOneWriteUnit(t *testing.T) {
	b := newBook(t)
	long := strings.Repeat("ä", 5000)
	meter := &units{db: b.db}

	log, err := audit.New(audit.Config{DynamoDB: meter, Table: "audit"})
	if err != nil {
		t.Fatal(err)
	}

	act, err := log.Begin(t.Context(), audit.Entry{Who: long, Via: long, From: long, Tenant: long, Act: long, On: long, Reason: long, Request: long})
	if err != nil {
		t.Fatal(err)
	}

	if err := act.End(t.Context(), audit.Failed, long); err != nil {
		t.Fatal(err)
	}

	if meter.written != 2 {
		t.Errorf("%v write units, want 2", meter.written)
	}
}

// units counts the units that writes consume.
type units struct {
	db      *dynamodb.Client
	written float64
}

func (u *units) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnConsumedCapacity = "TOTAL"

	out, err := u.db.PutItem(ctx, in, o...)
	if err == nil {
		u.written += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}

	return out, err
}

func (u *units) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnConsumedCapacity = "TOTAL"

	out, err := u.db.UpdateItem(ctx, in, o...)
	if err == nil {
		u.written += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}

	return out, err
}

func (u *units) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return u.db.Query(ctx, in, o...)
}
