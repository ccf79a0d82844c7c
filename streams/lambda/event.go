package lambda

import (
	"encoding/json"
	"fmt"
	"time"

	"ratchet/streams"
	"ratchet/streams/store"
)

// lambdaRecord is one record of the event that Lambda passes to the function.
type lambdaRecord struct {
	EventID        string            `json:"eventID"`
	EventName      streams.EventName `json:"eventName"`
	EventSourceARN string            `json:"eventSourceARN"`
	UserIdentity   *struct {
		PrincipalID string `json:"principalId"` // encoding/json matches it in any case
		Type        string `json:"type"`
	} `json:"userIdentity"`
	DynamoDB struct {
		CreatedAt      float64        `json:"ApproximateCreationDateTime"` // Unix seconds
		Keys           map[string]any `json:"Keys"`
		OldImage       map[string]any `json:"OldImage"`
		NewImage       map[string]any `json:"NewImage"`
		SequenceNumber string         `json:"SequenceNumber"`
		SizeBytes      int64          `json:"SizeBytes"`
	} `json:"dynamodb"`
}

func decodeLambdaEvent(event json.RawMessage) ([]streams.Record, error) {
	var in struct{ Records []lambdaRecord }
	if err := json.Unmarshal(event, &in); err != nil {
		return nil, err
	}

	out := make([]streams.Record, len(in.Records))
	for i, r := range in.Records {
		if r.DynamoDB.SequenceNumber == "" {
			return nil, fmt.Errorf("record %d has no sequence number", i)
		}

		record, err := r.decode()
		if err != nil {
			return nil, fmt.Errorf("record %s: %w", r.DynamoDB.SequenceNumber, err)
		}
		out[i] = record
	}

	return out, nil
}

func (r lambdaRecord) decode() (streams.Record, error) {
	record := streams.Record{
		StreamARN:      r.EventSourceARN,
		SequenceNumber: r.DynamoDB.SequenceNumber,
		EventID:        r.EventID,
		EventName:      r.EventName,
		SizeBytes:      r.DynamoDB.SizeBytes,
	}
	if r.DynamoDB.CreatedAt != 0 {
		record.CreatedAt = time.UnixMilli(int64(r.DynamoDB.CreatedAt * 1000))
	}

	if r.UserIdentity != nil {
		record.Identity = streams.Identity{PrincipalID: r.UserIdentity.PrincipalID, Type: r.UserIdentity.Type}
	}

	err := store.DecodeImages(&record, r.DynamoDB.Keys, r.DynamoDB.OldImage, r.DynamoDB.NewImage)

	return record, err
}
