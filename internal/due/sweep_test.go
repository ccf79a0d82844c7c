package due_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/due"
	"ratchet/internal/dynamo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const kind = "tests"

// world is a table of rows, on a clock that the service's answers state.
type world struct {
	*due.Table

	t     testing.TB
	clock embeddedtest.Clock
	db    *dynamodb.Client
}

// newWorld makes a table for a machine whose clock is ahead of the service's.
func newWorld(t testing.TB, ahead time.Duration) *world {
	t.Helper()

	w := &world{t: t}
	db := dynamodb.NewFromConfig(embeddedtest.Open(t).AWSConfig())
	w.db = dynamodb.New(db.Options(), func(o *dynamodb.Options) {
		o.APIOptions, o.HTTPClient = nil, embeddedtest.Dated{Doer: o.HTTPClient, Now: w.clock.Now}
	})

	if _, err := w.db.CreateTable(t.Context(), due.TableInput("due")); err != nil {
		t.Fatal(err)
	}

	w.Table = &due.Table{
		Name: "due", DynamoDB: w.db, First: time.Minute, Most: time.Hour,
		Clock: &dynamo.Clock{Local: func() time.Time { return w.clock.Now().Add(ahead) }},
	}

	return w
}

// write writes a row that is due after a time.
func (w *world) write(subject string, in time.Duration) due.Row {
	w.t.Helper()

	row := due.Row{Kind: kind, At: w.clock.Now().Add(in), Subject: subject}
	if err := w.Write(context.Background(), row); err != nil {
		w.t.Fatal(err)
	}

	return row
}

// sweep hands the rows that are due to the function, and returns their subjects.
func (w *world) sweep(s due.Sweep, handle func(due.Row) (due.Answer, error)) (subjects string, swept due.Swept, err error) {
	w.t.Helper()
	s.Kind, s.Consistent = kind, true

	var (
		mu   sync.Mutex
		seen []string
	)
	swept, err = w.Sweep(context.Background(), s, func(_ context.Context, row due.Row) (due.Answer, error) {
		mu.Lock()
		seen = append(seen, row.Subject)
		mu.Unlock()

		return handle(row)
	})

	return strings.Join(seen, " "), swept, err
}

func removes(due.Row) (due.Answer, error) { return due.Remove, nil }

// rows returns the times of all rows from now on, by subject, with the attempts.
func (w *world) rows() map[string]string {
	w.t.Helper()

	out, err := w.db.Scan(context.Background(), &dynamodb.ScanInput{TableName: aws.String("due")})
	if err != nil {
		w.t.Fatal(err)
	}

	rows := map[string]string{}
	for _, item := range out.Items {
		parts := strings.Split(dynamo.Text(item, "due"), "#")

		var ms int64
		if _, err := fmt.Sscan(strings.TrimLeft(parts[0], "0"), &ms); err != nil {
			w.t.Fatal(err)
		}
		rows[parts[1]] += fmt.Sprintf("%s/%d", time.UnixMilli(ms).Sub(w.clock.Now()), dynamo.Number(item, "attempts"))
	}

	return rows
}

func (w *world) want(rows string) {
	w.t.Helper()

	if got := w.rows(); fmt.Sprint(got) != "map["+rows+"]" {
		w.t.Errorf("rows %v, want %s", got, rows)
	}
}

func TestWhatIsDueComesOldestFirst(t *testing.T) {
	w := newWorld(t, 0)
	for n, in := range []time.Duration{3, 1, 4, 15, 9, 2, 6} {
		w.write(fmt.Sprint("s", n), in*time.Minute)
	}

	if seen, _, err := w.sweep(due.Sweep{Limit: 10}, removes); seen != "" || err != nil {
		t.Errorf("before their time: %s, %v", seen, err)
	}
	w.clock.Advance(6 * time.Minute)

	if seen, swept, err := w.sweep(due.Sweep{Limit: 2}, removes); seen != "s1 s5" || swept.Handled != 2 || w.clock.Now().Sub(swept.Oldest) != 5*time.Minute || swept.Next == "" || err != nil {
		t.Errorf("%s, %+v, %v", seen, swept, err)
	}

	// A margin leaves what is due just now.
	if seen, _, err := w.sweep(due.Sweep{Limit: 10, Margin: time.Second}, removes); seen != "s0 s2" || err != nil {
		t.Errorf("%s, %v", seen, err)
	}

	if seen, swept, err := w.sweep(due.Sweep{Limit: 10}, removes); seen != "s6" || swept.Next != "" || err != nil {
		t.Errorf("%s, %+v, %v", seen, swept, err)
	}
	w.want("s3:9m0s/0 s4:3m0s/0")
}

func TestAnAnswerDecidesWhatBecomesOfARow(t *testing.T) {
	broken := errors.New("broken")

	for _, row := range []struct {
		name   string
		answer func(*world) (due.Answer, error)
		want   string
		moved  bool
	}{
		{"remove", func(*world) (due.Answer, error) { return due.Remove, nil }, "", true},
		{"gone", func(*world) (due.Answer, error) { return due.Gone, nil }, "a:-1h0m0s/0", true}, // the transaction has not deleted it
		{"keep", func(*world) (due.Answer, error) { return due.Keep, nil }, "a:-1h0m0s/0", false},
		{"move", func(w *world) (due.Answer, error) { return due.MoveTo(w.clock.Now().Add(time.Hour)), nil }, "a:1h0m0s/0", true},
		{"move to where it is", func(w *world) (due.Answer, error) { return due.MoveTo(w.clock.Now().Add(-time.Hour)), nil }, "a:-1h0m0s/0", true},
		{"retry", func(*world) (due.Answer, error) { return due.Retry(time.Time{}), nil }, "a:1m0s/1", true},
		{"retry at the latest", func(w *world) (due.Answer, error) { return due.Retry(w.clock.Now().Add(time.Second)), nil }, "a:1s/1", true},
		{"an error", func(*world) (due.Answer, error) { return due.Remove, broken }, "a:1m0s/1", true},
	} {
		w := newWorld(t, 0)
		w.write("a", -time.Hour)

		_, swept, err := w.sweep(due.Sweep{Limit: 10}, func(due.Row) (due.Answer, error) { return row.answer(w) })
		if swept.Handled == 1 != row.moved || (err != nil) != (row.name == "an error") || err != nil && !errors.Is(err, broken) {
			t.Errorf("%s: %+v, %v", row.name, swept, err)
		}
		w.want(row.want)
	}
}

// TestAnErrorDelaysNoOther: each row is postponed on its own, with growing waits, and its wait begins again when it is written again.
func TestAnErrorDelaysNoOther(t *testing.T) {
	w := newWorld(t, 0)
	w.write("bad", -2*time.Hour)
	w.write("good", -time.Hour)

	fails := func(row due.Row) (due.Answer, error) {
		if row.Subject == "bad" {
			return due.Remove, errors.New("broken")
		}

		return due.Remove, nil
	}

	for n, want := range []string{"1m0s/1", "2m0s/2", "4m0s/3"} {
		if _, _, err := w.sweep(due.Sweep{Limit: 10}, fails); err == nil {
			t.Error("the error is lost")
		}
		w.want("bad:" + want)
		w.clock.Advance(time.Minute << n)
	}
	w.write("bad", 0)

	if _, _, err := w.sweep(due.Sweep{Limit: 10}, fails); err == nil {
		t.Error("the error is lost")
	}
	w.want("bad:1m0s/1")
}

// TestASweepGoesOnBehindRowsThatStay.
func TestASweepGoesOnBehindRowsThatStay(t *testing.T) {
	w := newWorld(t, 0)
	for n := range 25 {
		w.write(fmt.Sprintf("s%02d", n), time.Duration(n-30)*time.Minute)
	}

	var all []string
	for s := (due.Sweep{Limit: 10}); ; {
		seen, swept, err := w.sweep(s, func(due.Row) (due.Answer, error) { return due.Keep, nil })
		if err != nil || swept.Handled != 0 {
			t.Fatal(swept, err)
		}
		all = append(all, strings.Fields(seen)...)

		if s.After = swept.Next; s.After == "" {
			break
		}
	}

	if !slices.IsSorted(all) || len(all) != 25 {
		t.Errorf("%v", all)
	}
}

// TestTheClockOfTheServiceDecides: the clock of a machine may be wrong by any amount.
func TestTheClockOfTheServiceDecides(t *testing.T) {
	for _, ahead := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		w := newWorld(t, ahead)
		w.write("past", -time.Minute)
		w.write("future", time.Minute)

		if seen, _, err := w.sweep(due.Sweep{Limit: 10}, removes); seen != "past" || err != nil {
			t.Errorf("%s ahead: %s, %v", ahead, seen, err)
		}
	}
}

// TestALaterRevisionIsNotDeleted: a sweep that has read a row before its subject changed.
func TestALaterRevisionIsNotDeleted(t *testing.T) {
	w := newWorld(t, 0)

	row := due.Row{Kind: kind, At: w.clock.Now().Add(-time.Minute), Subject: "a", Revision: "99999999999999999999000000000007"}
	if err := w.Write(t.Context(), row); err != nil {
		t.Fatal(err)
	}

	if _, _, err := w.sweep(due.Sweep{Limit: 1}, func(due.Row) (due.Answer, error) {
		later := row
		later.Revision = "99999999999999999999000000000008"

		return due.Remove, w.Write(t.Context(), later)
	}); err != nil {
		t.Fatal(err)
	}
	w.want("a:-1m0s/0")

	if seen, _, err := w.sweep(due.Sweep{Limit: 1}, removes); seen != "a" || err != nil {
		t.Errorf("%s, %v", seen, err)
	}
	w.want("")
}

// TestACanceledSweepPostponesNothing: that says nothing about the rows.
func TestACanceledSweepPostponesNothing(t *testing.T) {
	w := newWorld(t, 0)
	w.write("a", -time.Minute)
	w.write("b", -time.Second)

	ctx, cancel := context.WithCancel(t.Context())
	_, err := w.Sweep(ctx, due.Sweep{Kind: kind, Limit: 10}, func(ctx context.Context, _ due.Row) (due.Answer, error) {
		cancel()
		return due.Remove, ctx.Err()
	})

	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	w.want("a:-1m0s/0 b:-1s/0")
}

// TestSweepsAtOnceLoseNothing: each row is handled, although two sweeps may handle one.
func TestSweepsAtOnceLoseNothing(t *testing.T) {
	w := newWorld(t, 0)
	for n := range 200 {
		w.write(fmt.Sprint("s", n), -time.Minute)
	}

	var (
		group   sync.WaitGroup
		handled sync.Map
		failed  atomic.Int64
	)
	for range 4 {
		group.Go(func() {
			for more := true; more; {
				swept, err := w.Sweep(t.Context(), due.Sweep{Kind: kind, Limit: 500, Parallel: 8}, func(_ context.Context, row due.Row) (due.Answer, error) {
					handled.Store(row.Subject, true)
					return due.Remove, nil
				})
				if err != nil {
					failed.Add(1)
				}
				more = swept.More
			}
		})
	}
	group.Wait()

	n := 0
	handled.Range(func(any, any) bool { n++; return true })

	if n != 200 || failed.Load() != 0 {
		t.Errorf("%d rows were handled, %d sweeps failed", n, failed.Load())
	}
	w.want("")
}

// TestASweepLeavesWhatOthersHandle: a parallel sweep that meets rows which another one has handled ends, and says that there is more.
func TestASweepLeavesWhatOthersHandle(t *testing.T) {
	for _, row := range []struct {
		parallel int
		answer   due.Answer
		want     bool
	}{
		{2, due.Remove, true}, {2, due.MoveTo(time.Now().Add(time.Hour)), true}, {2, due.Retry(time.Time{}), true},
		{1, due.Remove, false}, {2, due.Gone, false},
	} {
		w := newWorld(t, 0)
		for n := range 40 {
			w.write(fmt.Sprint("s", n), -time.Minute)
		}
		var once sync.Once

		seen, swept, err := w.sweep(due.Sweep{Limit: 100, Parallel: row.parallel}, func(due.Row) (due.Answer, error) {
			once.Do(func() {
				if _, _, err := w.sweep(due.Sweep{Limit: 100}, removes); err != nil {
					t.Error(err)
				}
			})

			return row.answer, nil
		})

		// Up to five rows are met that are gone, and those in hand meanwhile.
		if n := len(strings.Fields(seen)); err != nil || swept.More != row.want || (n < 10) != row.want {
			t.Errorf("%+v: %d rows, %+v, %v", row, n, swept, err)
		}
	}
}

// TestAParallelSweepTakesTheOldestMinutes, whichever shards they are in.
func TestAParallelSweepTakesTheOldestMinutes(t *testing.T) {
	w := newWorld(t, 0)
	for n := range 40 {
		w.write(fmt.Sprint("s", n), time.Duration(n-50)*time.Minute)
	}

	for first := 0; first < 40; first += 10 {
		seen, swept, err := w.sweep(due.Sweep{Limit: 10, Parallel: 4}, removes)
		if err != nil || swept.Handled != 10 || w.clock.Now().Sub(swept.Oldest) != time.Duration(50-first)*time.Minute {
			t.Errorf("%+v, %v", swept, err)
		}

		for subject := range strings.FieldsSeq(seen) {
			if n, err := strconv.Atoi(subject[1:]); err != nil || n < first || n >= first+10 {
				t.Errorf("%s is in the page of the rows from %d on", subject, first)
			}
		}
	}
}

// TestAShardIsReadToItsEnd: one shard has more rows than are read at once.
func TestAShardIsReadToItsEnd(t *testing.T) {
	for _, parallel := range []int{1, 8} {
		w := newWorld(t, 0)
		for n := range 130 {
			if err := w.Write(t.Context(), due.Row{Kind: kind, At: w.clock.Now().Add(-time.Minute), Subject: "a", Detail: fmt.Sprint(n)}); err != nil {
				t.Fatal(err)
			}
		}

		if _, swept, err := w.sweep(due.Sweep{Limit: 200, Parallel: parallel}, removes); swept.Handled != 130 || swept.More || err != nil {
			t.Errorf("%d at once: %+v, %v", parallel, swept, err)
		}
	}
}

// TestMoreIsThereWhenThePageIsFull and most of its rows could be handled.
func TestMoreIsThereWhenThePageIsFull(t *testing.T) {
	for _, row := range []struct {
		limit, failing int
		want           bool
	}{{9, 0, true}, {9, 2, true}, {9, 4, true}, {9, 5, false}, {10, 0, true}, {11, 0, false}} {
		w := newWorld(t, 0)
		for n := range 10 {
			w.write(fmt.Sprint("s", n), -time.Minute)
		}

		var left atomic.Int64
		left.Store(int64(row.failing))

		_, swept, err := w.sweep(due.Sweep{Limit: row.limit, Parallel: 3}, func(due.Row) (due.Answer, error) {
			if left.Add(-1) >= 0 {
				return due.Remove, errors.New("broken")
			}

			return due.Remove, nil
		})
		if swept.More != row.want || (err != nil) != (row.failing > 0) || swept.Handled != min(10, row.limit) {
			t.Errorf("%+v: %+v, %v", row, swept, err)
		}
	}
}

// TestAPaceIsSharedBySweeps: rows are spread over the time, in all sweeps of a process together.
func TestAPaceIsSharedBySweeps(t *testing.T) {
	w := newWorld(t, 0)
	for n := range 60 {
		w.write(fmt.Sprint("s", n), -time.Minute)
	}
	pace := due.PerSecond(200)
	began := time.Now()

	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if _, _, err := w.sweep(due.Sweep{Limit: 30, Parallel: 8, Pace: pace}, func(due.Row) (due.Answer, error) { return due.Keep, nil }); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()

	if took := time.Since(began); took < 59*time.Second/200 {
		t.Errorf("60 rows took %s", took)
	}

	// A sweep that has no time for another row ends.
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	slow := due.PerSecond(0.001)
	swept, err := w.Sweep(ctx, due.Sweep{Kind: kind, Limit: 30, Pace: slow}, func(context.Context, due.Row) (due.Answer, error) { return due.Remove, nil })
	if err != nil || swept.Handled != 1 || due.PerSecond(0) != nil {
		t.Errorf("%+v, %v", swept, err)
	}
}

// TestParallelSweepsTakeDifferentRows of the same minute, and none of a later minute before them.
func TestParallelSweepsTakeDifferentRows(t *testing.T) {
	w := newWorld(t, 0)
	for n := range 800 {
		w.write(fmt.Sprint("s", n), -time.Hour)
	}
	w.write("later", -time.Minute)

	seen := map[string]bool{}
	for range 20 {
		subjects, swept, err := w.sweep(due.Sweep{Limit: 20, Parallel: 8}, func(due.Row) (due.Answer, error) { return due.Keep, nil })
		if err != nil || swept.Next != "" || w.clock.Now().Sub(swept.Oldest) != time.Hour {
			t.Errorf("%+v, %v", swept, err)
		}

		for subject := range strings.FieldsSeq(subjects) {
			seen[subject] = true
		}
	}

	// Twenty sweeps that take the same rows would see 20, and those of 12 shards see 240.
	if len(seen) < 100 || seen["later"] {
		t.Errorf("twenty sweeps of 20 rows have seen %d", len(seen))
	}
}

// TestRowsAreWrittenInTransactions, and deleted in them.
func TestRowsAreWrittenInTransactions(t *testing.T) {
	w := newWorld(t, 0)
	row := due.Row{Kind: kind, At: w.clock.Now().Add(time.Minute), Subject: "a#~b", Detail: "c"}

	for _, step := range []struct {
		part types.TransactWriteItem
		want int
	}{{w.PutPart(row), 1}, {w.PutPart(row), 1}, {w.DeletePart(row), 0}, {w.DeletePart(row), 0}} {
		if _, err := w.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{step.part}}); err != nil {
			t.Fatal(err)
		}

		if rows := w.rows(); len(rows) != step.want {
			t.Errorf("rows %v", rows)
		}
	}
}

// TestSweepsAgreeWithAModel: rows are written, deleted, moved, postponed and removed in any order, while time passes. A sweep hands out what
// the model says is due, oldest first, and the table holds what the model holds.
func TestSweepsAgreeWithAModel(t *testing.T) {
	w := newWorld(t, 0)
	run := 0

	rapid.Check(t, func(t *rapid.T) {
		run++
		subject := fmt.Sprint("run", run, "-")
		model := map[string]time.Time{} // one row for each subject

		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				name := subject + rapid.StringMatching("[a-h#~]").Draw(t, "name")
				row := due.Row{Kind: kind, Subject: name, At: w.clock.Now().Add(time.Duration(rapid.IntRange(-10, 10).Draw(t, "in")) * time.Minute)}

				if was, has := model[name]; has {
					if err := w.Delete(context.Background(), due.Row{Kind: kind, Subject: name, At: was}); err != nil {
						t.Fatal(err)
					}
				}

				if err := w.Write(context.Background(), row); err != nil {
					t.Fatal(err)
				}
				model[name] = row.At
			},
			"wait": func(t *rapid.T) { w.clock.Advance(time.Duration(rapid.IntRange(1, 300).Draw(t, "s")) * time.Second) },
			"sweep": func(t *rapid.T) {
				choice := rapid.IntRange(0, 3).Draw(t, "answer")
				limit := rapid.IntRange(1, 10).Draw(t, "limit")

				isDue := slices.DeleteFunc(slices.Collect(maps.Keys(model)), func(name string) bool { return model[name].After(w.clock.Now()) })
				slices.SortFunc(isDue, func(a, b string) int { return model[a].Compare(model[b]) })
				isDue = isDue[:min(limit, len(isDue))]

				var last time.Time
				seen := 0
				_, err := w.Sweep(context.Background(), due.Sweep{Kind: kind, Limit: limit, Consistent: true}, func(_ context.Context, row due.Row) (due.Answer, error) {
					at, has := model[row.Subject]
					if !has || !at.Equal(row.At) || row.At.Before(last) || at.After(w.clock.Now()) {
						t.Errorf("%+v is due after %s; the model has %s, %t", row, last, at, has)
					}
					last = row.At
					seen++

					switch choice {
					case 0:
						delete(model, row.Subject)
						return due.Remove, nil
					case 1:
						return due.Keep, nil
					case 2:
						model[row.Subject] = w.clock.Now().Add(5 * time.Minute)
						return due.MoveTo(model[row.Subject]), nil
					}
					by := w.clock.Now().Add(time.Second)
					model[row.Subject] = by

					return due.Retry(by), nil
				})

				if err != nil || seen != len(isDue) {
					t.Errorf("%d rows of %v, %v", seen, isDue, err)
				}
			},
		})

		// The next run has the table for itself.
		for len(model) > 0 {
			w.clock.Advance(time.Hour)

			_, err := w.Sweep(context.Background(), due.Sweep{Kind: kind, Limit: 100, Consistent: true}, func(_ context.Context, row due.Row) (due.Answer, error) {
				if _, has := model[row.Subject]; !has {
					t.Errorf("%+v is not in the model", row)
				}
				delete(model, row.Subject)

				return due.Remove, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	w.want("")
}
