package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"
)

// failure runs one task and returns the name and the cause that the service gets.
func failure(t *testing.T, handle HandlerFunc, edit ...func(*Config)) (name, cause string) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		s := newScript("t")
		s.ofTask(t, handle, edit...)

		sent := s.of("SendTaskFailure")
		if len(sent) != 1 || len(s.of("SendTaskSuccess")) != 0 {
			t.Fatalf("%d failures and %d successes were sent", len(sent), len(s.of("SendTaskSuccess")))
		}

		var in struct{ Error, Cause string }
		if err := json.Unmarshal([]byte(sent[0].body), &in); err != nil {
			t.Fatal(err)
		}
		name, cause = in.Error, in.Cause
	})

	return name, cause
}

func fails(err error) HandlerFunc {
	return func(context.Context, Task) (any, error) { return nil, err }
}

func TestWorkerPoint13_NamesAndCausesAreCutBetweenRunes(t *testing.T) {
	long := "x" + strings.Repeat("ü", maxCause)

	name, cause := failure(t, fails(&Error{Name: "Order." + long, Cause: long}))
	for what, row := range map[string]struct {
		text string
		most int
	}{"name": {name, maxName}, "cause": {cause, maxCause}} {
		if len(row.text) > row.most || len(row.text) < row.most-1 || !utf8.ValidString(row.text) || strings.ContainsRune(row.text, utf8.RuneError) {
			t.Errorf("%s has %d bytes, at most %d, valid %v", what, len(row.text), row.most, utf8.ValidString(row.text))
		}
	}
}

// faulty is an output whose encoding panics.
type faulty struct{}

func (faulty) MarshalJSON() ([]byte, error) { panic("boom") }

func TestWorkerPoint14_AnOutputThatIsNoJSONBecomesAFailure(t *testing.T) {
	for what, output := range map[string]any{
		"half a document": json.RawMessage(`{"a":`),
		"two documents":   json.RawMessage(`{} {}`),
		"a channel":       make(chan int),
		"a panic":         faulty{},
	} {
		handle := func(context.Context, Task) (any, error) { return output, nil }
		if name, _ := failure(t, handle); name != "Worker.InvalidOutput" {
			t.Errorf("%s: sent as %s", what, name)
		}
	}
}

func TestWorkerPoint15_NoErrorNameBeginsLikeTheServicesOwn(t *testing.T) {
	for _, own := range []string{"States.Timeout", "States.TaskFailed", "States.ALL", "States.Mine"} {
		if name, _ := failure(t, fails(Fail(own, errors.New("pretense")))); name != "Worker.Unknown" {
			t.Errorf("%s is sent as %s", own, name)
		}

		wrapped := fmt.Errorf("outer: %w", Fail(own, errors.New("pretense")))
		if name, _ := failure(t, fails(wrapped)); name != "Worker.Unknown" {
			t.Errorf("%s, wrapped, is sent as %s", own, name)
		}
	}

	if _, err := New(newScript().config(succeed, func(c *Config) { c.ErrorPrefix = "States." })); err == nil || !strings.Contains(err.Error(), "ErrorPrefix") {
		t.Errorf("a prefix of the service's own: %v", err)
	}
}

func TestWorkerPoint16_AnErrorWithoutANameIsUnknown(t *testing.T) {
	for _, err := range []error{errors.New("what"), fmt.Errorf("outer: %w", errors.ErrUnsupported), &Error{Cause: "no name"}} {
		if name, _ := failure(t, fails(err)); name != "Worker.Unknown" {
			t.Errorf("%v is sent as %q", err, name)
		}
	}

	if name, cause := failure(t, fails(fmt.Errorf("outer: %w", Fail("Order.Declined", errors.New("no money"))))); name != "Order.Declined" || cause != "no money" {
		t.Errorf("a named error is sent as %s: %s", name, cause)
	}
}

func TestWorkerPoint17_APanicAndAGoexitFreeTheSlotAndAreAnswered(t *testing.T) {
	for what, end := range map[string]func(){"a panic": func() { panic("boom") }, "runtime.Goexit": runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript("1", "2", "3")
			done := make(ends, 3)
			r := begin(t, s.config(func(_ context.Context, task Task) (any, error) {
				if task.Token != "3" {
					end()
				}

				return 1, nil
			}, done.note)) // one slot
			outcomes := fmt.Sprintln((<-done).Outcome, (<-done).Outcome, (<-done).Outcome)
			wantNil(t, r.stop())

			if outcomes != "failed failed succeeded\n" || len(s.of("SendTaskFailure")) != 2 {
				t.Errorf("%s: tasks ended as %s, with %d failures", what, outcomes, len(s.of("SendTaskFailure")))
			}
		})
	}
}
