package inspect_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ratchet/operate/inspect"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestPagesTogetherHoldEveryOrderOnce walks through all pages of every kind of list.
func TestPagesTogetherHoldEveryOrderOnce(t *testing.T) {
	s := newOrders(t)
	var all, held []transitions.OrderID
	for i := range 25 {
		id := transitions.OrderID(fmt.Sprintf("o-%02d", i))
		s.place(t, id)
		all = append(all, id)

		if i%3 == 0 {
			s.want(t, given(id, workflow.Hold, 2), transitions.Applied)
			held = append(held, id)
		}
	}

	for _, row := range []struct {
		name string
		page inspect.Page
		want []transitions.OrderID
	}{
		{"all, on one page of the default size", inspect.Page{}, all},
		{"all, page by page", inspect.Page{Limit: 4}, all},
		{"those in a state", inspect.Page{Limit: 2, State: workflow.OnHold}, held},
		{"those in a state and of our version", inspect.Page{Limit: 3, State: workflow.OnHold, Version: 1}, held},
		{"those of another version, whose states are not checked", inspect.Page{Version: 2, State: "HELD"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []transitions.OrderID
			for more := true; more; {
				found, err := inspect.List(t.Context(), s.Orders, row.page)
				if err != nil {
					t.Fatal(err)
				}

				for _, o := range found.Orders {
					got = append(got, o.ID)
				}
				row.page.After, more = transitions.OrderID(found.Next), found.Next != ""
			}

			slices.Sort(got)

			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("orders (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInvalidPagesAreRefused(t *testing.T) {
	s := newOrders(t)
	for name, page := range map[string]inspect.Page{
		"a negative limit":          {Limit: -1},
		"a limit above 1,000":       {Limit: 1001},
		"a negative version":        {Version: -1},
		"a state that is not known": {State: "LOST"},
	} {
		if _, err := inspect.List(t.Context(), s.Orders, page); !errors.Is(err, transitions.ErrInvalidRequest) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestOrdersAreCountedByVersionAndState(t *testing.T) {
	s := newOrders(t)
	for i := range 5 {
		s.place(t, transitions.OrderID(fmt.Sprint("o-", i)))
	}
	s.want(t, given("o-3", workflow.Hold, 2), transitions.Applied)

	for _, segments := range []int{0, 1, 7} {
		got, err := inspect.Count(t.Context(), s.Orders, transitions.Sweep{Segments: segments})
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(inspect.Counts{1: {workflow.Pending: 4, workflow.OnHold: 1}}, got); diff != "" {
			t.Errorf("%d segments (-want +got):\n%s", segments, diff)
		}
	}

	if _, err := inspect.Count(t.Context(), s.Orders, transitions.Sweep{Segments: 65}); !errors.Is(err, transitions.ErrInvalidRequest) {
		t.Errorf("65 segments: got %v", err)
	}
}

// TestAFilterThatCannotBeIsNamed: by time only the lists can be read, each by its own.
func TestAFilterThatCannotBeIsNamed(t *testing.T) {
	s := newOrders(t)
	since := time.Now()

	for _, p := range []inspect.Page{{Since: since}, {Until: since}, {By: inspect.ByPlacing}} {
		if _, err := inspect.List(t.Context(), s.Orders, p); !errors.Is(err, inspect.ErrFilter) {
			t.Errorf("a scan with %+v: %v", p, err)
		}
	}

	cases := []struct {
		page inspect.Page
		want error
	}{
		{inspect.Page{Since: since, By: inspect.ByPlacing}, nil},
		{inspect.Page{Since: since, State: workflow.Shipped}, nil},
		{inspect.Page{Since: since, State: workflow.Shipped, By: inspect.ByEntering}, nil},
		{inspect.Page{Since: since, State: workflow.Shipped, Customer: "ada", By: inspect.ByPlacing}, nil},
		{inspect.Page{Since: since, By: inspect.ByEntering}, inspect.ErrFilter},
		{inspect.Page{Since: since, State: workflow.Shipped, By: inspect.ByPlacing}, inspect.ErrFilter},
		{inspect.Page{Since: since, State: workflow.Shipped, Reference: "r", By: inspect.ByEntering}, inspect.ErrFilter},
		{inspect.Page{Since: since, Version: 1}, inspect.ErrFilter},
		{inspect.Page{Since: since, Until: since}, transitions.ErrInvalidRequest},
	}
	l := s.Lists(s.Orders)

	// While the lists are being built, only a filter that no list has is refused for good.
	for _, c := range cases {
		want := c.want
		if want == nil {
			want = inspect.ErrListsNotReady
		}

		if _, err := inspect.Listed(t.Context(), s.Orders, l, "", c.page); !errors.Is(err, want) {
			t.Errorf("before the lists are ready, %+v: %v, want %v", c.page, err, want)
		}
	}

	if _, err := l.Rebuild(t.Context(), nil); err != nil {
		t.Fatal(err)
	}

	for _, c := range cases {
		if _, err := inspect.Listed(t.Context(), s.Orders, l, "", c.page); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.page, err, c.want)
		}
	}
}
