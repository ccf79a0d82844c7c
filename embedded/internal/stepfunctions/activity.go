package stepfunctions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"ratchet/embedded/internal/wire"
)

// activity is an activity's record; it is not changed once made.
type activity struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name"`
	Created int64  `json:"created"`
}

type tags []struct{ Key, Value string }

// refuseEncryption answers requests for keys of the customer's own.
func refuseEncryption(c *encryption) error {
	if c != nil && c.Type != "" && c.Type != "AWS_OWNED_KEY" {
		return wire.Errorf("InvalidEncryptionConfiguration", "the embedded engine supports AWS_OWNED_KEY only")
	}
	return nil
}

type encryption struct {
	Type string `json:"type"`
}

func (s *Service) createActivity(_ context.Context, in *struct {
	Name                    string
	EncryptionConfiguration *encryption
	Tags                    tags
}) (any, error) {
	if err := checkName(in.Name); err != nil {
		return nil, err
	}

	if err := refuseEncryption(in.EncryptionConfiguration); err != nil {
		return nil, err
	}

	if len(in.Tags) > 0 {
		return nil, validation("tags are not supported by the embedded engine")
	}
	s.activitiesMu.Lock()
	defer s.activitiesMu.Unlock()

	a := s.activities[in.Name]
	if a == nil {
		id, err := s.ids.next()
		if err != nil {
			return nil, err
		}

		a = &activity{ID: id, Name: in.Name, Created: time.Now().UnixMilli()}
		if err := s.commitRecord(nameKey(keyActivity, a.Name), a); err != nil {
			return nil, err
		}
		s.activities[in.Name] = a
	}

	return map[string]any{"activityArn": s.arn("activity", a.Name), "creationDate": stamp(a.Created)}, nil
}

// commitRecord stores a record as JSON.
func (s *Service) commitRecord(key []byte, record any) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	b.Set(key, text)

	if err := b.Commit(); err != nil {
		return fmt.Errorf("store a record: %w", err)
	}

	return nil
}

// activityNamed finds an activity by its ARN.
func (s *Service) activityNamed(arn string) (*activity, error) {
	name, ours, err := s.resourceName(arn, "activity")
	if err != nil {
		return nil, err
	}
	s.activitiesMu.RLock()
	defer s.activitiesMu.RUnlock()

	a := s.activities[name]
	if a == nil || !ours {
		return nil, wire.Errorf("ActivityDoesNotExist", "Activity Does Not Exist: '%s'", arn)
	}

	return a, nil
}

type activityRequest struct{ ActivityArn string }

func (s *Service) activityAnswer(a *activity) map[string]any {
	return map[string]any{"activityArn": s.arn("activity", a.Name), "name": a.Name, "creationDate": stamp(a.Created)}
}

func (s *Service) describeActivity(_ context.Context, in *activityRequest) (any, error) {
	a, err := s.activityNamed(in.ActivityArn)
	if err != nil {
		return nil, err
	}
	answer := s.activityAnswer(a)
	answer["encryptionConfiguration"] = map[string]string{"type": "AWS_OWNED_KEY"}

	return answer, nil
}

// deleteActivity forgets the activity. Tasks that are queued or started stay
// with their executions until those time out, as at AWS.
func (s *Service) deleteActivity(_ context.Context, in *activityRequest) (any, error) {
	name, ours, err := s.resourceName(in.ActivityArn, "activity")
	if err != nil {
		return nil, err
	}
	s.activitiesMu.Lock()
	defer s.activitiesMu.Unlock()

	if s.activities[name] == nil || !ours {
		return empty, nil
	}
	b := s.db.NewBatch()
	b.Delete(nameKey(keyActivity, name))

	if err := b.Commit(); err != nil {
		return nil, fmt.Errorf("delete activity %s: %w", name, err)
	}
	delete(s.activities, name)

	return empty, nil
}

type listRequest struct {
	MaxResults int
	NextToken  string
}

func (s *Service) listActivities(_ context.Context, in *listRequest) (any, error) {
	s.activitiesMu.RLock()

	all := make([]*activity, 0, len(s.activities))
	for _, a := range s.activities {
		all = append(all, a)
	}
	s.activitiesMu.RUnlock()

	page, next, err := pageOf(all, in, keyActivity, func(a *activity) (string, uint64) { return a.Name, a.ID })
	if err != nil {
		return nil, err
	}

	list := make([]any, len(page))
	for i, a := range page {
		list[i] = s.activityAnswer(a)
	}

	return struct {
		Activities []any   `json:"activities"`
		NextToken  *string `json:"nextToken,omitempty"`
	}{list, next}, nil
}

// pageOf sorts by name and cuts a page; a page starts at the item whose id the
// token holds.
func pageOf[T any](all []T, in *listRequest, kind byte, of func(T) (name string, id uint64)) (page []T, next *string, err error) {
	size, err := pageSize(in.MaxResults)
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(all, func(a, b T) int {
		x, _ := of(a)
		y, _ := of(b)
		return strings.Compare(x, y)
	})

	if in.NextToken != "" {
		at, err := readPageToken(in.NextToken, kind, 0)
		if err != nil {
			return nil, nil, err
		}

		from := slices.IndexFunc(all, func(item T) bool { _, id := of(item); return id == at })
		if from < 0 {
			return nil, nil, wire.Errorf("InvalidToken", "Invalid Token: 'the list has changed; start again'")
		}
		all = all[from:]
	}

	if len(all) > size {
		_, id := of(all[size])
		all, next = all[:size], pageToken(kind, 0, id)
	}

	return all, next, nil
}
