package processes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// Minute is what one process has done in one minute.
type Minute struct {
	// Key is made of the time and the id of the process: two minutes are the same if their keys are.
	Key string `json:"-"`
	// At is the end of the minute, by the clock of the process.
	At time.Time `json:"at"`
	// Decided counts the requests by event and verdict, the twenty most frequent pairs. Others is how many more there were.
	Decided []Decided `json:"decided,omitempty"`
	Others  int64     `json:"others,omitempty"`
	// Moved is what the requests that were applied have changed in the numbers of orders, and Unnoted how many of these
	// requests are not in it.
	Moved   []Moved `json:"moved,omitempty"`
	Unnoted int64   `json:"unnoted,omitempty"`
	// Counters are the increases of those counters of the [Report] that increased.
	Counters map[string]int64 `json:"counters,omitempty"`
	// Behind is as in the [Report].
	Behind int64 `json:"behind,omitempty"`
}

// Decided is how often requests for an event had a verdict.
type Decided struct {
	Event   string `json:"event"`
	Verdict string `json:"verdict"`
	Count   int64  `json:"count"`
}

// Moved is by how many orders of an owner a state of a version has more than before.
type Moved struct {
	Owner   string `json:"owner,omitempty"`
	Version int    `json:"version"`
	State   string `json:"state"`
	By      int64  `json:"by"`
}

// Hour is what all processes did in the last hour.
type Hour struct {
	// Since is when the first of the minutes began, UpTo when they were read last. Zero: they were not read yet.
	Since, UpTo time.Time
	// Minutes are those of all processes, by their ends, and last that of the reading process which is not over.
	Minutes []Minute
}

const (
	minuteKind = "minute"
	// minuteLayout makes keys that sort by time.
	minuteLayout = "2006-01-02T15:04:05Z"
	// minuteRetention is how long a row is kept: twice as long as it is shown.
	minuteRetention = 2 * time.Hour
	// mostDecided and mostMoved bound the lists of a row, maxMinute its JSON, so that it costs at most two write units.
	mostDecided = 20
	mostMoved   = 24
	maxMinute   = 1900
)

// MaxMinutes bounds how many rows [Store.Minutes] reads at once: those of 40 processes for an hour.
const MaxMinutes = 2400

// item returns the minute as it is stored. What does not fit is counted in Others and Unnoted.
func (m Minute) item() (dynamo.Item, error) {
	slices.SortFunc(m.Decided, func(a, b Decided) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Event, b.Event), cmp.Compare(a.Verdict, b.Verdict))
	})
	slices.SortFunc(m.Moved, func(a, b Moved) int {
		return cmp.Or(cmp.Compare(max(b.By, -b.By), max(a.By, -a.By)), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Version, b.Version), cmp.Compare(a.State, b.State))
	})

	for {
		for len(m.Decided) > mostDecided {
			m.dropDecided()
		}

		for len(m.Moved) > mostMoved {
			m.dropMoved()
		}

		body, err := json.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("processes: minute %s: %w", m.Key, err)
		}

		if len(body) <= maxMinute {
			return dynamo.Item{
				kindKey:         dynamo.S(minuteKind),
				idKey:           dynamo.S(m.Key),
				bodyAttribute:   dynamo.S(string(body)),
				ExpiryAttribute: dynamo.Seconds(m.At.Add(minuteRetention)),
			}, nil
		}

		switch {
		case len(m.Moved) > 0 && len(m.Moved) >= len(m.Decided):
			m.dropMoved()
		case len(m.Decided) > 0:
			m.dropDecided()
		default:
			m.Counters = nil
		}
	}
}

func (m *Minute) dropDecided() {
	last := len(m.Decided) - 1
	m.Others += m.Decided[last].Count
	m.Decided = m.Decided[:last]
}

func (m *Minute) dropMoved() {
	last := len(m.Moved) - 1
	m.Unnoted += max(m.Moved[last].By, -m.Moved[last].By)
	m.Moved = m.Moved[:last]
}

// storeMinute stores what the process has done since the last call, once a minute and at its end. A minute that cannot be stored is
// tried again at the next heartbeat.
func (r *run) storeMinute(ctx context.Context, now time.Time, last bool) error {
	if r.self.Minute == nil {
		return nil
	}

	end := now.UTC().Truncate(time.Minute)
	if last {
		end = now.UTC().Truncate(time.Second)
	}

	if r.minute == nil && end.After(r.minuteEnd) {
		first := r.minuteEnd.IsZero() && !last
		r.minuteEnd = end

		if first {
			return nil // the minute in which the process began is not over
		}

		m := r.self.Minute()
		m.At, m.Key = end, end.Format(minuteLayout)+"#"+r.row.ID
		m.Counters, r.counted = increases(r.counted, r.row.Counters), maps.Clone(r.row.Counters)
		m.Behind = r.row.Behind
		m.Unnoted += r.late
		r.late = 0
		r.minute = &m
	}

	if r.minute == nil {
		return nil
	}

	item, err := r.minute.item()
	if err == nil {
		_, err = r.store.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &r.store.cfg.Table, Item: item})
	}

	if err == nil {
		// Counts may have passed over this minute.
		if now.Sub(r.minute.At) > countMinutes-30*time.Second {
			for _, m := range r.minute.Moved {
				r.late += max(m.By, -m.By)
			}
		}
		r.minute = nil
	}

	return err
}

// increases returns by how much the counters have increased.
func increases(from, to map[string]int64) map[string]int64 {
	by := map[string]int64{}
	for name, count := range to {
		if count > from[name] {
			by[name] = count - from[name]
		}
	}

	return by
}

// Minutes returns the minutes of all processes that ended after a time, in the order of their ends: if there are [MaxMinutes] or
// more, not all. Ends are by the processes'
// clocks, and a row is written up to half a minute later.
func (s *Store) Minutes(ctx context.Context, after time.Time) ([]Minute, error) {
	pages := dynamodb.NewQueryPaginator(s.cfg.DynamoDB, &dynamodb.QueryInput{
		TableName:                &s.cfg.Table,
		ConsistentRead:           aws.Bool(true),
		KeyConditionExpression:   ptr("#kind = :kind AND #id > :after"),
		ExpressionAttributeNames: map[string]string{"#kind": kindKey, "#id": idKey},
		ExpressionAttributeValues: dynamo.Item{
			":kind": dynamo.S(minuteKind),
			// "$" is behind "#": the minutes that end at this time are left out.
			":after": dynamo.S(after.UTC().Format(minuteLayout) + "$"),
		},
	})

	var found []Minute

	for pages.HasMorePages() && len(found) < MaxMinutes {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("processes: read the minutes: %w", err)
		}

		for _, row := range page.Items {
			m := Minute{Key: dynamo.Text(row, idKey)}
			if err := json.Unmarshal([]byte(dynamo.Text(row, bodyAttribute)), &m); err != nil {
				s.cfg.Log.Debug("a row of a minute cannot be read", "error", err)
				continue
			}
			found = append(found, m)
		}
	}

	return found, nil
}
