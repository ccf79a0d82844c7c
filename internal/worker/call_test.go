package worker_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"ratchet/internal/worker"
)

var errWork = errors.New("work failed")

func explode() error { panic("boom") }

func TestCallReturnsWhatTheFunctionReturns(t *testing.T) {
	if err := worker.Call(func() error { return nil }); err != nil {
		t.Errorf("success became %v", err)
	}

	if err := worker.Call(func() error { return errWork }); !errors.Is(err, errWork) {
		t.Errorf("got %v, want %v", err, errWork)
	}

	if err := worker.CatchPanic(func() error { return errWork }); !errors.Is(err, errWork) {
		t.Errorf("CatchPanic: got %v, want %v", err, errWork)
	}
}

func TestAPanicBecomesAnErrorWithItsValueAndStack(t *testing.T) {
	for name, call := range map[string]func(func() error) error{"Call": worker.Call, "CatchPanic": worker.CatchPanic} {
		t.Run(name, func(t *testing.T) {
			var p *worker.PanicError
			if err := call(explode); !errors.As(err, &p) {
				t.Fatalf("got %v, want a *PanicError", err)
			}

			if p.Value != "boom" || p.Error() != "handler panicked: boom" {
				t.Errorf("got value %v and text %q", p.Value, p)
			}

			if !strings.Contains(string(p.Stack), "explode") {
				t.Errorf("the stack does not name the function that panicked:\n%s", p.Stack)
			}
		})
	}
}

func TestAPanicWithNilIsNotTakenForGoexit(t *testing.T) {
	var p *worker.PanicError

	err := worker.Call(func() error { panic(nil) })
	if !errors.As(err, &p) || p.Value == nil {
		t.Errorf("got %v", err)
	}
}

func TestGoexitEndsTheCallAndNotTheCaller(t *testing.T) {
	var p *worker.PanicError

	err := worker.Call(func() error {
		runtime.Goexit()

		return nil
	})
	if !errors.As(err, &p) || p.Value != nil || p.Error() != "handler called runtime.Goexit" {
		t.Errorf("got %v", err)
	}
}

func BenchmarkCall(b *testing.B) {
	fn := func() error { return nil }

	b.Run("Call", func(b *testing.B) {
		for b.Loop() {
			_ = worker.Call(fn)
		}
	})
	b.Run("CatchPanic", func(b *testing.B) {
		for b.Loop() {
			_ = worker.CatchPanic(fn)
		}
	})
}
