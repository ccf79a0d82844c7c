package tables

import (
	"time"

	"ratchet/embedded/internal/dynamodb/indexes"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/settings"
	"ratchet/embedded/internal/wire"
)

// Record is a table as the store holds it.
type Record struct {
	Name    string          `json:"name"`
	No      uint64          `json:"no"`
	ID      string          `json:"id"`
	Created time.Time       `json:"created"`
	Keys    keyspace.Schema `json:"keys"`
	// Indexes are the secondary indexes.
	Indexes []indexes.Index `json:"indexes,omitempty"`

	Billing            string            `json:"billing"`
	BillingSince       time.Time         `json:"billingSince,omitzero"`
	ReadUnits          int64             `json:"readUnits,omitempty"`
	WriteUnits         int64             `json:"writeUnits,omitempty"`
	DeletionProtection bool              `json:"deletionProtection,omitempty"`
	Class              string            `json:"class,omitempty"`
	Tags               map[string]string `json:"tags,omitempty"`
	// KeyARN is the key of KMS, empty for the key that AWS owns.
	KeyARN string `json:"keyArn,omitempty"`
	settings.Kept

	// StreamARN is the ARN of the newest stream; StreamOn tells whether that stream is enabled.
	StreamARN string `json:"streamArn,omitempty"`
	StreamOn  bool   `json:"streamOn,omitempty"`

	// TTL is the attribute with an item's expiry; empty while time to live is off.
	// TTLIndexing is set while the items that existed before it was enabled are still being
	// indexed.
	TTL         string    `json:"ttl,omitempty"`
	TTLIndexing bool      `json:"ttlIndexing,omitempty"`
	TTLChanged  time.Time `json:"ttlChanged,omitzero"`
}

// IndexNamed returns the table's index of that name, nil if there is none.
func (r *Record) IndexNamed(name string) *indexes.Index {
	for i := range r.Indexes {
		if r.Indexes[i].Name == name {
			return &r.Indexes[i]
		}
	}

	return nil
}

// owner returns what the table's own throughput settings depend on.
func (r *Record) owner() settings.Owner {
	return settings.Owner{Billing: r.Billing, Reads: r.ReadUnits, Writes: r.WriteUnits}
}

func (r *Record) setClass(class string) {
	if class != "" {
		r.Class = class
	}
}

// setBilling sets the billing mode and the provisioned throughput. The engine throttles in
// neither mode.
func (r *Record) setBilling(mode string, t *settings.Provisioned) error {
	if mode == "PAY_PER_REQUEST" {
		if t != nil {
			return wire.Invalid("One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
		}

		r.Billing, r.ReadUnits, r.WriteUnits = mode, 0, 0

		// On demand, the indexes lose their units, too.
		for i := range r.Indexes {
			r.Indexes[i].ReadUnits, r.Indexes[i].WriteUnits = 0, 0
		}

		return nil
	}

	// No BillingMode means PROVISIONED, as on AWS.
	if t == nil || t.ReadCapacityUnits == nil || t.WriteCapacityUnits == nil {
		return wire.Invalid("One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	}

	if err := t.CheckBounds(); err != nil {
		return err
	}

	r.Billing, r.ReadUnits, r.WriteUnits = "PROVISIONED", *t.ReadCapacityUnits, *t.WriteCapacityUnits

	return nil
}
