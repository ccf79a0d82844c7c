package notify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// view is what one read of the table of endpoints has shown.
type view struct {
	all    []Endpoint
	byID   map[string]Endpoint
	former []former
	claims map[string]time.Time // until when configured endpoints are claimed
	beats  map[string]int64     // of workers, by their ids
	readAt time.Time            // before the read
}

// List returns all endpoints by their ids, the configured endpoints first, also those that are Unreadable. It
// reads the whole table, which has at most maxEndpoints endpoints with those that were removed, and their counts.
func (s *Endpoints) List(ctx context.Context) ([]Endpoint, error) {
	v, err := s.read(ctx)
	return v.all, err
}

// read reads the table.
func (s *Endpoints) read(ctx context.Context) (view, error) {
	v := view{byID: map[string]Endpoint{}, claims: map[string]time.Time{}, beats: map[string]int64{}, readAt: time.Now()}
	stored := map[string]Endpoint{}
	pages := dynamodb.NewScanPaginator(s.cfg.DynamoDB, &dynamodb.ScanInput{TableName: &s.cfg.Table, ConsistentRead: aws.Bool(true)})

	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, s.clock.Listen)
		if err != nil {
			return view{}, fmt.Errorf("list endpoints: %w", err)
		}

		for _, item := range page.Items {
			// The workers' items are in the same table, so one scan finds both.
			if isWorker(item) {
				v.beats[dynamo.Text(item, endpointKey)] = dynamo.Number(item, workerBeat)
				continue
			}

			if isShare(item) {
				continue
			}

			e, err := decodeEndpoint(item)
			if err != nil {
				// One endpoint that cannot be read takes nothing from the others.
				e = Endpoint{ID: e.ID, Status: Unreadable, Reason: err.Error(), CreatedAt: e.CreatedAt, generation: e.generation}
			}
			stored[e.ID] = e

			if _, fixed := s.configured(e.ID); fixed {
				v.claims[e.ID] = dynamo.Time(item, endpointClaimed)
			} else if f, ended := formerOf(item, s.clock.Now()); ended {
				v.former = append(v.former, f)
			}
		}
	}

	for _, e := range s.cfg.Configured {
		v.all = append(v.all, e.withStatusOf(stored[e.ID]))
		// A configured endpoint replaces an endpoint that was stored under the same id before.
		delete(stored, e.ID)
	}

	first := len(v.all)
	for _, e := range stored {
		if e.Destination != "" || e.Status == Unreadable { // without a destination it was removed, or is of another configuration
			v.all = append(v.all, e)
		}
	}
	slices.SortFunc(v.all[first:], func(a, b Endpoint) int { return cmp.Compare(a.ID, b.ID) })

	for _, e := range v.all {
		v.byID[e.ID] = e
	}

	return v, nil
}

// withStatusOf returns a configured endpoint with the status that its item says.
func (e Endpoint) withStatusOf(item Endpoint) Endpoint {
	e.Status, e.Reason, e.DisabledAt = cmp.Or(item.Status, Active), item.Reason, item.DisabledAt
	e.FailingSince, e.health = item.FailingSince, item.health
	e.OpenUntil, e.opened = item.OpenUntil, item.opened

	return e
}

// recent returns the endpoints as they were at most refreshEvery ago.
func (s *Endpoints) recent(ctx context.Context) (view, error) {
	// The lock is held by a call that may take long, so the wait for it ends with ctx.
	if err := s.mu.LockContext(ctx); err != nil {
		return view{}, err
	}
	defer s.mu.Unlock()

	// Under the lock, so that callers at the same moment share one scan.
	if now := time.Now(); s.known.isOld(now) {
		call, cancel := context.WithTimeout(ctx, maxStoreTimeout)
		defer cancel()

		v, err := s.read(call)
		if err != nil {
			return view{}, err
		}
		s.known = v
	}

	return s.known, nil
}

func (v view) isOld(now time.Time) bool {
	// By both clocks: the monotonic one may stop while the machine sleeps, and the other may be set.
	return v.readAt.IsZero() || now.Sub(v.readAt) >= refreshEvery || now.Round(0).Sub(v.readAt.Round(0)).Abs() >= refreshEvery
}

// present returns an endpoint as it was at most refreshEvery ago. It reports false if there was none.
func (s *Endpoints) present(ctx context.Context, id string) (e Endpoint, found bool, err error) {
	v, err := s.recent(ctx)
	if err != nil {
		return Endpoint{}, false, err
	}
	e, found = v.byID[id]

	return e, found, nil
}

// forget makes the next call of recent read the table.
func (s *Endpoints) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.known.readAt = time.Time{}
}
