//go:build browser

package browser

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"testing"

	"ratchet/api/auth"
	"ratchet/server"
	"ratchet/transitions"
)

// TestActsByMouseAndKeyboard: a person logs in with a key, and holds, releases and cancels an order, under the policy of the
// pages. Nothing of the console's own is refused by that.
func TestActsByMouseAndKeyboard(t *testing.T) {
	address, b := servedConsole(t)
	_, key, err := b.APIKeys.Create(t.Context(), auth.NewKey{Name: "me", Tenant: auth.DefaultTenant, Scope: auth.Admin, Personal: true})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := b.Orders.Create(t.Context(), transitions.NewOrder{ID: "o-1", Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 5}}, Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}
	is := func(state string, transition transitions.TransitionID) {
		t.Helper()

		order, found, err := b.Orders.Get(t.Context(), "o-1")
		if err != nil || !found || string(order.State) != state || order.TransitionID != transition {
			t.Fatalf("the order is %s after transition %d, want %s after %d: %v", order.State, order.TransitionID, state, transition, err)
		}
	}
	page := openTab(t)

	// By mouse. A wrong key first.
	page.open(address + "/console/orders/o-1")
	page.click("document.querySelector('input[name=key]')", 1)
	page.write("rk_nonsense")
	page.click(element("main button", "Log in"), 1)
	page.sees("This login is not accepted.")

	page.click("document.querySelector('input[name=key]')", 1)
	page.write(string(key))
	page.click(element("main button", "Log in"), 1)
	page.click(element("main a.button", "Request hold"), 1)
	page.sees("The order goes from PENDING to ON_HOLD.")
	page.click("document.querySelector('input[name=reason]')", 1)
	page.write("two cards in a minute")
	page.click(element("main form button", "Request hold"), 2) // impatient
	page.until("/Done\\.|It was done before/.test(document.body?.innerText)", "true")
	is("ON_HOLD", 2)
	page.click(element("main a.button", "Go back"), 1)

	// By keyboard.
	page.tabTo(element("main a.button", "Request release"))
	page.enter()
	page.sees("The order goes from ON_HOLD to PENDING.")
	page.tabTo("document.querySelector('input[name=reason]')")
	page.write("the customer has called")
	page.enter()
	page.sees("Done.")
	is("PENDING", 3)
	page.tabTo(element("main a.button", "Go back"))
	page.enter()

	// What nothing undoes has to be typed.
	page.tabTo(element("main a.button", "Request cancel"))
	page.enter()
	page.sees("Nothing undoes this.")
	page.tabTo("document.querySelector('input[name=reason]')")
	page.write("fraud")
	page.tabTo("document.querySelector('input[name=confirm]')")
	page.write("yes")
	page.enter()
	page.sees("Type o-1 to confirm: nothing undoes this.")
	is("PENDING", 3)

	page.tabTo("document.querySelector('input[name=confirm]')")
	page.write("o-1")
	page.enter()
	page.sees("Done.")
	is("CANCELLED", 4)

	// The browser has the cookie, which no script sees.
	page.until("document.cookie", "")
	page.click(element("header button", "Log out"), 1)
	page.sees("API key")
	page.open(address + "/console/orders/o-1")
	page.sees("API key")

	page.mu.Lock()
	defer page.mu.Unlock()

	if len(page.refused) > 0 {
		t.Errorf("refused, or failed: %v", page.refused)
	}
}

// servedConsole serves the API with its console to callers who log in.
func servedConsole(t *testing.T) (address string, b *server.Backend) {
	t.Helper()

	ctx, stop := context.WithCancel(context.Background())

	b, err := server.Embed(server.Config{Data: filepath.Join(t.TempDir(), "data"), Console: server.ConsoleConfig{MaxScope: "admin"}}, slog.New(slog.DiscardHandler), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	if err := b.Init(ctx); err != nil {
		t.Fatal(err)
	}

	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- b.ServeAPI(ctx, l, false) }()
	t.Cleanup(func() {
		stop()

		for _, err := range []error{<-ended, b.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})

	return fmt.Sprintf("http://localhost:%d", l.Addr().(*net.TCPAddr).Port), b
}
