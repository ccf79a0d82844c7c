package orders

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
)

// TestRequestsForLaterOnTheCommandLine: placed, listed, moved and withdrawn, with the exit status of each refusal.
func TestRequestsForLaterOnTheCommandLine(t *testing.T) {
	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		_, err := b.Orders.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}})
		return err
	})
	s.JSON = true

	ask := func(command func(*settings.Settings) *cobra.Command, args ...string) (scheduled.Request, int) {
		t.Helper()

		out, status := commandtest.Ask(t, command(s), args...)

		var r scheduled.Request
		if out != "" {
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
		}

		return r, status
	}
	at := func(in time.Duration) string { return time.Now().Add(in).UTC().Format(time.RFC3339) }
	first, later := at(time.Hour), at(2*time.Hour)

	placed, status := ask(ordersApply, "o-1", "cancel", "--request-id", "r-1", "--at", first)
	if status != exit.OK || placed.Status != scheduled.Pending || placed.At.Format(time.RFC3339) != first || !placed.ID.Valid() {
		t.Fatalf("%+v, %d", placed, status)
	}
	id := string(placed.ID)

	if again, status := ask(ordersApply, "o-1", "cancel", "--request-id", "r-1", "--at", first); status != exit.OK || again.ID != placed.ID {
		t.Errorf("repeated: %+v, %d", again, status)
	}

	for _, row := range []struct {
		args   string
		status int
	}{
		{"o-1 cancel --request-id r-1 --at " + later, exit.Refused},                // another time under the id
		{"o-1 cancel --request-id r-2 --at " + at(367*24*time.Hour), exit.Refused}, // too far
		{"o-1 cancel --request-id r-2 --at " + at(-time.Hour), exit.Refused},
		{"o-1 cancel --request-id r-2 --at tomorrow", exit.Usage},
		{"o-1 cancel --request-id r-2 --at=", exit.Usage},
		{"o-9 cancel --request-id r-2 --at " + later, exit.NotFound},
	} {
		if r, status := ask(ordersApply, strings.Fields(row.args)...); status != row.status {
			t.Errorf("apply %s: %d, %+v", row.args, status, r)
		}
	}

	for _, row := range []struct {
		command func(*settings.Settings) *cobra.Command
		args    string
		status  int
	}{
		{scheduledMove, "o-1 " + id + " --to soon", exit.Usage},
		{scheduledMove, "o-1 " + id + " --to=", exit.Usage},
		{scheduledMove, "o-1 x --to " + later, exit.Usage},
		{scheduledMove, "o-1 " + id + " --to " + at(400*24*time.Hour), exit.Refused},
		{scheduledMove, "o-1 " + strings.Repeat("0", 32) + " --to " + later, exit.NotFound},
		{scheduledWithdraw, "o-1 " + strings.Repeat("0", 32), exit.NotFound},
		{scheduledWithdraw, "o-2 " + id, exit.NotFound},
		{scheduledWithdraw, "o-1 x", exit.Usage},
		{scheduledList, "o-9", exit.NotFound},
		{scheduledList, "o-1 --after x", exit.Usage},
		{scheduledList, "o-1 --limit 0", exit.Usage},
	} {
		if r, status := ask(row.command, strings.Fields(row.args)...); status != row.status {
			t.Errorf("%s: %d, %+v", row.args, status, r)
		}
	}

	for range 2 {
		if moved, status := ask(scheduledMove, "o-1", id, "--to", later); status != exit.OK || moved.At.Format(time.RFC3339) != later {
			t.Errorf("moved: %+v, %d", moved, status)
		}
	}

	if listed, status := ask(scheduledList, "o-1"); status != exit.OK || listed.ID != placed.ID || listed.At.Format(time.RFC3339) != later || listed.Status != scheduled.Pending {
		t.Errorf("listed: %+v, %d", listed, status)
	}

	for range 2 {
		if ended, status := ask(scheduledWithdraw, "o-1", id); status != exit.OK || ended.Status != scheduled.Withdrawn {
			t.Errorf("withdrawn: %+v, %d", ended, status)
		}
	}

	// What has ended is shown as it is, with the status of a refusal.
	if ended, status := ask(scheduledMove, "o-1", id, "--to", first); status != exit.Refused || ended.Status != scheduled.Withdrawn {
		t.Errorf("moved after its end: %+v, %d", ended, status)
	}

	s.JSON = false

	if out, status := commandtest.Ask(t, scheduledList(s), "o-1"); status != exit.OK || !strings.HasPrefix(out, "AT ") || !strings.Contains(out, "  cancel  withdrawn  "+id+"  -") {
		t.Errorf("%d: %s", status, out)
	}
}

// TestTheListOfRequestsForLaterHasPages: each request is on one page, and stderr has the id to go on behind.
func TestTheListOfRequestsForLaterHasPages(t *testing.T) {
	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		if _, err := b.Orders.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
			return err
		}

		for _, id := range []transitions.RequestID{"a", "b", "c"} {
			if _, err := b.Scheduled.Place(ctx, transitions.Request{OrderID: "o-1", Event: "cancel", RequestID: id}, time.Now().Add(time.Hour)); err != nil {
				return err
			}
		}

		return nil
	})
	s.JSON = true

	seen, after := map[scheduled.ID]bool{}, ""
	for range 4 {
		args := []string{"o-1", "--limit", "1"}
		if after != "" {
			args = append(args, "--after", after)
		}

		out, status := commandtest.Ask(t, scheduledList(s), args...)
		if status != exit.OK {
			t.Fatalf("%v: %d %s", args, status, out)
		}

		if out == "" {
			break
		}

		var r scheduled.Request
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		seen[r.ID], after = true, string(r.ID)
	}

	if len(seen) != 3 {
		t.Errorf("%d of 3 requests are listed", len(seen))
	}
}
