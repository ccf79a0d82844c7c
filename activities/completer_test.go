package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/embedded/embeddedtest"
)

// park starts an execution whose task is parked, and returns both.
func (m *taskMachine) park() (token Token, execution string) {
	m.Helper()
	tokens := make(chan Token, 1)
	r := m.start(m.config(func(_ context.Context, t Task) (any, error) {
		tokens <- t.Token
		return nil, ErrParked
	}))
	execution = m.execute(`{}`)
	token = <-tokens

	if err := r.stop(); err != nil {
		m.Errorf("Run: %v", err)
	}

	return token, execution
}

func (m *taskMachine) completer(edit ...func(*CompleterConfig)) *Completer {
	m.Helper()
	aws := m.engine.AWSConfig()
	aws.HTTPClient = m.transport
	cfg := CompleterConfig{SFN: sfn.NewFromConfig(aws), ErrorPrefix: "Order.", Timeout: time.Second}

	for _, e := range edit {
		e(&cfg)
	}

	c, err := NewCompleter(cfg)
	if err != nil {
		m.Fatal(err)
	}

	return c
}

func TestAParkedTaskIsCompletedWithinTheServicesLimits(t *testing.T) {
	big := strings.Repeat("x", maxOutput)
	ctx := context.Background()

	for _, row := range []struct {
		is       string
		complete func(*Completer, Token) (Outcome, error)
		outcome  Outcome
		fails    bool
		result   string // prefix of the execution's
	}{
		{"an output", func(c *Completer, t Token) (Outcome, error) { return c.Succeed(ctx, t, map[string]int{"a": 1}) },
			Succeeded, false, `{"a":1}`},
		{"a failure", func(c *Completer, t Token) (Outcome, error) {
			return c.Fail(ctx, t, Fail("Order.Late", errors.New("too late")))
		}, Failed, false, "Order.Late: too late"},
		{"a failure without an error", func(c *Completer, t Token) (Outcome, error) { return c.Fail(ctx, t, nil) },
			Failed, false, "Order.Unknown: the task failed without an error"},
		{"a wish to wait", func(c *Completer, t Token) (Outcome, error) {
			return c.Fail(ctx, t, RetryAfter(time.Minute, errors.New("busy")))
		}, Failed, false, "Order.RetryAfter1m: busy"},
		{"a cause that is too long", func(c *Completer, t Token) (Outcome, error) {
			return c.Fail(ctx, t, errors.New(strings.Repeat("ü", maxCause)))
		}, Failed, false, "Order.Unknown: " + strings.Repeat("ü", maxCause/2)},
		{"an output that is too large", func(c *Completer, t Token) (Outcome, error) { return c.Succeed(ctx, t, big) },
			Failed, true, "Order.DataLimit: "},
		{"an output that is no JSON", func(c *Completer, t Token) (Outcome, error) { return c.Succeed(ctx, t, func() {}) },
			Failed, true, "Order.InvalidOutput: "},
	} {
		t.Run(row.is, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newTaskMachine(t, "")
				token, execution := m.park()
				m.transport.Inject(embeddedtest.Throttle("SendTaskSuccess", "SendTaskFailure").Next(1))

				outcome, err := row.complete(m.completer(), token)
				if outcome != row.outcome || (err != nil) != row.fails {
					t.Errorf("%s, %v", outcome, err)
				}

				if got := m.result(execution); !strings.HasPrefix(got, row.result) {
					t.Errorf("result %.200s, want %.200s", got, row.result)
				}
			})
		})
	}
}

func TestACompleterSaysWhatBecameOfTheTask(t *testing.T) {
	ctx := context.Background()

	t.Run("answered before", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newTaskMachine(t, "")
			token, _ := m.park()
			c := m.completer()

			if outcome, err := c.Succeed(ctx, token, 1); outcome != Succeeded || err != nil {
				t.Fatalf("%s, %v", outcome, err)
			}

			if outcome, err := c.Succeed(ctx, token, 1); outcome != Lost || !isLost(err) {
				t.Errorf("%s, %v", outcome, err)
			}
		})
	})
	t.Run("the answer to the answer was lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newTaskMachine(t, "")
			token, _ := m.park()
			m.transport.Inject(embeddedtest.LoseAnswer("SendTaskSuccess").Next(1))

			if outcome, err := m.completer().Succeed(ctx, token, 1); outcome != Unknown || !isLost(err) {
				t.Errorf("%s, %v", outcome, err)
			}
		})
	})
	t.Run("the service cannot be reached", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScript()
			s.transport.Inject(embeddedtest.LoseRequest())

			c, err := NewCompleter(CompleterConfig{SFN: s.config(succeed).SFN, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()

			if outcome, err := c.Fail(ctx, "t", nil); outcome != Unanswered || err == nil || time.Since(began) != time.Minute {
				t.Errorf("%s, %v after %v", outcome, err, time.Since(began))
			}
		})
	})
	t.Run("no token", func(t *testing.T) {
		m := newTaskMachine(t, "")
		if outcome, err := m.completer().Succeed(ctx, "", 1); outcome != Unanswered || err == nil {
			t.Errorf("%s, %v", outcome, err)
		}
	})
}

// TestACompleterDoesNotWaitThroughARefusal: the caller learns at once that a permission is
// missing. A throttled answer is repeated.
func TestACompleterDoesNotWaitThroughARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTaskMachine(t, "")
		token, _ := m.park()
		c := m.completer(func(c *CompleterConfig) { c.Timeout = time.Hour })

		m.transport.Inject(embeddedtest.Answer("AccessDeniedException", "SendTaskSuccess").Next(1))
		began := time.Now()

		outcome, err := c.Succeed(t.Context(), token, nil)
		if outcome != Unanswered || err == nil || !strings.Contains(err.Error(), "AccessDenied") || time.Since(began) > time.Second {
			t.Errorf("refused: %v, %v after %v", outcome, err, time.Since(began))
		}

		m.transport.Inject(embeddedtest.Throttle("SendTaskSuccess").Next(3))

		if outcome, err := c.Succeed(t.Context(), token, nil); outcome != Succeeded {
			t.Errorf("throttled: %v, %v", outcome, err)
		}
	})
}

func TestACompleterOffloadsLargeOutputs(t *testing.T) {
	m := newTaskMachine(t, "")
	token, execution := m.park()
	c := m.completer(func(cfg *CompleterConfig) {
		cfg.Offload = func(_ context.Context, _ Task, output json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(fmt.Sprintf(`{"stored":%d}`, len(output))), nil
		}
	})

	if outcome, err := c.Succeed(context.Background(), token, strings.Repeat("x", maxOutput)); outcome != Succeeded || err != nil {
		t.Errorf("%s, %v", outcome, err)
	}

	if got := m.result(execution); got != `{"stored":262146}` {
		t.Errorf("result %s", got)
	}
}

func TestACompletersConfigurationIsChecked(t *testing.T) {
	_, err := NewCompleter(CompleterConfig{ErrorPrefix: "States.", Timeout: -1})
	want := "activities: CompleterConfig.SFN must be set\n" +
		`activities: CompleterConfig.ErrorPrefix starts with "States.", which is the service's own` + "\n" +
		"activities: CompleterConfig.Timeout is -1ns, want at least 0"

	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}
