package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"ratchet/embedded/internal/clock"
	"ratchet/embedded/internal/stepfunctions/arns"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/pages"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/stepfunctions/settings"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// List has the activities of a store.
type List struct {
	db      *store.DB
	account arns.Account
	clock   *clock.Clock
	ids     *keys.Sequence

	// mu guards activities.
	mu         sync.RWMutex
	activities map[string]*activity
}

// Open reads the activities of a store.
func Open(db *store.DB, account arns.Account, clock *clock.Clock, ids *keys.Sequence) (*List, error) {
	l := &List{db: db, account: account, clock: clock, ids: ids, activities: map[string]*activity{}}

	err := keys.Each(db, keys.Activity, func(_, v []byte) (bool, error) {
		a := &activity{}
		err := json.Unmarshal(v, a)
		l.activities[a.Name] = a

		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("read activities: %w", err)
	}

	return l, nil
}

// Operations are the operations that concern activities only.
func (l *List) Operations() map[string]wire.Operation {
	return map[string]wire.Operation{
		"CreateActivity":   requests.Decoded(l.create),
		"DescribeActivity": requests.Decoded(l.describe),
		"ListActivities":   requests.Decoded(l.list),
		"DeleteActivity":   requests.Decoded(l.remove),
	}
}

// activity is the record of an activity. It is immutable: a change of its tags replaces it.
type activity struct {
	ID      uint64        `json:"id"`
	Name    string        `json:"name"`
	Created int64         `json:"created"`
	Tags    settings.Tags `json:"tags,omitempty"`
	// Encryption is nil for the key that AWS owns.
	Encryption *settings.Encryption `json:"encryption,omitempty"`
}

func (l *List) create(_ context.Context, in *struct {
	Name                    string
	EncryptionConfiguration *settings.EncryptionRequest
	Tags                    settings.Tags
}) (any, error) {
	if err := arns.CheckName(in.Name); err != nil {
		return nil, err
	}

	encrypted, err := in.EncryptionConfiguration.Stored()
	if err != nil {
		return nil, err
	}

	if err := in.Tags.Check(); err != nil {
		return nil, err
	}

	l.mu.Lock()
	defer l.mu.Unlock()

	// Creating an activity that exists returns the existing one. Its tags stay as they are.
	a := l.activities[in.Name]
	if a != nil && encrypted != nil && a.Encryption.Described() != *encrypted {
		// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateActivity.html
		return nil, wire.Errorf("ActivityAlreadyExists", "Activity already exists. EncryptionConfiguration may not be updated.")
	}

	if a == nil {
		id, err := l.ids.Next()
		if err != nil {
			return nil, err
		}

		a = &activity{ID: id, Name: in.Name, Created: l.clock.Now().UnixMilli(), Tags: settings.Tags{}.With(in.Tags), Encryption: encrypted}
		if err := keys.Store(l.db, keys.Named(keys.Activity, a.Name), a); err != nil {
			return nil, err
		}

		l.activities[in.Name] = a
	}

	return map[string]any{"activityArn": l.account.ARN("activity", a.Name), "creationDate": requests.Stamp(a.Created)}, nil
}

// named returns the activity with an ARN.
func (l *List) named(arn string) (*activity, error) {
	name, ours, err := l.account.Name(arn, "activity")
	if err != nil {
		return nil, err
	}

	l.mu.RLock()
	defer l.mu.RUnlock()

	a := l.activities[name]
	if a == nil || !ours {
		return nil, wire.Errorf("ActivityDoesNotExist", "Activity Does Not Exist: '%s'", arn)
	}

	return a, nil
}

type request struct{ ActivityArn string }

func (l *List) answer(a *activity) map[string]any {
	return map[string]any{
		"activityArn":  l.account.ARN("activity", a.Name),
		"name":         a.Name,
		"creationDate": requests.Stamp(a.Created),
	}
}

func (l *List) describe(_ context.Context, in *request) (any, error) {
	a, err := l.named(in.ActivityArn)
	if err != nil {
		return nil, err
	}

	answer := l.answer(a)
	answer["encryptionConfiguration"] = a.Encryption.Described()

	return answer, nil
}

// remove removes the activity. Its queued and started tasks stay with their
// executions until they time out, as on AWS.
func (l *List) remove(_ context.Context, in *request) (any, error) {
	name, ours, err := l.account.Name(in.ActivityArn, "activity")
	if err != nil {
		return nil, err
	}

	l.mu.Lock()
	defer l.mu.Unlock()

	// DeleteActivity has no error for an activity that does not exist.
	if l.activities[name] == nil || !ours {
		return requests.Empty, nil
	}

	b := l.db.NewBatch()
	b.Delete(keys.Named(keys.Activity, name))

	if err := b.Commit(); err != nil {
		return nil, fmt.Errorf("delete activity %s: %w", name, err)
	}

	// The queue in memory stays: tasks that are scheduled still wait in it until they time out.
	delete(l.activities, name)

	return requests.Empty, nil
}

func (l *List) list(_ context.Context, in *pages.Request) (any, error) {
	l.mu.RLock()

	// A slice of its own, because pages.Of sorts and cuts its argument in place.
	all := slices.Collect(maps.Values(l.activities))
	l.mu.RUnlock()

	page, next, err := pages.Of(all, in, keys.Activity, func(a *activity) string { return a.Name })
	if err != nil {
		return nil, err
	}

	list := make([]any, len(page))
	for i, a := range page {
		list[i] = l.answer(a)
	}

	return struct {
		Activities []any   `json:"activities"`
		NextToken  *string `json:"nextToken,omitempty"`
	}{list, next}, nil
}

// Check fails if there is no activity with the ARN.
func (l *List) Check(arn string) error {
	_, err := l.named(arn)
	return err
}

// Exists reports whether there is an activity with the ARN.
func (l *List) Exists(arn string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()

	// The name is the ARN's last part. The prefix refuses ARNs of other accounts and Regions.
	_, ok := l.activities[arn[strings.LastIndexByte(arn, ':')+1:]]

	return ok && strings.HasPrefix(arn, l.account.ARN("activity", ""))
}

// Tags returns the tags of an activity. found is false if there is no activity with the name.
func (l *List) Tags(name string) (t settings.Tags, found bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()

	a := l.activities[name]
	if a == nil {
		return nil, false
	}

	return a.Tags, true
}

// ChangeTags stores the changed tags of an activity. found is false if there is no activity with the name.
func (l *List) ChangeTags(name string, change func(settings.Tags) settings.Tags) (found bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	old := l.activities[name]
	if old == nil {
		return false, nil
	}

	a := *old
	a.Tags = change(old.Tags)

	if err := a.Tags.CheckCount(); err != nil {
		return true, err
	}

	if err := keys.Store(l.db, keys.Named(keys.Activity, name), &a); err != nil {
		return true, err
	}

	l.activities[name] = &a

	return true, nil
}
