package notify

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"ratchet/transitions"
	"ratchet/workflow"
)

//go:embed schemas/*.json
var schemas embed.FS

// Schema returns the JSON Schema (2020-12) of the messages of a format and version.
func Schema(format Format, version int) ([]byte, error) {
	text, err := fs.ReadFile(schemas, fmt.Sprintf("schemas/%s.v%d.json", format, version))
	if err != nil {
		return nil, fmt.Errorf("%w: no schema of format %q and version %d", ErrInvalid, format, version)
	}

	return text, nil
}

// dataV2 is the data of version 2.
type dataV2 struct {
	Key           string                   `json:"key"`
	OrderID       transitions.OrderID      `json:"orderId"`
	TransitionID  transitions.TransitionID `json:"transitionId"`
	State         workflow.State           `json:"state"`
	PreviousState workflow.State           `json:"previousState,omitempty"`
	Event         workflow.Event           `json:"event"`
	At            time.Time                `json:"at"`
	Attributes    map[string]string        `json:"attributes,omitempty"`
	Cause         transitions.Cause        `json:"cause,omitzero"`
}

// standardBody is the body of Standard Webhooks.
type standardBody struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

// cloudEvent is a CloudEvents 1.0 event in the structured mode of JSON.
type cloudEvent struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	DataSchema      string    `json:"dataschema"`
	// The extensions "sequence" and "partitionkey" order the events of a subject.
	Sequence     string `json:"sequence"`
	PartitionKey string `json:"partitionkey"`
	Data         any    `json:"data"`
}

// The values of a CloudEvent.
const (
	cloudEventsType   = "application/cloudevents+json"
	cloudEventsSource = "urn:ratchet:orders"
	cloudEventsSchema = "urn:ratchet:schema:cloudevents.v%d"
)

// newMessage returns the message of the notification for the endpoint. For an endpoint of one
// tenant, orderId in the data has no tenant prefix; the key keeps it.
func newMessage(n Notification, e Endpoint, attempt int) (Message, error) {
	m := Message{Notification: n, ID: n.ID(), ContentType: "application/json", Type: "order." + string(n.State), Attempt: attempt}

	// Only n is changed: m.Notification keeps the full id, which is needed to read the order.
	if tenant := e.Filter.Tenant; tenant != AllTenants && tenant != "" {
		n.OrderID = transitions.OrderID(strings.TrimPrefix(string(n.OrderID), tenant+":"))
	}

	data := any(n)
	// Version 1 is the JSON of the notification itself and must never change.
	if e.Version >= 2 {
		data = dataV2{n.Key, n.OrderID, n.TransitionID, n.State, n.From, n.Event, n.At, n.Attributes, n.Cause}
	}

	body := any(standardBody{m.Type, n.At, data})
	if e.Format == CloudEvents {
		m.ContentType = cloudEventsType
		m.Type = fmt.Sprintf("ratchet.order.%s.v%d", strings.ToLower(string(n.State)), e.Version)
		body = cloudEvent{
			SpecVersion:     "1.0",
			ID:              m.ID,
			Source:          cloudEventsSource,
			Type:            m.Type,
			Subject:         string(n.OrderID),
			Time:            n.At,
			DataContentType: "application/json",
			DataSchema:      fmt.Sprintf(cloudEventsSchema, e.Version),
			// With leading zeros, because the extension is compared as text.
			Sequence:     fmt.Sprintf("%019d", n.TransitionID),
			PartitionKey: string(n.OrderID),
			Data:         data,
		}
	}

	text, err := json.Marshal(body)
	if err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrRejected, err)
	}
	m.Body = text

	return m, nil
}
