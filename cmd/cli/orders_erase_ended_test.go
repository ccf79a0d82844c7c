package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// expired places orders whose newest write says that they ended long ago.
func expired(ctx context.Context, t *testing.T, b *server.Backend, ids ...transitions.OrderID) error {
	t.Helper()

	for _, id := range ids {
		order := transitions.NewOrder{ID: id, Total: transitions.Money{Amount: 1, Currency: "EUR"}, Customer: "c-" + string(id)}
		if _, err := b.Orders.Create(ctx, order); err != nil {
			return err
		}

		if _, err := b.Orders.Apply(ctx, transitions.Request{OrderID: id, Event: workflow.Expire, TransitionID: 2}); err != nil {
			return err
		}

		if err := longAgo(t, b, string(id)); err != nil {
			return err
		}
	}

	return nil
}

// TestOrdersThatEndedLongAgoAreErased: with and without lists. An order that is refused is named,
// and the rest goes on; younger orders, open orders and other tenants' orders stay; erased orders
// are left out.
func TestOrdersThatEndedLongAgoAreErased(t *testing.T) {
	for _, row := range []struct{ name, lists, says string }{
		{"from the lists", "true", ""},
		{"from a scan", "false", "there are no lists of orders (setting order-lists): scanning the table\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Setenv("RATCHET_JOURNAL", "transactional")
			t.Setenv("RATCHET_ORDER_LISTS", row.lists)

			var moment time.Time
			s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
				if _, err := b.Orders.Create(ctx, transitions.NewOrder{ID: "open", Total: transitions.Money{Currency: "EUR"}, Customer: "c-open"}); err != nil {
					return err
				}

				if err := expired(ctx, t, b, "o-1", "o-2", "o-3", "acme:o-1"); err != nil {
					return err
				}

				if err := commandtest.UnreadableLetter(ctx, b, "notify", "o-2"); err != nil {
					return err
				}

				newest, _, err := b.Orders.Get(ctx, "acme:o-1")
				if err != nil {
					return err
				}
				moment = newest.EnteredAt().Add(time.Millisecond)

				for !time.Now().After(moment) { // orders have the time in milliseconds
				}

				if err := expired(ctx, t, b, "young"); err != nil || b.Lists == nil {
					return err
				}
				_, err = b.Lists.Rebuild(ctx, nil)

				return err
			})
			before := []string{"--ended-before", moment.Format(time.RFC3339Nano)}

			out, code := erase(t, s, append(before, "--dry-run")...)
			if code != exit.OK || strings.Count(out, "selected: order o-") != 3 || strings.Count(out, "\n") != 3+strings.Count(row.says, "\n") || !strings.HasPrefix(out, row.says) {
				t.Errorf("dry run: exit status %d\n%s", code, out)
			}

			out, code = erase(t, s, before...)
			if code != exit.Refused || !strings.Contains(out, "erased: order o-1\n") || !strings.Contains(out, "erased: order o-3\n") ||
				!strings.Contains(out, "may name the person: notify letter-of-o-2\n") {
				t.Errorf("exit status %d\n%s", code, out)
			}

			if _, code := printed(t, s, "deadletters", "discard", "notify", "letter-of-o-2"); code != exit.OK {
				t.Errorf("discard: exit status %d", code)
			}

			if out, code := erase(t, s, append(before, "--json")...); code != exit.OK || strings.Count(out, `"result"`) != 1 || !strings.Contains(out, `"orderId":"o-2"`) {
				t.Errorf("again: exit status %d\n%s", code, out)
			}

			if out, code := erase(t, s, before...); code != exit.OK || !strings.Contains(out, "every order of this tenant that ended before") {
				t.Errorf("once more: exit status %d\n%s", code, out)
			}

			if out, code := erase(t, s, append(before, "--tenant", "acme")...); code != exit.OK || !strings.Contains(out, "erased: order acme:o-1\n") {
				t.Errorf("another tenant: exit status %d\n%s", code, out)
			}

			err := s.With(t.Context(), func(b *server.Backend) error {
				for id, want := range map[transitions.OrderID]string{"o-1": "", "o-2": "", "o-3": "", "acme:o-1": "", "open": "c-open", "young": "c-young"} {
					if order, _, err := b.Orders.Get(t.Context(), id); err != nil || order.Customer != want {
						t.Errorf("%+v, %v", order, err)
					}
				}

				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestListsSpareTheScan: an order that the lists do not show yet is not found, so the table was not read.
func TestListsSpareTheScan(t *testing.T) {
	t.Setenv("RATCHET_JOURNAL", "transactional")
	t.Setenv("RATCHET_ORDER_LISTS", "true")

	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		if _, err := b.Lists.Rebuild(ctx, nil); err != nil {
			return err
		}

		return expired(ctx, t, b, "unlisted")
	})

	if out, code := erase(t, s, "--ended-before", "0s"); code != exit.OK || strings.Contains(out, "unlisted") {
		t.Errorf("exit status %d\n%s", code, out)
	}
}

// TestAnOrderThatCannotBeReadKeepsNoOtherFromErasure: the order is refused by its name, in the
// lists, in a scan and by its id. Another tenant's order is not reported.
func TestAnOrderThatCannotBeReadKeepsNoOtherFromErasure(t *testing.T) {
	for _, lists := range []string{"true", "false"} {
		t.Run("lists="+lists, func(t *testing.T) {
			t.Setenv("RATCHET_JOURNAL", "transactional")
			t.Setenv("RATCHET_ORDER_LISTS", lists)

			ids := []transitions.OrderID{"o-1", "o-2", "o-3", "broken", "acme:broken"}
			s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
				if err := expired(ctx, t, b, ids...); err != nil {
					return err
				}

				if b.Lists != nil {
					if _, err := b.Lists.Rebuild(ctx, nil); err != nil {
						return err
					}
				}

				broken := &types.AttributeValueMemberS{Value: "x"} // and no number

				return errors.Join(setOrder(ctx, b, "broken", "transitionId", broken), setOrder(ctx, b, "acme:broken", "transitionId", broken))
			})

			for _, selection := range [][]string{{"--ended-before", "0s", "--dry-run"}, {"--ended-before", "0s"}, {"broken", "o-1", "o-2", "o-3"}} {
				out, code := erase(t, s, selection...)
				if code != exit.Refused || strings.Count(out, ": order o-") != 3 || strings.Contains(out, "acme") ||
					!strings.Contains(out, `refused: read order "broken": the order cannot be read: attribute transitionId is not `) {
					t.Errorf("%v: exit status %d\n%s", selection, code, out)
				}
			}
		})
	}
}

// TestAnOrderThatCannotBeReadKeepsNoOtherOfItsCustomer: it is refused by its name, and the rest is erased.
func TestAnOrderThatCannotBeReadKeepsNoOtherOfItsCustomer(t *testing.T) {
	t.Setenv("RATCHET_JOURNAL", "transactional")

	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		ids := []transitions.OrderID{"o-1", "o-2", "o-3", "broken", "acme:broken"}
		if err := expired(ctx, t, b, ids...); err != nil {
			return err
		}

		for _, id := range ids {
			if err := setOrder(ctx, b, string(id), "customer", &types.AttributeValueMemberS{Value: "c-77"}); err != nil {
				return err
			}
		}

		broken := &types.AttributeValueMemberS{Value: "x"} // and no number

		return errors.Join(setOrder(ctx, b, "broken", "transitionId", broken), setOrder(ctx, b, "acme:broken", "transitionId", broken))
	})

	out, code := erase(t, s, "--customer", "c-77")
	if code != exit.Refused || strings.Count(out, "erased: order o-") != 3 || strings.Contains(out, "acme") ||
		!strings.Contains(out, `refused: read order "broken": the order cannot be read: attribute transitionId is not `) {
		t.Errorf("exit status %d\n%s", code, out)
	}
}

// setOrder writes an attribute of the order's item.
func setOrder(ctx context.Context, b *server.Backend, id, name string, value types.AttributeValue) error {
	_, err := b.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &b.Tables.Orders,
		Key:                       map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: id}},
		UpdateExpression:          aws.String("SET " + name + " = :value"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":value": value},
	})

	return err
}

// TestAListMayBeBehindTheOrders: an order that has left the state has not ended, and an erased
// order is left out although its row has no mark.
func TestAListMayBeBehindTheOrders(t *testing.T) {
	t.Setenv("RATCHET_JOURNAL", "transactional")
	t.Setenv("RATCHET_ORDER_LISTS", "true")

	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		if err := expired(ctx, t, b, "moved", "erased"); err != nil {
			return err
		}

		if _, err := b.Lists.Rebuild(ctx, nil); err != nil {
			return err
		}

		return errors.Join(
			setOrder(ctx, b, "moved", "orderState", &types.AttributeValueMemberS{Value: "PENDING"}),
			setOrder(ctx, b, "erased", "erasedAt", &types.AttributeValueMemberN{Value: "1700000000000"}))
	})

	out, code := erase(t, s, "--ended-before", "0s")
	if code != exit.OK || strings.Contains(out, ": order ") || !strings.Contains(out, "every order of this tenant") {
		t.Errorf("exit status %d\n%s", code, out)
	}
}

// TestTheFirstMomentIsAMoment: the zero time is an age like any other, and not a missing one.
func TestTheFirstMomentIsAMoment(t *testing.T) {
	s := commandtest.OrdersAt(t, func(context.Context, *server.Backend) error { return nil })

	out, code := erase(t, s, "--ended-before", "0001-01-01T00:00:00Z")
	if code != exit.OK || !strings.Contains(out, "every order of this tenant that ended before 0001-") {
		t.Errorf("exit status %d\n%s", code, out)
	}
}

func TestAnErasureHasOneSelection(t *testing.T) {
	t.Parallel()

	for _, row := range []struct{ args, want string }{
		{"", "one of the three"},
		{"o-1 --customer c-1", "one of the three"},
		{"o-1 --ended-before 400d", "one of the three"},
		{"--customer c-1 --ended-before 400d", "one of the three"},
		{"o-1 --tenant acme", "tenant: only with --customer or --ended-before"},
		{"--ended-before 400d --tenant Acme", "tenant: 1 to 20 characters"},
		{"--customer c-1 --tenant acme:", "tenant: 1 to 20 characters"},
		{"--ended-before=", "ended-before: must not be empty"},
		{"--ended-before 400", `ended-before "400": a time like`},
		{"--ended-before -1d", `ended-before "-1d": a time like`},
		{"--ended-before 99999999d", `ended-before "99999999d": a time like`},
	} {
		root := newRoot(server.Parts{})
		root.SetArgs(append([]string{"orders", "erase", "--quiet", "--data", t.TempDir()}, strings.Fields(row.args)...))
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)

		err := root.ExecuteContext(t.Context())
		if exit.StatusOf(err) != exit.Usage || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %s", row.args, err, row.want)
		}
	}
}

func TestAPointInTimeMayBeDaysAgo(t *testing.T) {
	t.Parallel()

	at, err := arguments.PointInTime("since", "400d")
	if ago := time.Since(at); err != nil || ago < 9600*time.Hour || ago > 9601*time.Hour {
		t.Errorf("%v ago, %v", ago, err)
	}
}
