package sandbox_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/payments"
	"ratchet/payments/sandbox"
)

// Of 10,000 orders about as many are declined as the configuration says, and of none and all it
// is exact. The answer depends on the order alone.
func TestTheShareOfDeclinedOrdersIsThatOfTheConfiguration(t *testing.T) {
	const orders = 10_000
	for _, percent := range []int{0, 1, 50, 99, 100} {
		b, again := newBank(t, percent, 0), newBank(t, percent, 0)

		declined := 0
		for i := range orders {
			id := fmt.Sprint("o-", i)
			if b.Declines(id) {
				declined++
			}

			if b.Declines(id) != again.Declines(id) {
				t.Fatalf("two banks differ about %s", id)
			}
		}

		want, tolerance := percent*orders/100, orders/50
		if percent == 0 || percent == 100 {
			tolerance = 0
		}

		if declined < want-tolerance || declined > want+tolerance {
			t.Errorf("%d of %d orders are declined, want about %d", declined, orders, want)
		}
	}
}

// Without a share of lost answers every sale is answered.
func TestNoAnswerIsLostUnlessItIsAskedFor(t *testing.T) {
	b := newBank(t, 0, 0)
	for i := range 500 {
		id := fmt.Sprint("o-", i)
		if _, err := b.Sale(t.Context(), payments.Request{Key: id, OrderID: id, Amount: 1, Currency: "EUR"}); err != nil {
			t.Fatal(err)
		}
	}
}

// calls are the calls that take a key and an amount.
func calls(t *testing.T, b *sandbox.Bank) map[string]func(orderID, key string, amount int64) error {
	t.Helper()

	request := func(orderID, key string, amount int64) payments.Request {
		return payments.Request{Key: key, Authorization: "p/authorize", OrderID: orderID, Amount: amount, Currency: "EUR"}
	}

	return map[string]func(string, string, int64) error{
		"authorize": func(orderID, key string, amount int64) error {
			_, err := b.Authorize(t.Context(), request(orderID, key, amount))
			return err
		},
		"sale": func(orderID, key string, amount int64) error {
			_, err := b.Sale(t.Context(), request(orderID, key, amount))
			return err
		},
		"capture": func(orderID, key string, amount int64) error {
			_, err := b.Capture(t.Context(), request(orderID, key, amount))
			return err
		},
		"refund": func(orderID, key string, amount int64) error {
			_, err := b.Refund(t.Context(), request(orderID, key, amount))
			return err
		},
	}
}

func TestRequestsNeedAKeyAndAnAmount(t *testing.T) {
	for name, call := range calls(t, newBank(t, 0, 0)) {
		for _, err := range []error{call("o-1", "", 1), call("o-1", "k", 0), call("o-1", "k", -1)} {
			if err == nil || !strings.Contains(err.Error(), "key must be set and amount above 0") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A declined request is declined at each repeat, and a request that succeeded without an answer is
// answered at the next.
func TestARepeatIsAnsweredAsTheFirst(t *testing.T) {
	for _, name := range []string{"authorize", "sale"} {
		b := newBank(t, 50, 0)
		for range 2 {
			if err := calls(t, b)[name](order(b, true), "k", 5); !errors.Is(err, payments.ErrDeclined) {
				t.Errorf("%s: %v, want ErrDeclined", name, err)
			}
		}

		if err := calls(t, b)[name](order(b, false), "l", 5); err != nil {
			t.Errorf("%s of an order that is not declined: %v", name, err)
		}

		b = newBank(t, 0, 100)
		for _, want := range []error{payments.ErrTimeout, nil, nil} {
			if err := calls(t, b)[name]("o-1", "k", 5); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		}
	}
}

// All of an authorization can be captured, and all of a sale returned, in parts and to the last
// cent. A sale cannot be captured.
func TestAnAmountIsTakenToItsLastCent(t *testing.T) {
	b := newBank(t, 0, 0)
	of := func(opening, key string, amount int64) payments.Request {
		return payments.Request{Key: key, Authorization: opening, OrderID: "o-1", Amount: amount, Currency: "EUR"}
	}

	for _, c := range []struct {
		name string
		call func() (string, error)
		want error
	}{
		{"authorize 100", func() (string, error) { return b.Authorize(t.Context(), of("", "p/authorize", 100)) }, nil},
		{"capture 60", func() (string, error) { return b.Capture(t.Context(), of("p/authorize", "p/c", 60)) }, nil},
		{"capture the other 40", func() (string, error) { return b.Capture(t.Context(), of("p/authorize", "p/d", 40)) }, nil},
		{"capture 1 more", func() (string, error) { return b.Capture(t.Context(), of("p/authorize", "p/e", 1)) }, payments.ErrDeclined},
		{"refund 100", func() (string, error) { return b.Refund(t.Context(), of("p/authorize", "p/r", 100)) }, nil},
		{"sell for 50", func() (string, error) { return b.Sale(t.Context(), of("", "q/charge", 50)) }, nil},
		{"capture a sale", func() (string, error) { return b.Capture(t.Context(), of("q/charge", "q/c", 1)) }, payments.ErrDeclined},
		{"refund 50", func() (string, error) { return b.Refund(t.Context(), of("q/charge", "q/r", 50)) }, nil},
		{"refund 1 more", func() (string, error) { return b.Refund(t.Context(), of("q/charge", "q/s", 1)) }, payments.ErrDeclined},
	} {
		if _, err := c.call(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// What DynamoDB refuses is an error of each call.
func TestFailuresOfTheTableAreErrors(t *testing.T) {
	cfg := embeddedtest.Open(t).AWSConfig()
	transport := embeddedtest.Intercept(&cfg)
	db := dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, db, sandbox.Table("charges"))

	b, err := sandbox.New(sandbox.Config{DynamoDB: db, Table: "charges"})
	if err != nil {
		t.Fatal(err)
	}

	if err := calls(t, b)["sale"]("o-1", "k", 5); err != nil {
		t.Fatal(err)
	}

	stop := errors.New("stop")
	if err := b.Report(t.Context(), func(string, string, int64, string) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("a report whose reader fails: %v", err)
	}
	transport.Inject(embeddedtest.Answer("AccessDeniedException"))

	failing := map[string]func() error{
		"void":   func() error { return b.Void(t.Context(), "k") },
		"lookup": func() error { _, err := b.Lookup(t.Context(), "k"); return err },
		"report": func() error {
			return b.Report(t.Context(), func(string, string, int64, string) error { return nil })
		},
	}
	for name, call := range calls(t, b) {
		failing[name] = func() error { return call("o-1", "l", 5) }
	}

	for name, call := range failing {
		if err := call(); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
