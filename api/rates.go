package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/operate/processes"
	"ratchet/transitions"
)

func (s *service) rateRoutes(h huma.API) {
	register(s, h, route{
		id:      "get-rates",
		method:  http.MethodGet,
		path:    "/v1/rates",
		tag:     "service",
		scope:   auth.Admin,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Read what was decided and done in the last hour, by the minute",
		description: "The server keeps it in memory: the request reads nothing. A minute is complete about a minute after its end. The numbers are those " +
			"of all tenants, so only administrators of the default tenant get them.",
	}, s.getRates)

	register(s, h, route{
		id:      "get-order-counts",
		method:  http.MethodGet,
		path:    "/v1/order-counts",
		tag:     "orders",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Count the tenant's orders by state and version",
		description: "The numbers come from a pass over all orders, whose period follows from the setting count-units, and from the transitions since. The " +
			"answer says how old they are. They need no lists of orders, and a request reads one item.",
	}, s.getOrderCounts)
}

// decidedRate is how often requests for an event had a verdict.
type decidedRate struct {
	Event   string `json:"event" doc:"other: an event that is not in the definition."`
	Verdict string `json:"verdict" enum:"Applied,Replayed,Superseded,WrongState,Conflict,NotFound,Illegal"`
	Count   int64  `json:"count"`
}

// minuteRate is what all processes did in a minute.
type minuteRate struct {
	At            time.Time `json:"at" doc:"The end of the minute."`
	Placed        int64     `json:"placed" doc:"Orders that were placed."`
	Applied       int64     `json:"applied" doc:"Requests that moved an order, with those that placed one."`
	Replayed      int64     `json:"replayed" doc:"Requests that had been applied before."`
	Refused       int64     `json:"refused" doc:"Requests with another verdict."`
	Records       int64     `json:"records" doc:"Records of the stream that a handler has handled."`
	DeadLetters   int64     `json:"deadLetters"`
	Deliveries    int64     `json:"deliveries" doc:"Attempts of notifications that succeeded."`
	Requests      int64     `json:"requests" doc:"Requests to the API and the engine."`
	Throttled     int64     `json:"throttled" doc:"Calls that AWS has throttled."`
	ReadUnits     int64     `json:"readUnits"`
	WriteUnits    int64     `json:"writeUnits"`
	BehindSeconds int64     `json:"behindSeconds" doc:"The age of the oldest record of the orders' stream for which nothing was begun, at the end of the minute."`
}

type ratesOutput struct {
	Body struct {
		Since   time.Time     `json:"since" doc:"When the first of the minutes began: an hour ago, or when the service began to tell."`
		ReadAt  *time.Time    `json:"readAt,omitempty" doc:"When the server has read last what the other processes did. Absent before the first time."`
		Minutes []minuteRate  `json:"minutes" doc:"By their ends. A minute in which no process ran is left out. The last one is not over, and has only the decisions of the server that answers."`
		Decided []decidedRate `json:"decided" doc:"The sums of the hour by event and verdict, the most frequent ones first."`
		Others  int64         `json:"others" doc:"How many more requests were decided: a process tells of its 20 most frequent pairs in a minute."`
	}
}

func (s *service) getRates(_ context.Context, c caller, _ *struct{}) (*ratesOutput, error) {
	switch {
	case s.cfg.LastHour == nil:
		return nil, notFound("rates")
	case c.tenant.owner() != "":
		return nil, newProblem(http.StatusForbidden, "forbidden", "Only administrators of the default tenant see the rates of the whole system.")
	}

	hour, err := s.cfg.LastHour()
	if err != nil {
		return nil, err
	}

	out := &ratesOutput{}
	out.Body.Since, out.Body.ReadAt = hour.Since, optionalTime(hour.UpTo)
	out.Body.Decided, out.Body.Others = decidedRates(hour.Minutes)
	out.Body.Minutes = minuteRates(hour.Minutes)

	return out, nil
}

func decidedRates(minutes []processes.Minute) (rates []decidedRate, others int64) {
	sums := map[processes.Decided]int64{}

	for _, m := range minutes {
		others += m.Others

		for _, d := range m.Decided {
			sums[processes.Decided{Event: d.Event, Verdict: d.Verdict}] += d.Count
		}
	}

	rates = []decidedRate{} // a list is never null in JSON
	for of, n := range sums {
		rates = append(rates, decidedRate{of.Event, of.Verdict, n})
	}
	slices.SortFunc(rates, func(a, b decidedRate) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Event, b.Event), cmp.Compare(a.Verdict, b.Verdict))
	})

	return rates, others
}

func minuteRates(minutes []processes.Minute) []minuteRate {
	all := []minuteRate{}

	for _, m := range minutes {
		// A process that ends tells of a part of a minute.
		at := m.At.Add(time.Minute - 1).Truncate(time.Minute)

		i, known := slices.BinarySearchFunc(all, at, func(r minuteRate, at time.Time) int { return r.At.Compare(at) })
		if !known {
			all = slices.Insert(all, i, minuteRate{At: at})
		}
		all[i].add(m)
	}

	return all
}

func (r *minuteRate) add(m processes.Minute) {
	for _, d := range m.Decided {
		switch d.Verdict {
		case transitions.Applied.String():
			r.Applied += d.Count
		case transitions.Replayed.String():
			r.Replayed += d.Count
		default:
			r.Refused += d.Count
		}
	}

	r.Placed += m.Counters["placed"]
	r.Records += m.Counters["records"]
	r.DeadLetters += m.Counters["deadLetters"]
	r.Deliveries += m.Counters["deliveries"]
	r.Requests += m.Counters["requests"]
	r.Throttled += m.Counters["throttled"]
	r.ReadUnits += m.Counters["readUnits"]
	r.WriteUnits += m.Counters["writeUnits"]
	r.BehindSeconds = max(r.BehindSeconds, m.Behind)
}

// stateCount is how many orders of a version are in a state.
type stateCount struct {
	State   string `json:"state" doc:"Empty: it cannot be read."`
	Version int    `json:"version" doc:"The version of the definition that moved the orders last. 0: none is recorded."`
	Orders  int64  `json:"orders"`
}

type orderCountsOutput struct {
	Body struct {
		Counts    []stateCount `json:"counts" doc:"By state and version. Empty before the first pass."`
		Orders    int64        `json:"orders" doc:"The sum."`
		CountedAt *time.Time   `json:"countedAt,omitempty" doc:"When the pass began. Absent before the first one."`
		UpTo      *time.Time   `json:"upTo,omitempty" doc:"Up to when transitions since then are in the numbers."`
		Error     int64        `json:"error" doc:"By how many orders a number may be wrong: those that moved during the pass. Imports, migrations, and what other programs write are seen by the next pass."`
	}
}

func (s *service) getOrderCounts(ctx context.Context, c caller, _ *struct{}) (*orderCountsOutput, error) {
	if s.cfg.Processes == nil {
		return nil, notFound("counts")
	}

	count, known, err := s.cfg.Processes.NewestCount(ctx, c.tenant.owner())
	if err != nil {
		return nil, err
	}

	out := &orderCountsOutput{}
	out.Body.Counts = []stateCount{}

	if !known {
		return out, nil
	}
	out.Body.CountedAt, out.Body.UpTo, out.Body.Error = optionalTime(count.At), optionalTime(count.UpTo), count.Error

	for version, states := range count.Orders {
		for state, n := range states {
			// Moves that a pass has not seen may take more orders out of a state than it has counted there.
			if n > 0 {
				out.Body.Counts = append(out.Body.Counts, stateCount{state, version, n})
				out.Body.Orders += n
			}
		}
	}
	slices.SortFunc(out.Body.Counts, func(a, b stateCount) int {
		return cmp.Or(cmp.Compare(a.State, b.State), cmp.Compare(a.Version, b.Version))
	})

	return out, nil
}
