package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"ratchet/internal/plural"
	"ratchet/workflow/diagram"
)

// pages are all pages. Those of stored data are looked at every second while a viewer follows them, and summaries every ten. What costs
// half a second of the service's time is read every ten seconds for all viewers together, and no page waits for it.
var pages = []page{
	{path: "/{$}", nav: "/", load: overview, every: 2 * time.Second},
	{path: "/orders", nav: "/orders", load: orders, every: time.Second},
	{path: "/orders/{order}", nav: "/orders", load: order, every: time.Second, mark: orderMark},
	{path: "/workflow", nav: "/workflow", load: withMigration},
	{path: "/refusals", nav: "/refusals", load: refusalsOf, every: 10 * time.Second},
	{path: "/stream", nav: "/stream", load: stream, every: 2 * time.Second},
	{path: "/dead-letters", nav: "/dead-letters", load: deadLetters, every: 10 * time.Second},
	{path: "/deliveries", nav: "/deliveries", load: deliveries, every: 10 * time.Second},
	{path: "/executions", nav: "/executions", load: executions},
	{path: "/stuck", nav: "/", load: stuck},
	{path: "/money", nav: "/money", load: moneyOf},
	{path: "/stock", nav: "/stock", load: stock},
	{path: "/once", nav: "/once", load: one, posts: true},
	{path: "/quotas", nav: "/quotas", load: quotas, every: 2 * time.Second},
	{path: "/jobs", nav: "/jobs", load: jobs, every: 10 * time.Second},
	{path: "/jobs/{job}", nav: "/jobs", load: job, every: 2 * time.Second},
	{path: "/doctor", nav: "/doctor", load: doctor, every: 2 * time.Second},
	{path: "/doctor/{question}", nav: "/doctor", load: question, every: 2 * time.Second},
	{path: "/audit", nav: "/audit", load: audit, every: 10 * time.Second},
}

// moment is a time as the API writes it.
type moment struct{ time.Time }

func (m moment) iso() string   { return m.UTC().Format(time.RFC3339Nano) }
func (m moment) short() string { return m.UTC().Format("2006-01-02 15:04:05") }

// money writes an amount in minor units, as the API has it: not every currency has two decimals.
func money(amount int64, currency string) string {
	if currency == "" {
		return "–"
	}

	return thousands(amount) + " " + currency
}

// thousands is for the pages, whose sources import nothing of this module: its path may be changed.
func thousands(n int64) string { return plural.Thousands(n) }

// machineStatus is the part of the answer of GET /v1/status that is shown.
type machineStatus struct {
	Problems  []systemProblem
	Processes []struct {
		Name, Host, Version, State, Reason string
		Parts                              []string
		Ready                              bool
		StartedAt, BeatAt                  moment
	}
	Rates  map[string]float64
	Quotas []struct {
		Name, Of, Source     string
		Used, Quota, Percent float64
	}
	BehindSeconds float64
	DeadLetters   int
	Reports       struct{ Waiting, Attention int }
}

// overviewShown is what the overview shows.
type overviewShown struct {
	status    machineStatus
	statusAt  time.Time // zero: it is being read
	forbidden bool      // the viewer does not see the system

	definition definition
	counts     orderCounts
	svg        []diagram.Part
	rates      rates
	newest     orderList
}

// overview waits for no read of the status, which takes half a second and more.
func overview(ctx context.Context, v *visit) (content, error) {
	var (
		o   overviewShown
		err error
	)

	o.statusAt, err = v.kept(ctx, "/v1/status", &o.status, false)
	if o.forbidden = isForbidden(err); err != nil && !o.forbidden && !isMissing(err) {
		return content{}, err
	}

	if !o.forbidden {
		// The status, which is not waited for, may not have been refused yet.
		err := v.get(ctx, "/v1/rates", &o.rates)
		if o.forbidden = isForbidden(err); err != nil && !o.forbidden && !isMissing(err) {
			return content{}, err
		}
	}

	for path, into := range map[string]any{"/v1/workflow": &o.definition, "/v1/order-counts": &o.counts, "/v1/orders?limit=8": &o.newest} {
		// An installation without the table of processes counts nothing.
		if _, err := v.kept(ctx, path, into, true); err != nil && !(isMissing(err) && path == "/v1/order-counts") {
			return content{}, err
		}
	}

	if o.svg, err = v.pictures.paint(o.definition.graph(), o.counts.paint()); err != nil {
		return content{}, err
	}

	return content{"Overview", overviewPage(v, o)}, nil
}

// quotasShown is what the page of quotas and cost shows.
type quotasShown struct {
	status   machineStatus
	statusAt time.Time
	rates    rates
	prices   []price
}

// price is a part of the answer of GET /v1/quotas.
type price struct {
	Unit              string
	DollarsPerMillion float64
}

func quotas(ctx context.Context, v *visit) (content, error) {
	var (
		o   quotasShown
		err error
	)

	if o.statusAt, err = v.kept(ctx, "/v1/status", &o.status, false); err != nil {
		return content{}, err
	}

	if err := v.get(ctx, "/v1/rates", &o.rates); err != nil {
		return content{}, err
	}

	var all struct{ Prices []price }
	if err := v.get(ctx, "/v1/quotas", &all); err != nil {
		return content{}, err
	}
	o.prices = all.Prices

	return content{"Quotas and cost", quotasPage(o)}, nil
}

// cost is what the last hour used of a unit.
type cost struct {
	unit    string
	used    int64
	million float64 // dollars for a million
}

func (c cost) dollars() float64 { return float64(c.used) * c.million / 1e6 }

func (c cost) perOrder(placed int64) string {
	if placed == 0 {
		return "–"
	}

	return fmt.Sprintf("%.1f", float64(c.used)/float64(placed))
}

func (o quotasShown) placed() (sum int64) {
	for _, m := range o.rates.Minutes {
		sum += m.Placed
	}

	return sum
}

// costs are those of DynamoDB. State transitions are not counted.
func (o quotasShown) costs() (all []cost) {
	used := map[string]int64{}
	for _, m := range o.rates.Minutes {
		used["read unit"] += m.ReadUnits
		used["write unit"] += m.WriteUnits
	}

	for _, p := range o.prices {
		if n, counted := used[p.Unit]; counted {
			all = append(all, cost{p.Unit, n, p.DollarsPerMillion})
		}
	}

	return all
}

type orderList struct {
	Orders  []orderShown
	Next    string
	Scanned bool
}

// timed reports whether time moves any of the orders.
func (l orderList) timed() bool {
	return slices.ContainsFunc(l.Orders, func(o orderShown) bool { return len(o.Timers) > 0 })
}

// orderShown is an order as the API shows it.
type orderShown struct {
	OrderID, Incarnation, State  string
	TransitionID, ContentVersion int64
	DefinitionVersion            int
	Customer, Reference          string
	Items                        []struct {
		SKU                      string
		Quantity, Shipped, Price int64
	}
	Total struct {
		Amount   int64
		Currency string
	}
	// Own are attributes of the caller's own: each is one type of DynamoDB's with its value.
	Own                             map[string]map[string]json.RawMessage
	Parcels                         []struct{ TrackingNumber string }
	ShippingAddress, BillingAddress map[string]string
	Metadata                        map[string]string
	Notes                           []struct {
		At       moment
		By, Text string
	}
	Timers                          []timer
	Cause                           struct{ Code, Text, Actor string }
	CreatedAt, UpdatedAt, EnteredAt moment
}

// timer is a transition that time makes.
type timer struct {
	Event, To, Unmet, Overdue string
	At                        moment
}

func orders(ctx context.Context, v *visit) (content, error) {
	if id := v.query("order"); id != "" {
		var o orderShown
		if err := v.get(ctx, pathTo("/v1/orders/%s", id), &o); err != nil {
			return content{}, err
		}

		return content{"Orders", ordersPage(v, v.filter(), orderList{Orders: []orderShown{o}})}, nil
	}

	var list orderList
	f := v.filter()
	if err := v.get(ctx, with("/v1/orders", "limit", "50", "state", f.State, "reference", f.Reference, "cursor", v.query("cursor")), &list); err != nil {
		return content{}, err
	}

	return content{"Orders", ordersPage(v, f, list)}, nil
}

// filter is what a list of orders is asked for.
type filter struct{ ID, State, Reference string }

func (v *visit) filter() filter {
	return filter{v.query("order"), v.query("state"), v.query("reference")}
}

// next is the address of the next page.
func (f filter) next(cursor string) string {
	return with(Path+"/orders", "state", f.State, "reference", f.Reference, "cursor", cursor)
}

// kindOf says how a state is colored: in the words of the built-in workflow and of most others.
func kindOf(state string) string {
	switch {
	case strings.Contains(state, "HOLD"), strings.Contains(state, "RETURN"), strings.Contains(state, "PARTIAL"):
		return "warn"
	case strings.Contains(state, "CANCEL"), strings.Contains(state, "FAILED"), strings.Contains(state, "CHARGED"), strings.Contains(state, "EXPIRED"), state == "MISSED":
		return "bad"
	case state == "DELIVERED", state == "COMPLETED":
		return "good"
	}

	return ""
}

// streamStatus is the part of the answer of GET /v1/stream that is shown.
type streamStatus struct {
	State         string
	BehindSeconds float64
	Workers       []string
	Shards        []struct {
		Shard, State, Owner string
		Records             int
		More                bool
		HandledAt           moment
		Gaps                int64
	}
	Handlers []struct {
		Handler                  string
		Items, DeadLetters       int
		Since, NextTry, PausedAt moment
	}
	Problems []string
}

func stream(ctx context.Context, v *visit) (content, error) {
	var s streamStatus

	at, err := v.kept(ctx, "/v1/stream", &s, false)
	if err != nil {
		return content{}, err
	}

	return content{"Stream", streamPage(v, s, at)}, nil
}

func shardKind(state string) string {
	switch state {
	case "held":
		return "good"
	case "silent", "unknown":
		return "bad"
	}

	return ""
}

type letterList struct {
	Letters []struct {
		ID, Handler, OrderID, Error, Unreadable string
		Attempts                                int
		FailedAt                                moment
	}
	Next string
}

func deadLetters(ctx context.Context, v *visit) (content, error) {
	var s streamStatus
	if _, err := v.kept(ctx, "/v1/stream", &s, false); err != nil {
		return content{}, err
	}

	handler, handlers := v.query("handler"), []string{}
	for _, h := range s.Handlers {
		handlers = append(handlers, h.Handler)
		if handler == "" && h.DeadLetters > 0 {
			handler = h.Handler
		}
	}

	if handler == "" && len(handlers) > 0 {
		handler = handlers[0]
	}

	var list letterList

	// Until the handlers are known, the letters of all of them are shown.
	path := "/v1/dead-letters"
	if handler != "" {
		path = pathTo("/v1/dead-letters/%s", handler)
	}

	if err := v.get(ctx, with(path, "cursor", v.query("cursor")), &list); err != nil {
		return content{}, err
	}

	if len(handlers) == 0 {
		handlers = list.handlers(handler)
	}

	// Acts on many are about one handler.
	if handler == "" && len(handlers) == 1 {
		handler = handlers[0]
	}

	return content{"Dead letters", lettersPage(v, handler, handlers, list)}, nil
}

// handlers are those of the letters, and the one that was asked for, in order.
func (l letterList) handlers(asked string) []string {
	names := []string{}
	for _, letter := range l.Letters {
		names = append(names, cmp.Or(letter.Handler, asked))
	}

	if asked != "" {
		names = append(names, asked)
	}
	slices.Sort(names)

	return slices.Compact(names)
}

type endpointList struct{ Endpoints []endpointShown }

type endpointShown struct {
	ID, Destination, Status, Reason string
	FailingSince                    moment
}

type deliveryList struct {
	Deliveries []deliveryShown
	Next       string
}

type deliveryShown struct {
	ID, OrderID, Endpoint, State, Status, Error string
	TransitionID                                int64
	Attempts                                    int
	NextTry                                     moment
}

// deliveryButtons are the acts on a delivery.
func (v *visit) deliveryButtons(d deliveryShown) []button {
	if d.Status == "PENDING" {
		return nil
	}

	return v.button("resend", "order", d.OrderID, "transition", fmt.Sprint(d.TransitionID), "endpoint", d.Endpoint)
}

// endpointButtons are the acts on an endpoint. That of the settings is changed there.
func (v *visit) endpointButtons(e endpointShown) []button {
	if e.ID == "configured" {
		return v.button("test-endpoint", "endpoint", e.ID)
	}

	turn := "disable-endpoint"
	if e.Status == "DISABLED" {
		turn = "enable-endpoint"
	}

	return slices.Concat(v.button("test-endpoint", "endpoint", e.ID), v.button(turn, "endpoint", e.ID), v.button("rotate-endpoint", "endpoint", e.ID))
}

func deliveries(ctx context.Context, v *visit) (content, error) {
	var endpoints endpointList
	if err := v.get(ctx, "/v1/endpoints", &endpoints); err != nil {
		return content{}, err
	}

	of, status := v.query("endpoint"), cmp.Or(v.query("status"), "PENDING")
	if of == "" && len(endpoints.Endpoints) > 0 {
		of = endpoints.Endpoints[0].ID
	}

	var list deliveryList
	if of != "" {
		if err := v.get(ctx, with(pathTo("/v1/endpoints/%s/deliveries", of), "status", status, "cursor", v.query("cursor")), &list); err != nil {
			return content{}, err
		}
	}

	return content{"Deliveries", deliveriesPage(v, endpoints.Endpoints, of, status, list)}, nil
}

func endpointKind(status string) string {
	switch status {
	case "ACTIVE", "DELIVERED":
		return "good"
	case "DISABLED", "SKIPPED", "PENDING":
		return "warn"
	}

	return "bad"
}

type actsRead struct {
	Acts []struct {
		At                                      moment
		Who, Act, On, Via, Reason, Result, Code string
	}
	Next string
}

func audit(ctx context.Context, v *visit) (content, error) {
	var list actsRead
	if err := v.get(ctx, with("/v1/audit", "limit", "50", "cursor", v.query("cursor")), &list); err != nil {
		return content{}, err
	}

	return content{"Audit", auditPage(list)}, nil
}

func joined(words []string) string { return strings.Join(words, ", ") }
