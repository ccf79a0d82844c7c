package console

import (
	"context"
	"regexp"
	"strings"
)

// systemProblem is a line of the overview that needs a person.
type systemProblem struct{ Area, Text, Action string }

// named matches the handler or endpoint that a problem is about.
var named = regexp.MustCompile(`^(?:handler|endpoint) ([A-Za-z0-9_:-]+) `)

// page is where a person sees what the problem is about, and acts on it; "" if there is no such page.
func (p systemProblem) page() string {
	name := ""
	if found := named.FindStringSubmatch(p.Text); found != nil {
		name = found[1]
	}

	switch p.Area {
	case "dead letters":
		return with(Path+"/dead-letters", "handler", name)
	case "notifications":
		// The endpoint of another tenant is on that tenant's pages.
		if strings.Contains(name, ":") {
			return ""
		}

		return with(Path+"/deliveries", "endpoint", name, "status", "MISSED")
	case "orders":
		return Path + "/stuck"
	case "stream":
		return Path + "/stream"
	}

	return ""
}

// stuckList is a page of orders that need a person.
type stuckList struct {
	Orders    []stuckOrder
	Next      string
	CountedAt moment
	Skipped   string
}

type stuckOrder struct {
	OrderID, Kind, State, Cause string
	Since                       moment
	Commands                    []string
}

// stuckButtons are the acts that bring the order on.
func (v *visit) stuckButtons(o stuckOrder) (buttons []button) {
	switch o.Kind {
	case "unknown_version":
		return v.button("orders-migrate")
	case "lost_parcel":
		// Its execution waits as it should: an event decides. The page of the order has the refund.
		for _, command := range o.Commands {
			if event, is := strings.CutPrefix(command, "ratchet orders apply "+o.OrderID+" "); is {
				buttons = append(buttons, v.button("apply", "order", o.OrderID, "event", event)...)
			}
		}

		return buttons
	}

	return v.button("repair-execution", "order", o.OrderID)
}

func stuck(ctx context.Context, v *visit) (content, error) {
	var list stuckList
	if err := v.get(ctx, with("/v1/stuck-orders", "limit", "50", "cursor", v.query("cursor")), &list); err != nil {
		return content{}, err
	}

	return content{"Stuck orders", stuckPage(v, list)}, nil
}
