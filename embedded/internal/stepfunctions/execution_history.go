package stepfunctions

import (
	"context"
	"fmt"

	"ratchet/embedded/internal/stepfunctions/events"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/machines"
	"ratchet/embedded/internal/stepfunctions/pages"
	"ratchet/embedded/internal/stepfunctions/requests"
)

// historyBytes is the size of the documents after which a page of history ends, in bytes.
const historyBytes = 4 << 20

// executionHistory answers GetExecutionHistory.
func (s *Service) executionHistory(_ context.Context, in *struct {
	ExecutionArn         string
	IncludeExecutionData *bool
	MaxResults           int
	NextToken            string
	ReverseOrder         bool
}) (any, error) {
	key, m, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}

	size, err := pages.Size(in.MaxResults)
	if err != nil {
		return nil, err
	}

	st, err := s.readExecution(key)
	if err != nil {
		return nil, err
	}

	if o, err := s.runs.Origin(m.Name, st); err != nil {
		return nil, err
	} else if o.Run != nil && o.Run.Express {
		// The history of an Express execution cannot be read, also when a Map Run has started it.
		return nil, machines.WrongType()
	}

	rev, err := s.machines.Revision(m.ID, st.Revision)
	if err != nil {
		return nil, err
	}

	at := uint64(1)
	if in.ReverseOrder {
		at = uint64(st.LastEvent)
	}

	// The token names the event with which the next page begins, in either direction.
	if in.NextToken != "" {
		if at, err = pages.Read(in.NextToken, keys.History, key.ID); err != nil {
			return nil, err
		}
	}

	// An absent IncludeExecutionData means true.
	p := &historyPage{
		view: events.View{
			Program: rev.Program,
			History: history{s, key},
			Role:    rev.RoleARN,
			Region:  s.cfg.Region,
			Runs:    s.account.ARN("mapRun", m.Name) + "/",
			Version: s.account.Version(m.Name, st.Version),
			Alias:   s.account.Alias(m.Name, st.Alias),
			Data:    in.IncludeExecutionData == nil || *in.IncludeExecutionData,
		},
		size: size,
	}

	next, err := p.fill(s, key, int64(at), in.ReverseOrder)
	if err != nil {
		return nil, err
	}

	answer := struct {
		Events    []map[string]any `json:"events"`
		NextToken *string          `json:"nextToken,omitempty"`
	}{Events: p.events}
	if next > 0 {
		answer.NextToken = pages.Token(keys.History, key.ID, uint64(next))
	}

	return answer, nil
}

// historyPage collects the events of one page as GetExecutionHistory returns them.
type historyPage struct {
	view   events.View
	size   int // events on a page
	bytes  int // of the documents on the page
	events []map[string]any
}

// fill reads events from the one with id at onwards. It returns the id of the first that
// did not fit, or 0.
func (p *historyPage) fill(s *Service, key keys.Execution, at int64, reverse bool) (next int64, err error) {
	// Not nil, so that the answer has [] and not null.
	p.events = []map[string]any{}

	lo, hi := key.History(0), key.History(at+1)
	if !reverse {
		// A turn is stored under the ID of its first event, so the turn that holds event at is the newest
		// turn that begins at or before at.
		// Every event's ID is smaller than 1<<62.
		lo, hi = key.History(at), key.History(1<<62)

		err = s.db.Scan(key.History(0), key.History(at+1), true, func(k, _ []byte) (bool, error) {
			lo = append([]byte(nil), k...)
			return false, nil
		})
		if err != nil {
			return 0, fmt.Errorf("read history: %w", err)
		}
	}

	err = s.db.Scan(lo, hi, reverse, func(k, v []byte) (bool, error) {
		var turn []execution.Event

		err := execution.ReadEvents(int64(keys.Number(k)), v, func(e *execution.Event) bool {
			// ReadEvents reuses its event and calls in ascending order, so the
			// events are copied and turned around below.
			if reverse && e.ID <= at || !reverse && e.ID >= at {
				turn = append(turn, *e)
			}

			return true
		})
		if err != nil {
			return false, err
		}

		for i := range turn {
			e := &turn[i]
			if reverse {
				e = &turn[len(turn)-1-i]
			}

			// Checked before the event is added: a page has at least one
			// event, however long its document is.
			if len(p.events) == p.size || p.bytes > historyBytes {
				next = e.ID
				return false, nil
			}

			if err := p.add(e); err != nil {
				return false, err
			}
		}

		return true, nil
	})

	return next, err
}

// add adds one event to the page.
func (p *historyPage) add(e *execution.Event) error {
	event, bytes, err := p.view.Show(e)
	if err != nil {
		return err
	}

	event["timestamp"] = requests.Stamp(e.At)
	p.events = append(p.events, event)
	p.bytes += bytes

	return nil
}
