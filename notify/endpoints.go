package notify

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/notify/webhooks"
)

// Errors of [Endpoints].
var (
	ErrNotFound = errors.New("not found")
	// ErrExists means that another endpoint has the id.
	ErrExists = errors.New("there is an endpoint with this id")
	// ErrDisabled means that the endpoint has to be enabled first.
	ErrDisabled = errors.New("the endpoint is disabled: enable it first")
	// ErrConfigured means that the endpoint comes from the configuration. Only its status can be
	// changed here.
	ErrConfigured = errors.New("the endpoint comes from the configuration: change it there")
	// ErrTooMany means that the table and the configuration have maxEndpoints endpoints already.
	ErrTooMany = errors.New("there are too many endpoints")
	// ErrContended means that other callers changed the endpoint at the same time.
	ErrContended = errors.New("the endpoint is being changed by others; try again")
)

const (
	// maxEndpoints bounds the endpoints of a table. Callers that create endpoints at the same
	// moment may exceed it by a few.
	maxEndpoints = 1000
	// refreshEvery is how old the settings of endpoints may be that a worker uses.
	refreshEvery = 10 * time.Second

	// RotationWindow is the default time for which the former secret still signs after a rotation.
	// maxRotationWindow is the longest time.
	RotationWindow    = 24 * time.Hour
	maxRotationWindow = 30 * 24 * time.Hour

	changeRounds = 5
	// writeAttempts is how often one write is sent until DynamoDB has decided.
	writeAttempts = 8
)

var idRule = regexp.MustCompile(`^([A-Za-z0-9_-]{1,20}:)?[A-Za-z0-9_-]{1,64}$`)

// checkID returns ErrInvalid if the text cannot be the id of an endpoint.
func checkID(id string) error {
	if !idRule.MatchString(id) {
		return fmt.Errorf("%w: id %q: 1 to 64 of A-Z a-z 0-9 _ -", ErrInvalid, id)
	}

	return nil
}

// dynamoAPI has the methods of *dynamodb.Client that this package calls.
type dynamoAPI interface {
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// EndpointsConfig configures [Endpoints]. DynamoDB and Table are required.
type EndpointsConfig struct {
	DynamoDB dynamoAPI
	Table    string
	// Configured are endpoints that the configuration describes. Their settings are not in
	// the table. Default: none.
	Configured []Endpoint
	// CheckDestination returns an error if the endpoint must not be stored. Default: every endpoint
	// may be stored.
	CheckDestination func(Endpoint) error
}

// Endpoints stores and lists the endpoints of a table and of the configuration. It is safe for
// concurrent use.
type Endpoints struct {
	cfg EndpointsConfig

	mu     sync.Mutex // guards the fields below
	known  []Endpoint
	beats  map[string]int64 // of workers, by their ids
	readAt time.Time
}

// NewEndpoints returns Endpoints. The error names every field that breaks a rule.
func NewEndpoints(cfg EndpointsConfig) (*Endpoints, error) {
	var faults []error
	if cfg.DynamoDB == nil {
		faults = append(faults, fmt.Errorf("%w: EndpointsConfig.DynamoDB: must be set", ErrInvalid))
	}

	if cfg.Table == "" {
		faults = append(faults, fmt.Errorf("%w: EndpointsConfig.Table: must be set", ErrInvalid))
	}

	if cfg.CheckDestination == nil {
		cfg.CheckDestination = func(Endpoint) error { return nil }
	}

	cfg.Configured = slices.Clone(cfg.Configured)
	for i, e := range cfg.Configured {
		e.Settings, e.Configured = e.withDefaults(), true
		if err := errors.Join(checkID(e.ID), e.check()); err != nil {
			faults = append(faults, fmt.Errorf("EndpointsConfig.Configured[%d]: %w", i, err))
		}
		cfg.Configured[i] = e
	}

	return &Endpoints{cfg: cfg}, errors.Join(faults...)
}

// List returns all endpoints by their ids, the configured endpoints first. It reads the whole table,
// which has at most maxEndpoints items.
func (s *Endpoints) List(ctx context.Context) ([]Endpoint, error) {
	all, _, err := s.read(ctx)
	return all, err
}

// read returns all endpoints, and the beats of the workers by the workers' ids.
func (s *Endpoints) read(ctx context.Context) (all []Endpoint, beats map[string]int64, err error) {
	stored := map[string]Endpoint{}
	beats = map[string]int64{}
	pages := dynamodb.NewScanPaginator(s.cfg.DynamoDB, &dynamodb.ScanInput{TableName: &s.cfg.Table, ConsistentRead: aws.Bool(true)})

	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("list endpoints: %w", err)
		}

		for _, item := range page.Items {
			// The workers' items are in the same table, so one scan finds both.
			if isWorker(item) {
				beats[dynamo.Text(item, endpointKey)] = dynamo.Number(item, workerBeat)
				continue
			}

			e, err := decodeEndpoint(item)
			if err != nil {
				return nil, nil, err
			}
			stored[e.ID] = e
		}
	}

	for _, e := range s.cfg.Configured {
		all = append(all, e.withStatusOf(stored[e.ID]))
		// A configured endpoint replaces an endpoint that was stored under the same id before.
		delete(stored, e.ID)
	}

	first := len(all)
	for _, e := range stored {
		if e.Destination != "" { // without a destination it is the status of a formerly configured endpoint
			all = append(all, e)
		}
	}
	slices.SortFunc(all[first:], func(a, b Endpoint) int { return cmp.Compare(a.ID, b.ID) })

	return all, beats, nil
}

// withStatusOf returns a configured endpoint with the status that its item says.
func (e Endpoint) withStatusOf(item Endpoint) Endpoint {
	e.Status, e.Reason, e.DisabledAt, e.FailingSince = cmp.Or(item.Status, Active), item.Reason, item.DisabledAt, item.FailingSince
	e.OpenUntil, e.opened = item.OpenUntil, item.opened

	return e
}

// recent returns the endpoints as they were at most refreshEvery ago.
func (s *Endpoints) recent(ctx context.Context) ([]Endpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	// Under the lock, so that callers at the same moment share one scan.
	if now := time.Now(); s.readAt.IsZero() || now.Sub(s.readAt) >= refreshEvery {
		all, beats, err := s.read(ctx)
		if err != nil {
			return nil, err
		}
		s.known, s.beats, s.readAt = all, beats, now
	}

	return s.known, nil
}

// forget makes the next call of recent read the table.
func (s *Endpoints) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.readAt = time.Time{}
}

// Get returns an endpoint, or ErrNotFound.
func (s *Endpoints) Get(ctx context.Context, id string) (Endpoint, error) {
	out, err := s.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &s.cfg.Table,
		Key:            endpointItemKey(id),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return Endpoint{}, fmt.Errorf("get endpoint %s: %w", id, err)
	}

	e, err := decodeEndpoint(out.Item)
	if err != nil {
		return Endpoint{}, err
	}

	if configured, ok := s.configured(id); ok {
		return configured.withStatusOf(e), nil
	}

	if e.Destination == "" {
		return Endpoint{}, fmt.Errorf("endpoint %s: %w", id, ErrNotFound)
	}

	return e, nil
}

func (s *Endpoints) configured(id string) (Endpoint, bool) {
	i := slices.IndexFunc(s.cfg.Configured, func(e Endpoint) bool { return e.ID == id })
	if i < 0 {
		return Endpoint{}, false
	}

	return s.cfg.Configured[i], true
}

// serviceTime returns the time of the service, which stamps the records of the stream. It asks with the read
// of an endpoint.
func (s *Endpoints) serviceTime(ctx context.Context, id string) (time.Time, error) {
	clock := &dynamo.Clock{}

	err := clock.Learn(ctx, func(ctx context.Context) error {
		began := clock.LocalNow()
		out, err := s.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.cfg.Table, Key: endpointItemKey(id)})
		if err == nil {
			clock.Hear(began, out.ResultMetadata, nil)
		}

		return err
	})

	return clock.Now().UTC(), err
}

// Create stores a new endpoint and returns it with its secret: key, or a new secret if key is nil.
// It returns ErrExists if the id is taken.
func (s *Endpoints) Create(ctx context.Context, id string, settings Settings, key webhooks.Secret) (Endpoint, error) {
	if key == nil {
		key = webhooks.NewSecret()
	}

	now, err := s.serviceTime(ctx, id)
	if err != nil {
		return Endpoint{}, fmt.Errorf("create endpoint %s: %w", id, err)
	}

	e := Endpoint{
		ID:        id,
		Settings:  settings.withDefaults(),
		Status:    Active,
		CreatedAt: now,
		UpdatedAt: now,
		Revision:  1,
		Secrets:   []Secret{{Key: key}},
	}

	if err := s.check(e); err != nil {
		return Endpoint{}, err
	}

	// Configured endpoints are not in the table, so the condition of the write does not compare
	// with them.
	if _, taken := s.configured(id); taken {
		return Endpoint{}, fmt.Errorf("create endpoint %s: %w", id, ErrExists)
	}

	all, err := s.List(ctx)
	switch {
	case err != nil:
		return Endpoint{}, err
	case len(all) >= maxEndpoints:
		return Endpoint{}, fmt.Errorf("create endpoint %s: %w: at most %d", id, ErrTooMany, maxEndpoints)
	}

	item, err := encodeEndpoint(e)
	if err != nil {
		return Endpoint{}, err
	}

	_, err = s.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           &s.cfg.Table,
		Item:                                item,
		ConditionExpression:                 aws.String("attribute_not_exists(" + endpointSettings + ")"),
		ReturnValuesOnConditionCheckFailure: "ALL_OLD",
	})
	if old, failed := dynamo.FailedCondition(err); failed {
		// If the stored item has this secret and these settings, an earlier try of this call has
		// written it.
		found, _ := decodeEndpoint(old)
		if len(found.Secrets) == 0 || !slices.Equal(found.Secrets[0].Key, key) || dynamo.Text(old, endpointSettings) != dynamo.Text(item, endpointSettings) {
			return Endpoint{}, fmt.Errorf("create endpoint %s: %w", id, ErrExists)
		}
		e, err = found, nil
	}

	if err != nil {
		return Endpoint{}, fmt.Errorf("create endpoint %s: %w", id, err)
	}
	s.forget()

	return e, nil
}

func (s *Endpoints) check(e Endpoint) error {
	if err := errors.Join(checkID(e.ID), e.Settings.check()); err != nil {
		return err
	}

	for _, secret := range e.Secrets {
		if err := secret.Key.Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}

	return s.cfg.CheckDestination(e)
}

// Change applies fn to the settings of an endpoint. fn may be called several times.
func (s *Endpoints) Change(ctx context.Context, id string, fn func(*Settings) error) (Endpoint, error) {
	return s.edit(ctx, id, func(e *Endpoint) error {
		if err := fn(&e.Settings); err != nil {
			return err
		}
		e.Settings = e.withDefaults()

		return nil
	})
}

// RotateSecret makes key the newest secret, or a new secret if key is nil. The former secret also
// signs until window is over, at most 30 days. The returned endpoint has the secrets.
func (s *Endpoints) RotateSecret(ctx context.Context, id string, key webhooks.Secret, window time.Duration) (Endpoint, error) {
	if window < 0 || window > maxRotationWindow {
		return Endpoint{}, fmt.Errorf("%w: window %s: 0 to %s", ErrInvalid, window, maxRotationWindow)
	}

	if key == nil {
		key = webhooks.NewSecret()
	}

	var until time.Time
	if window > 0 {
		until = time.Now().Add(window)
	}

	return s.edit(ctx, id, func(e *Endpoint) error {
		// A second rotation to the same secret would drop the former one.
		if len(e.Secrets) == 0 || !slices.Equal(e.Secrets[0].Key, key) {
			e.Secrets = e.rotated(key, until)
		}

		return nil
	})
}

// edit changes settings and secrets, on condition that no other caller has changed them since they
// were read.
func (s *Endpoints) edit(ctx context.Context, id string, fn func(*Endpoint) error) (Endpoint, error) {
	if _, fixed := s.configured(id); fixed {
		return Endpoint{}, fmt.Errorf("change endpoint %s: %w", id, ErrConfigured)
	}

	call := rand.Text()

	for range changeRounds {
		e, err := s.Get(ctx, id)
		if err != nil {
			return Endpoint{}, err
		}

		// fn gets the endpoint as it was read in this round, so no other caller's change is lost.
		if err := fn(&e); err != nil {
			return Endpoint{}, err
		}

		if err := s.check(e); err != nil {
			return Endpoint{}, err
		}

		settings, headers, err := encodeSettings(e.Settings)
		if err != nil {
			return Endpoint{}, err
		}

		update := dynamo.NewUpdate(s.cfg.Table, endpointItemKey(id)).
			// The status is not part of the revision: workers may disable the endpoint during an
			// edit.
			IfEquals(endpointRevision, dynamo.N(e.Revision)).
			SetValue(endpointSettings, settings).
			SetValue(endpointHeaders, headers).
			SetValue(endpointSecrets, encodeSecrets(e.Secrets)).
			SetValue(endpointUpdated, dynamo.Millis(time.Now())).
			SetValue(endpointRevision, dynamo.N(e.Revision+1)).
			// If the answer is lost, the call recognizes its own edit: fn must not see it.
			SetValue(endpointCall, dynamo.S(call))

		var item dynamo.Item
		old, refused, err := dynamo.UntilDecided(ctx, writeAttempts, func() error {
			out, err := s.cfg.DynamoDB.UpdateItem(ctx, update.Input(), dynamo.WithoutRetries)
			if err == nil {
				item = out.Attributes
			}

			return err
		})

		switch {
		case err != nil:
			return Endpoint{}, fmt.Errorf("change endpoint %s: %w", id, err)
		case refused && dynamo.Text(old, endpointCall) != call:
			continue
		case refused:
			item = old
		}
		s.forget()

		return decodeEndpoint(item)
	}

	return Endpoint{}, fmt.Errorf("change endpoint %s: %w", id, ErrContended)
}

// update sends an update, and reports whether its condition held.
func (s *Endpoints) update(ctx context.Context, u *dynamo.Update) (Endpoint, bool, error) {
	out, err := s.cfg.DynamoDB.UpdateItem(ctx, u.Input())
	if _, failed := dynamo.FailedCondition(err); failed {
		return Endpoint{}, false, nil
	}

	if err != nil {
		return Endpoint{}, false, fmt.Errorf("change an endpoint: %w", err)
	}
	s.forget()

	e, err := decodeEndpoint(out.Attributes)

	return e, true, err
}

// Remove removes an endpoint. Its PENDING deliveries are not sent any more.
func (s *Endpoints) Remove(ctx context.Context, id string) error {
	if _, fixed := s.configured(id); fixed {
		return fmt.Errorf("remove endpoint %s: %w", id, ErrConfigured)
	}

	attempts := dynamo.Attempts{Most: writeAttempts}
	for {
		// The item of a configured endpoint has no settings, so this condition keeps it.
		_, err := s.cfg.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName:           &s.cfg.Table,
			Key:                 endpointItemKey(id),
			ConditionExpression: aws.String("attribute_exists(" + endpointSettings + ")"),
		}, dynamo.WithoutRetries)
		_, missing := dynamo.FailedCondition(err)

		switch {
		// An attempt before may have removed it.
		case err == nil, missing && attempts.Unanswered():
			s.forget()
			return nil
		case missing:
			return fmt.Errorf("remove endpoint %s: %w", id, ErrNotFound)
		}

		if err := attempts.Failed(ctx, err); err != nil {
			return fmt.Errorf("remove endpoint %s: %w", id, err)
		}
	}
}
