package store

import (
	"encoding/json"
	"strings"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams"
)

// storedRecord is a record as a dead letter keeps it. Attribute values are in
// DynamoDB's own JSON, {"S":"text"} for example.
type storedRecord struct {
	StreamARN string            `json:"streamArn"`
	ShardID   string            `json:"shardId"`
	Sequence  string            `json:"sequenceNumber"`
	EventID   string            `json:"eventId,omitempty"`
	EventName streams.EventName `json:"eventName"`
	Keys      map[string]any    `json:"keys,omitempty"`
	Old       map[string]any    `json:"oldImage,omitempty"`
	New       map[string]any    `json:"newImage,omitempty"`
	CreatedAt time.Time         `json:"createdAt"`
	SizeBytes int64             `json:"sizeBytes,omitempty"`
	Principal string            `json:"principalId,omitempty"`
	Type      string            `json:"principalType,omitempty"`
	Owner     string            `json:"owner,omitempty"`
	Epoch     int64             `json:"epoch,omitempty"`
	Handler   string            `json:"handler,omitempty"`
	Attempt   int               `json:"attempt,omitempty"`
	Replay    *storedReplay     `json:"replay,omitempty"`
}

type storedReplay struct {
	Again    string `json:"again,omitempty"`
	Repaired bool   `json:"repaired,omitempty"`
	Version  int64  `json:"version,omitempty"`
}

// describe returns the record without its keys and images.
func describe(r streams.Record) storedRecord {
	stored := storedRecord{
		StreamARN: r.StreamARN,
		ShardID:   r.ShardID,
		Sequence:  r.SequenceNumber,
		EventID:   r.EventID,
		EventName: r.EventName,
		CreatedAt: r.CreatedAt,
		SizeBytes: r.SizeBytes,
		Principal: r.Identity.PrincipalID,
		Type:      r.Identity.Type,
		Owner:     r.Owner,
		Epoch:     r.Epoch,
		Handler:   r.Handler,
		Attempt:   r.Attempt,
	}
	if r.Replay != nil {
		// A conversion, so that a new field of Replayed does not compile without one here.
		replay := storedReplay(*r.Replay)
		stored.Replay = &replay
	}

	return stored
}

// EncodeUndecoded is EncodeRecord of a record whose keys and images cannot be decoded, as they arrived.
func EncodeUndecoded(r streams.Record, keys, oldImage, newImage map[string]any) ([]byte, error) {
	stored := describe(r)
	stored.Keys, stored.Old, stored.New = keys, oldImage, newImage

	return json.Marshal(stored)
}

// EncodeRecord returns the record as a dead letter keeps it.
func EncodeRecord(r streams.Record) (_ []byte, err error) {
	stored := describe(r)

	if stored.Keys, err = dynamo.JSON(r.Keys); err != nil {
		return nil, err
	}

	if stored.Old, stored.New, err = Images(r); err != nil {
		return nil, err
	}

	return json.Marshal(stored)
}

// Images returns the images of a record in DynamoDB's JSON, nil for one that it has not.
func Images(r streams.Record) (oldImage, newImage map[string]any, err error) {
	if oldImage, err = dynamo.JSON(r.Old); err != nil {
		return nil, nil, err
	}
	newImage, err = dynamo.JSON(r.New)

	return oldImage, newImage, err
}

// DecodeRecord reads what EncodeRecord has returned.
func DecodeRecord(body []byte) (streams.Record, error) {
	var stored storedRecord
	if err := json.Unmarshal(body, &stored); err != nil {
		return streams.Record{}, err
	}

	r := streams.Record{
		StreamARN:      stored.StreamARN,
		ShardID:        stored.ShardID,
		SequenceNumber: stored.Sequence,
		EventID:        stored.EventID,
		EventName:      stored.EventName,
		CreatedAt:      stored.CreatedAt,
		SizeBytes:      stored.SizeBytes,
		Identity:       streams.Identity{PrincipalID: stored.Principal, Type: stored.Type},
		Owner:          stored.Owner,
		Epoch:          stored.Epoch,
		Handler:        stored.Handler,
		Attempt:        stored.Attempt,
	}
	if stored.Replay != nil {
		replay := streams.Replayed(*stored.Replay)
		r.Replay = &replay
	}
	err := DecodeImages(&r, stored.Keys, stored.Old, stored.New)

	return r, err
}

// DecodeImages sets the three maps of r.
func DecodeImages(r *streams.Record, keys, oldImage, newImage map[string]any) (err error) {
	if r.Keys, err = dynamo.FromJSON(keys); err != nil {
		return err
	}

	if r.Old, err = dynamo.FromJSON(oldImage); err != nil {
		return err
	}
	r.New, err = dynamo.FromJSON(newImage)

	return err
}

// maxErrorText is how much of an error's text is stored, in bytes.
const maxErrorText = 8 << 10

// ErrorText returns the error's text as it is stored: valid UTF-8 of at most
// maxErrorText bytes.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}

	return dynamo.Cut(strings.ToValidUTF8(err.Error(), "\uFFFD"), maxErrorText)
}
