package lambda

import (
	"encoding/json"
	"errors"
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

// received is a record of a batch. If it cannot be decoded, fault says why, and raw is what has arrived.
type received struct {
	streams.Record
	fault error
	raw   lambdaRecord
}

// decodeLambdaEvent returns the records of a batch. It returns an error only if a record has no sequence
// number, by which it could be reported.
func decodeLambdaEvent(event json.RawMessage) ([]received, error) {
	var in struct{ Records []json.RawMessage }
	if err := json.Unmarshal(event, &in); err != nil {
		return nil, err
	}

	out := make([]received, len(in.Records))
	for i, text := range in.Records {
		r := &out[i]
		// A member of another type is left out; the others are read.
		fault := json.Unmarshal(text, &r.raw)

		if r.raw.DynamoDB.SequenceNumber == "" {
			return nil, fmt.Errorf("record %d has no sequence number", i)
		}

		record, err := r.raw.decode()
		r.Record, r.fault = record, errors.Join(fault, err)
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

// body returns the record as a dead letter keeps it, with the images as they arrived.
func (r received) body() ([]byte, error) {
	return store.EncodeUndecoded(r.Record, r.raw.DynamoDB.Keys, r.raw.DynamoDB.OldImage, r.raw.DynamoDB.NewImage)
}
