package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/transitions"
)

// TestListsPrintOneLineOfJSONForEachElement walks the commands that list something: commands named
// list, and commands that print pages.
func TestListsPrintOneLineOfJSONForEachElement(t *testing.T) {
	t.Setenv("RATCHET_JOURNAL", "transactional")

	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		for _, id := range []transitions.OrderID{"o-1", "o-2"} {
			if _, err := b.Orders.Create(ctx, transitions.NewOrder{ID: id, Total: transitions.Money{Amount: 1, Currency: "EUR"}}); err != nil {
				return err
			}
		}

		accounts, err := payments.OpenOrderAccounts(ctx, b.Ledger, "EUR")
		if err != nil {
			return err
		}

		for _, id := range []string{"t-1", "t-2"} {
			if _, err := b.Ledger.Post(ctx, ledger.Move(id, accounts.Payer, accounts.Payee, 1, "EUR")); err != nil {
				return err
			}
		}

		return nil
	})

	atLeast := map[string]int{"orders list": 2, "accounts list": 2, "accounts statement": 2, "transfers list": 2}
	on := map[string]string{"accounts statement": "orders:sales:EUR", "deliveries list": "--all", "orders scheduled list": "o-1"}
	lists := 0

	for _, c := range runnable(newRoot(server.Parts{})) {
		name := settings.CommandName(c)
		if pages := c.Flags().Lookup("after"); !strings.HasSuffix(name, " list") && (pages == nil || pages.Value.Type() != "string") {
			continue
		}
		lists++

		args := strings.Fields(name + " " + on[name])
		out, code := printed(t, s, append(args, "--json")...)

		if code != exit.OK && code != exit.Failure {
			t.Errorf("%s: exit status %d", name, code)
		}

		n := 0
		for lines := bufio.NewScanner(&out); lines.Scan(); n++ {
			element := map[string]any{}
			if err := json.Unmarshal(lines.Bytes(), &element); err != nil {
				t.Errorf("%s prints %q: %v", name, lines.Text(), err)
			}

			if _, isPage := element["next"]; isPage {
				t.Errorf("%s prints a page and not its elements: %s", name, lines.Text())
			}
		}

		if n < atLeast[name] {
			t.Errorf("%s prints %d lines, want %d", name, n, atLeast[name])
		}
	}

	if lists < 14 {
		t.Errorf("only %d commands list something", lists)
	}
}

// printed runs a command and returns its standard output.
func printed(t *testing.T, s *settings.Settings, args ...string) (out bytes.Buffer, code int) {
	t.Helper()

	root := newRoot(server.Parts{})
	root.SetArgs(append(args, "--quiet", "--data", s.Flags.Lookup("data").Value.String()))
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})

	return out, exit.StatusOf(root.ExecuteContext(t.Context()))
}
