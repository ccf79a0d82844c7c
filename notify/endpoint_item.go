package notify

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/notify/webhooks"
)

// Attributes of an endpoint's item. The item of a configured endpoint has only its status.
const (
	endpointKey      = "endpointId"
	endpointSettings = "settings" // JSON, without headers
	endpointHeaders  = "headers"
	endpointSecrets  = "secrets"
	endpointStatus   = "status"
	endpointReason   = "reason"
	endpointDisabled = "disabledAt"
	endpointFailing  = "failingSince"
	endpointUntil    = "openUntil"
	endpointOpened   = "opened"
	endpointCreated  = "createdAt"
	endpointUpdated  = "updatedAt"
	endpointRevision = "revision"
	endpointCall     = "call" // the call id of the newest edit

	endpointGeneration = "generation"
	endpointStatusCall = "statusCall" // the call id of the newest change of the status
	endpointFailedAt   = "failedAt"
	endpointFailedFor  = "failedFor" // in milliseconds
	// endpointRemoved is when the endpoint was removed. Such an item has no settings.
	endpointRemoved = "removedAt"
	// endpointClaimed is until when a worker has the endpoint in its configuration.
	endpointClaimed = "configuredUntil"

	secretKey   = "key"
	secretUntil = "until"
)

// EndpointTableInput describes the table of endpoints.
func EndpointTableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(endpointKey))
}

func endpointItemKey(id string) dynamo.Item { return dynamo.Item{endpointKey: dynamo.S(id)} }

func encodeSettings(s Settings) (settings, headers types.AttributeValue, err error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the settings of an endpoint: %w", err)
	}

	values := dynamo.Item{}
	for name, value := range s.Headers {
		values[name] = dynamo.S(value)
	}

	return dynamo.S(string(text)), dynamo.M(values), nil
}

func encodeSecrets(secrets []Secret) types.AttributeValue {
	list := make([]types.AttributeValue, len(secrets))
	for i, s := range secrets {
		m := dynamo.Item{secretKey: dynamo.B(s.Key)}
		if !s.Until.IsZero() {
			m[secretUntil] = dynamo.Millis(s.Until)
		}
		list[i] = dynamo.M(m)
	}

	return &types.AttributeValueMemberL{Value: list}
}

// encodeEndpoint returns the item of a new endpoint.
func encodeEndpoint(e Endpoint) (dynamo.Item, error) {
	settings, headers, err := encodeSettings(e.Settings)
	if err != nil {
		return nil, err
	}

	return dynamo.Item{
		endpointKey:      dynamo.S(e.ID),
		endpointSettings: settings,
		endpointHeaders:  headers,
		endpointSecrets:  encodeSecrets(e.Secrets),
		endpointStatus:   dynamo.S(string(e.Status)),
		endpointCreated:  dynamo.Millis(e.CreatedAt),
		endpointUpdated:  dynamo.Millis(e.UpdatedAt),
		endpointRevision: dynamo.N(e.Revision),

		endpointGeneration: dynamo.S(e.generation),
	}, nil
}

// decodeEndpoint reads an item. The settings of a configured endpoint's item are empty.
func decodeEndpoint(item dynamo.Item) (Endpoint, error) {
	e := Endpoint{
		ID:           dynamo.Text(item, endpointKey),
		Status:       EndpointStatus(dynamo.Text(item, endpointStatus)),
		Reason:       dynamo.Text(item, endpointReason),
		DisabledAt:   dynamo.Time(item, endpointDisabled),
		FailingSince: dynamo.Time(item, endpointFailing),
		OpenUntil:    dynamo.Time(item, endpointUntil),
		opened:       int(dynamo.Number(item, endpointOpened)),
		CreatedAt:    dynamo.Time(item, endpointCreated),
		UpdatedAt:    dynamo.Time(item, endpointUpdated),
		Revision:     dynamo.Number(item, endpointRevision),

		generation: dynamo.Text(item, endpointGeneration),
		health: health{
			failedAt:  dynamo.Time(item, endpointFailedAt),
			failedFor: time.Duration(dynamo.Number(item, endpointFailedFor)) * time.Millisecond,
		},
	}
	if e.Status == "" {
		e.Status = Active
	}

	text := dynamo.Text(item, endpointSettings)
	// A configured endpoint: its settings come from the configuration.
	if text == "" {
		return e, nil
	}

	if err := json.Unmarshal([]byte(text), &e.Settings); err != nil {
		return e, fmt.Errorf("read endpoint %s: its settings are not JSON: %w", e.ID, err)
	}

	if headers, ok := item[endpointHeaders].(*types.AttributeValueMemberM); ok && len(headers.Value) > 0 {
		e.Headers = map[string]string{}
		for name := range headers.Value {
			e.Headers[name] = dynamo.Text(headers.Value, name)
		}
	}

	if secrets, ok := item[endpointSecrets].(*types.AttributeValueMemberL); ok {
		for _, v := range secrets.Value {
			m, _ := v.(*types.AttributeValueMemberM)
			if m == nil {
				continue
			}

			if key, ok := m.Value[secretKey].(*types.AttributeValueMemberB); ok {
				e.Secrets = append(e.Secrets, Secret{webhooks.Secret(key.Value), dynamo.Time(m.Value, secretUntil)})
			}
		}
	}

	return e, nil
}
