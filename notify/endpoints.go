package notify

import (
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
	"ratchet/internal/worker"
	"ratchet/notify/webhooks"
	"ratchet/once/txn"
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
	// ErrTooMany means that the endpoints of the installation are used up, and ErrShare that the tenant's are. Those
	// that were removed within the last 24 hours count.
	ErrTooMany = fmt.Errorf("the installation has %d endpoints, with those removed within %v", maxEndpoints, formerFor)
	ErrShare   = fmt.Errorf("the tenant has %d of the installation's %d endpoints, with those removed within %v, which is its share", maxTenantEndpoints, maxEndpoints, formerFor)
	// ErrContended means that other callers changed the endpoint at the same time.
	ErrContended = errors.New("the endpoint is being changed by others; try again")
)

const (
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

var idRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9_-]{1,20}:)?[A-Za-z0-9_-]{1,64}$`) })

// checkID returns ErrInvalid if the text cannot be the id of an endpoint.
func checkID(id string) error {
	if !idRule().MatchString(id) {
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
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
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
	cfg    EndpointsConfig
	clock  *dynamo.Clock
	writer *txn.Writer

	mu    worker.CallLock // guards known
	known view
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
		e.Settings, e.Configured, e.generation = e.withDefaults(), true, configuredGeneration
		if err := errors.Join(checkID(e.ID), e.check()); err != nil {
			faults = append(faults, fmt.Errorf("EndpointsConfig.Configured[%d]: %w", i, err))
		}
		cfg.Configured[i] = e
	}

	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}

	clock := &dynamo.Clock{}

	writer, err := txn.New(txn.Config{DynamoDB: cfg.DynamoDB, Clock: clock})
	if err != nil {
		return nil, err
	}

	return &Endpoints{cfg: cfg, clock: clock, writer: writer, mu: worker.NewCallLock()}, nil
}

// Get returns an endpoint, or ErrNotFound.
func (s *Endpoints) Get(ctx context.Context, id string) (Endpoint, error) {
	e, err := s.receiver(ctx, id)
	if err == nil && e.Destination == "" {
		return Endpoint{}, fmt.Errorf("endpoint %s: %w", id, ErrNotFound)
	}

	return e, err
}

// receiver is Get that also returns an endpoint of another worker's configuration, without its
// settings.
func (s *Endpoints) receiver(ctx context.Context, id string) (Endpoint, error) {
	item, err := s.item(ctx, id)
	if err != nil {
		return Endpoint{}, err
	}

	e, err := decodeEndpoint(item)
	if err != nil {
		return Endpoint{}, err
	}

	configured, ok := s.configured(id)
	switch {
	case ok:
		return configured.withStatusOf(e), nil
	case e.Destination == "" && !dynamo.Time(item, endpointClaimed).After(s.clock.Now()):
		return Endpoint{}, fmt.Errorf("endpoint %s: %w", id, ErrNotFound)
	case e.Destination == "":
		e.generation = configuredGeneration
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

// Create stores a new endpoint and returns it with its secret: key, or a new secret if key is nil.
// It returns ErrExists if the id is taken, and ErrShare or ErrTooMany. It reads no other endpoint.
func (s *Endpoints) Create(ctx context.Context, id string, settings Settings, key webhooks.Secret) (Endpoint, error) {
	if key == nil {
		key = webhooks.NewSecret()
	}

	e := Endpoint{
		ID:       id,
		Settings: settings.withDefaults(),
		Status:   Active,
		Revision: 1,
		Secrets:  []Secret{{Key: key}},

		generation: rand.Text(),
	}

	if err := s.check(e); err != nil {
		return Endpoint{}, err
	}

	// Configured endpoints are not in the table, so the condition of the write does not compare
	// with them.
	if _, taken := s.configured(id); taken {
		return Endpoint{}, fmt.Errorf("create endpoint %s: %w", id, ErrExists)
	}

	return s.create(ctx, e)
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

	return s.edit(ctx, id, func(e *Endpoint) error {
		var until time.Time
		if window > 0 {
			until = s.clock.Now().Add(window) // edit has read the endpoint, so the clock has heard
		}

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

		before := e
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
			// An endpoint that was created again begins at revision 1, too.
			IfEquals(endpointGeneration, dynamo.S(e.generation)).
			SetValue(endpointSettings, settings).
			SetValue(endpointHeaders, headers).
			SetValue(endpointSecrets, encodeSecrets(e.Secrets)).
			SetValue(endpointUpdated, dynamo.Millis(s.clock.Now())).
			SetValue(endpointRevision, dynamo.N(e.Revision+1)).
			// If the answer is lost, the call recognizes its own edit: fn must not see it.
			SetValue(endpointCall, dynamo.S(call))
		if !e.sendsLike(before) {
			removeHealth(update) // it says how the former destination answered
		}

		var item dynamo.Item
		old, refused, err := dynamo.UntilDecided(ctx, writeAttempts, func() error {
			out, err := s.cfg.DynamoDB.UpdateItem(ctx, update.Input(), dynamo.WithoutRetries, s.clock.Listen)
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

// update sends an update of an endpoint's status, and reports whether its condition held. The update
// has a name of its own, so that the call recognizes it after a lost answer.
func (s *Endpoints) update(ctx context.Context, u *dynamo.Update) (Endpoint, bool, error) {
	call := rand.Text()
	u.SetValue(endpointStatusCall, dynamo.S(call))

	var item dynamo.Item
	old, refused, err := dynamo.UntilDecided(ctx, writeAttempts, func() error {
		out, err := s.cfg.DynamoDB.UpdateItem(ctx, u.Input(), dynamo.WithoutRetries, s.clock.Listen)
		if err == nil {
			item = out.Attributes
		}

		return err
	})

	switch {
	case err != nil:
		return Endpoint{}, false, fmt.Errorf("change an endpoint: %w", err)
	case refused && dynamo.Text(old, endpointStatusCall) != call:
		return Endpoint{}, false, nil
	case refused:
		item = old
	}
	s.forget()

	e, err := decodeEndpoint(item)

	return e, true, err
}

// Remove removes an endpoint. Its PENDING deliveries end as MISSED.
func (s *Endpoints) Remove(ctx context.Context, id string) error {
	if _, fixed := s.configured(id); fixed {
		return fmt.Errorf("remove endpoint %s: %w", id, ErrConfigured)
	}

	// Not decoded: an endpoint that cannot be read can be removed.
	item, err := s.item(ctx, id)
	switch {
	case err != nil:
		return err
	case dynamo.Text(item, endpointSettings) == "":
		return fmt.Errorf("endpoint %s: %w", id, ErrNotFound)
	}
	generation := dynamo.S(dynamo.Text(item, endpointGeneration))

	// The item says when the endpoint was removed, so that workers end its deliveries.
	in := &dynamodb.PutItemInput{
		TableName: &s.cfg.Table,
		Item: dynamo.Item{
			endpointKey:        dynamo.S(id),
			endpointGeneration: generation,
			endpointRemoved:    dynamo.Millis(s.clock.Now()),
		},
		// An endpoint that others create under this id meanwhile stays.
		ConditionExpression:       aws.String("attribute_exists(#settings) AND #generation = :generation"),
		ExpressionAttributeNames:  map[string]string{"#settings": endpointSettings, "#generation": endpointGeneration},
		ExpressionAttributeValues: dynamo.Item{":generation": generation},
	}

	// If the condition refuses it, this endpoint is gone: an attempt before or another caller has removed
	// it.
	_, _, err = dynamo.UntilDecided(ctx, writeAttempts, func() error {
		_, err := s.cfg.DynamoDB.PutItem(ctx, in, dynamo.WithoutRetries, s.clock.Listen)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove endpoint %s: %w", id, err)
	}
	s.forget()

	return nil
}
