package orders

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/api/auth"
	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

func ordersList(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List orders", Args: cobra.NoArgs}
	state := c.Flags().String("state", "", "only orders in this state")
	customer := c.Flags().String("customer", "", "only orders of this customer")
	reference := c.Flags().String("reference", "", "only orders with this reference")
	version := c.Flags().Int("version", 0, "only orders of this version of the definition; 0: any")
	limit := arguments.LimitFlag(c.Flags(), 100, 1_000, "at most this many")
	since := c.Flags().String("since", "", "only orders since this time: a duration like 24h, or RFC 3339; by the time of entering a state alone, else of placing; needs lists of orders and --tenant")
	until := c.Flags().String("until", "", "only orders before this time, as --since")
	stuck := c.Flags().Bool("stuck", false, "only those that the newest survey has found to need a person, with the cause and the next step; with --tenant, else of the default tenant")
	after := c.Flags().String("after", "", "continue after this order (the last of the page before)")
	tenant := c.Flags().String("tenant", "", "only orders of this tenant, from the lists of orders if there are any")
	c.RunE = func(c *cobra.Command, _ []string) error {
		// A variable of a script without a value must not list everything.
		if err := arguments.Given(c.Flags(), "state", "customer", "reference", "after", "tenant", "since", "until"); err != nil {
			return err
		}

		if *tenant != "" {
			if err := auth.Tenant(*tenant).Validate(); err != nil {
				return exit.UsageError("%w", err)
			}
		}

		var from, before time.Time
		var err error
		if *since != "" {
			if from, err = arguments.PointInTime("since", *since); err != nil {
				return err
			}
		}

		if *until != "" {
			if before, err = arguments.PointInTime("until", *until); err != nil {
				return err
			}
		}

		if *stuck {
			if *state+*customer+*reference+*since+*until != "" || *version != 0 {
				return exit.UsageError("stuck: only with --tenant, --limit and --after")
			}

			return s.With(c.Context(), func(b *server.Backend) error { return printStuck(c, s, b, arguments.OwnerOf(*tenant), *after, *limit) })
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			page := inspect.Page{State: workflow.State(*state), Customer: *customer, Reference: *reference, Version: *version, After: transitions.OrderID(*after), Limit: *limit}
			page.Since, page.Until = from, before
			page.Progress = s.Progress.Orders("read")

			found, err := listOrders(c, b, page, *tenant)
			if err != nil {
				return err
			}

			for _, bad := range found.Unreadable {
				fmt.Fprintf(c.ErrOrStderr(), "left out: order %s cannot be read: %s\n", bad.OrderID, terminal.OneLine(bad.Reason))
			}

			timed := make([]timedOrder, len(found.Orders))
			for i, o := range found.Orders {
				timed[i] = withTimers(b, o)
			}

			if s.JSON {
				return terminal.PrintMore(c.ErrOrStderr(), found.Next, terminal.PrintLines(c.OutOrStdout(), timed))
			}

			return terminal.PrintMore(c.ErrOrStderr(), found.Next, printOrders(c.OutOrStdout(), timed, b.Orders.HasTimers()))
		})
	}

	return s.Long(c, "reading orders")
}

// printStuck prints the stuck orders of an owner that the newest survey has found.
func printStuck(c *cobra.Command, s *settings.Settings, b *server.Backend, owner, after string, limit int) error {
	survey, err := b.Processes.StuckSince(c.Context())
	if err != nil {
		return err
	}

	page, next, err := b.Processes.Stuck(c.Context(), owner, survey, after, limit)
	if err != nil {
		return err
	}

	if s.JSON {
		return terminal.PrintMore(c.ErrOrStderr(), next, terminal.PrintLines(c.OutOrStdout(), page))
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ORDER\tKIND\tSTATE\tSINCE\tFOUND\tCAUSE\tNEXT")

	for _, o := range page {
		command := ""
		if len(o.Commands) > 0 {
			command = o.Commands[0]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", o.OrderID, o.Kind, o.State, terminal.StampOf(o.Since), terminal.StampOf(o.FoundAt), inLine(o.Cause), command)
	}

	return terminal.PrintMore(c.ErrOrStderr(), next, w.Flush())
}

// listOrders returns a page of the tenant's orders, or of all tenants' if tenant is empty. It says
// where the page comes from if the page may be incomplete.
func listOrders(c *cobra.Command, b *server.Backend, page inspect.Page, tenant string) (inspect.Listing, error) {
	if tenant == "" {
		// The lists are per tenant; all tenants together are only in the table.
		if page.Reference != "" || page.Customer != "" {
			fmt.Fprintln(c.ErrOrStderr(), "scanned the table for orders of all tenants; with --tenant NAME the lists of orders are used")
		}

		return inspect.List(c.Context(), b.Orders, page)
	}

	owner := arguments.OwnerOf(tenant)

	listing, err := inspect.Listed(c.Context(), b.Orders, b.Lists, owner, page)
	if err != nil {
		return inspect.Listing{}, err
	}

	if listing.Stale > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "the lists lag behind the orders: %s left out because they have moved\n", plural.Of(listing.Stale, "order"))
	}

	if !listing.Scanned {
		return listing, nil
	}
	fmt.Fprintln(c.ErrOrStderr(), "there are no lists of orders (setting order-lists): scanned the table")

	// A scan returns the orders of all tenants.
	listing.Orders = slices.DeleteFunc(listing.Orders, func(o *transitions.Order) bool { return !isOwnedBy(owner, o.ID) })
	listing.Unreadable = slices.DeleteFunc(listing.Unreadable, func(u inspect.Unreadable) bool { return !isOwnedBy(owner, u.OrderID) })

	return listing, nil
}

// isOwnedBy reports whether the order is one of the owner, as arguments.OwnerOf returns it.
func isOwnedBy(owner string, id transitions.OrderID) bool {
	// Only the first colon: the rest of the id is the tenant's.
	before, _, named := strings.Cut(string(id), ":")
	if !named {
		return owner == ""
	}

	return owner != "" && before == owner
}
