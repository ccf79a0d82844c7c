package stepfunctions

import (
	"context"
	"fmt"

	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/pages"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

// activity is the record of an activity. It is immutable: a change of its tags replaces it.
type activity struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name"`
	Created int64  `json:"created"`
	Tags    tags   `json:"tags,omitempty"`
	// Encryption is nil for the key that AWS owns.
	Encryption *encryption `json:"encryption,omitempty"`
}

func (s *Service) createActivity(_ context.Context, in *struct {
	Name                    string
	EncryptionConfiguration *encryptionIn
	Tags                    tags
}) (any, error) {
	if err := arns.CheckName(in.Name); err != nil {
		return nil, err
	}

	encrypted, err := in.EncryptionConfiguration.stored()
	if err != nil {
		return nil, err
	}

	if err := in.Tags.check(); err != nil {
		return nil, err
	}

	s.activitiesMu.Lock()
	defer s.activitiesMu.Unlock()

	// Creating an activity that exists returns the existing one. Its tags stay as they are.
	a := s.activities[in.Name]
	if a != nil && encrypted != nil && a.Encryption.described() != *encrypted {
		// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateActivity.html
		return nil, wire.Errorf("ActivityAlreadyExists", "Activity already exists. EncryptionConfiguration may not be updated.")
	}

	if a == nil {
		id, err := s.ids.Next()
		if err != nil {
			return nil, err
		}

		a = &activity{ID: id, Name: in.Name, Created: s.cfg.Clock.Now().UnixMilli(), Tags: tags{}.with(in.Tags), Encryption: encrypted}
		if err := s.commitRecord(keys.Named(keys.Activity, a.Name), a); err != nil {
			return nil, err
		}

		s.activities[in.Name] = a
	}

	return map[string]any{"activityArn": s.account.ARN("activity", a.Name), "creationDate": requests.Stamp(a.Created)}, nil
}

// activityNamed returns the activity with an ARN.
func (s *Service) activityNamed(arn string) (*activity, error) {
	name, ours, err := s.account.Name(arn, "activity")
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
	return map[string]any{
		"activityArn":  s.account.ARN("activity", a.Name),
		"name":         a.Name,
		"creationDate": requests.Stamp(a.Created),
	}
}

func (s *Service) describeActivity(_ context.Context, in *activityRequest) (any, error) {
	a, err := s.activityNamed(in.ActivityArn)
	if err != nil {
		return nil, err
	}

	answer := s.activityAnswer(a)
	answer["encryptionConfiguration"] = a.Encryption.described()

	return answer, nil
}

// deleteActivity removes the activity. Its queued and started tasks stay with their
// executions until they time out, as on AWS.
func (s *Service) deleteActivity(_ context.Context, in *activityRequest) (any, error) {
	name, ours, err := s.account.Name(in.ActivityArn, "activity")
	if err != nil {
		return nil, err
	}

	s.activitiesMu.Lock()
	defer s.activitiesMu.Unlock()

	// DeleteActivity has no error for an activity that does not exist.
	if s.activities[name] == nil || !ours {
		return requests.Empty, nil
	}

	b := s.db.NewBatch()
	b.Delete(keys.Named(keys.Activity, name))

	if err := b.Commit(); err != nil {
		return nil, fmt.Errorf("delete activity %s: %w", name, err)
	}

	// The queue in memory stays: tasks that are scheduled still wait in it until they time out.
	delete(s.activities, name)

	return requests.Empty, nil
}

func (s *Service) listActivities(_ context.Context, in *pages.Request) (any, error) {
	s.activitiesMu.RLock()

	// A slice of its own, because pages.Of sorts and cuts its argument in place.
	all := make([]*activity, 0, len(s.activities))
	for _, a := range s.activities {
		all = append(all, a)
	}
	s.activitiesMu.RUnlock()

	page, next, err := pages.Of(all, in, keys.Activity, func(a *activity) string { return a.Name })
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
