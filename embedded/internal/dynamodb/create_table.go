package dynamodb

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/streams"
	"ratchet/embedded/internal/wire"
)

type keyElement struct{ AttributeName, KeyType string }

type attributeDefinition struct{ AttributeName, AttributeType string }

type throughput struct {
	ReadCapacityUnits  *int64
	WriteCapacityUnits *int64
}

type streamSpecification struct {
	StreamEnabled  bool
	StreamViewType string
}

type tag struct{ Key, Value string }

type createTableIn struct {
	TableName                 *string
	KeySchema                 []keyElement
	AttributeDefinitions      []attributeDefinition
	BillingMode               string
	ProvisionedThroughput     *throughput
	StreamSpecification       *streamSpecification
	DeletionProtectionEnabled bool
	TableClass                string
	Tags                      []tag
	GlobalSecondaryIndexes    []indexDefinition
	LocalSecondaryIndexes     []indexDefinition
	VectorIndexes             []jsontext.Value
	GlobalTableSourceArn      *string
	ResourcePolicy            *string
}

func (s *Service) createTable(_ context.Context, in *createTableIn) (any, error) {
	name, err := s.tableName(in.TableName)
	if err != nil {
		return nil, err
	}

	record, err := in.record(name)
	if err != nil {
		return nil, err
	}
	s.tables.ddl.Lock()
	defer s.tables.ddl.Unlock()

	if s.tables.get(name) != nil {
		return nil, wire.Errorf("ResourceInUseException", "Table already exists: %s", name)
	}
	now := time.Now()

	b := s.db.NewBatch()
	record.Created, record.BillingSince, record.No, record.ID = now, now, s.nextNumber(b), newTableID()
	for i := range record.Indexes {
		record.Indexes[i].No = s.nextNumber(b)
	}

	state := &tableState{record: *record}
	if in.StreamSpecification != nil && in.StreamSpecification.StreamEnabled {
		if err := s.enableStream(b, state, now, in.StreamSpecification.StreamViewType); err != nil {
			b.Discard()
			return nil, err
		}
	}

	if err := stageTable(b, &state.record); err != nil {
		b.Discard()
		return nil, err
	}

	if err := b.Commit(); err != nil {
		return nil, fmt.Errorf("create table %s: %w", name, err)
	}

	if state.stream != nil {
		s.streams.Add(state.stream)
	}
	t := newTable(state)
	s.tables.change(func(all map[string]*table) { all[name] = t })

	return map[string]any{"TableDescription": s.describe(t, state)}, nil
}

func newTableID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// record checks the request and returns the table it describes.
func (in *createTableIn) record(name string) (*tableRecord, error) {
	for _, refused := range []struct {
		what string
		is   bool
	}{
		{"VectorIndexes", len(in.VectorIndexes) > 0},
		{"GlobalTableSourceArn", in.GlobalTableSourceArn != nil},
		{"ResourcePolicy", in.ResourcePolicy != nil},
	} {
		if refused.is {
			return nil, invalid("%s are not supported by the embedded engine", refused.what)
		}
	}

	r := &tableRecord{Name: name, DeletionProtection: in.DeletionProtectionEnabled}

	kinds, err := parseDefinitions(in.AttributeDefinitions)
	if err != nil {
		return nil, err
	}

	if r.Keys, err = kinds.keys(in.KeySchema); err != nil {
		return nil, err
	}

	if err := r.setBilling(in.BillingMode, in.ProvisionedThroughput); err != nil {
		return nil, err
	}

	if err := in.addIndexes(r, kinds); err != nil {
		return nil, err
	}

	if err := r.setClass(in.TableClass); err != nil {
		return nil, err
	}

	return r, r.addTags(in.Tags)
}

// addIndexes checks the definitions of the indexes and adds them to the record.
func (in *createTableIn) addIndexes(r *tableRecord, kinds definitions) error {
	if err := checkIndexLists(in.GlobalSecondaryIndexes, in.LocalSecondaryIndexes); err != nil {
		return err
	}

	for i := range in.LocalSecondaryIndexes {
		if err := r.addIndex(&in.LocalSecondaryIndexes[i], true, kinds); err != nil {
			return err
		}
	}

	for i := range in.GlobalSecondaryIndexes {
		if err := r.addIndex(&in.GlobalSecondaryIndexes[i], false, kinds); err != nil {
			return err
		}
	}

	return kinds.checkUsed(r)
}

func (r *tableRecord) setClass(class string) error {
	if err := wire.OneOf(class, "tableClass", "STANDARD", "STANDARD_INFREQUENT_ACCESS"); err != nil {
		return err
	}

	if class != "" {
		r.Class = class
	}

	return nil
}

// setBilling sets the billing mode and the provisioned throughput. The engine throttles in
// neither mode.
func (r *tableRecord) setBilling(mode string, t *throughput) error {
	if err := wire.OneOf(mode, "billingMode", "PROVISIONED", "PAY_PER_REQUEST"); err != nil {
		return err
	}

	if mode == "PAY_PER_REQUEST" {
		if t != nil {
			return invalid("One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
		}
		r.Billing, r.ReadUnits, r.WriteUnits = mode, 0, 0

		return nil
	}

	if t == nil || t.ReadCapacityUnits == nil || t.WriteCapacityUnits == nil {
		return invalid("One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	}

	if err := t.checkUnits(); err != nil {
		return err
	}

	r.Billing, r.ReadUnits, r.WriteUnits = "PROVISIONED", *t.ReadCapacityUnits, *t.WriteCapacityUnits

	return nil
}

// checkUnits checks the range of units that are both given.
func (t *throughput) checkUnits() error {
	if err := wire.Within(t.ReadCapacityUnits, "provisionedThroughput.readCapacityUnits", 1, 1e12); err != nil {
		return err
	}

	return wire.Within(t.WriteCapacityUnits, "provisionedThroughput.writeCapacityUnits", 1, 1e12)
}

// enableStream stages a new stream of the table and enters it into state.
func (s *Service) enableStream(b *store.Batch, state *tableState, now time.Time, view string) error {
	if view == "" {
		return invalid("One or more parameter values were invalid: StreamViewType must be specified when StreamEnabled is true")
	}

	v := streams.View(view)
	if !v.Valid() {
		return wire.OneOf(view, "streamSpecification.streamViewType", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY")
	}
	r := &state.record

	st, err := s.streams.Create(b, now, streams.Spec{Table: r.Name, View: v, HashKey: r.Keys.Hash.Name, RangeKey: r.Keys.Range.Name})
	if err != nil {
		return err
	}
	state.stream, r.StreamARN, r.StreamOn = st, st.ARN(), true

	return nil
}
