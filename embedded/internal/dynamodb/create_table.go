package dynamodb

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/settings"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/streams"
	"ratchet/embedded/internal/wire"
)

type keyElement struct{ AttributeName, KeyType string }

// keyElementIn is keyElement in a request, where members may be missing.
type keyElementIn struct{ AttributeName, KeyType *string }

type attributeDefinition struct{ AttributeName, AttributeType string }

// attributeDefinitionIn is attributeDefinition in a request, where members may be missing.
type attributeDefinitionIn struct{ AttributeName, AttributeType *string }

type streamSpecification struct {
	StreamEnabled  *bool
	StreamViewType string
}

type tag struct{ Key, Value string }

// tagIn is a tag in a request, where members may be missing.
type tagIn struct{ Key, Value *string }

type createTableIn struct {
	TableName                 *string
	KeySchema                 []keyElementIn
	AttributeDefinitions      []attributeDefinitionIn
	BillingMode               string
	ProvisionedThroughput     *settings.Provisioned
	StreamSpecification       *streamSpecification
	DeletionProtectionEnabled bool
	TableClass                string
	Tags                      []tagIn
	GlobalSecondaryIndexes    []indexDefinition
	LocalSecondaryIndexes     []indexDefinition
	VectorIndexes             []jsontext.Value
	GlobalTableSourceArn      *string
	ResourcePolicy            *string
	SSESpecification          *settings.Encryption
	settings.Throughput

	GlobalTableSettingsReplicationMode *string
}

func (s *Service) createTable(_ context.Context, in *createTableIn) (any, error) {
	name, err := in.constrain(s)
	if err != nil {
		return nil, err
	}

	record, err := in.record(name)
	if err != nil {
		return nil, err
	}

	if in.SSESpecification != nil {
		if record.KeyARN, err = in.SSESpecification.KeyARN("", s.keyPrefix()); err != nil {
			return nil, err
		}
	}
	s.tables.ddl.Lock()
	defer s.tables.ddl.Unlock()

	// The call holds ddl, so that no other call can create the table after this check.
	if s.tables.get(name) != nil {
		return nil, wire.Errorf("ResourceInUseException", "Table already exists: %s", name)
	}
	now := s.cfg.Clock.Now()

	b := s.db.NewBatch()

	// Numbers are used up even if the batch fails: they only have to be unique.
	record.Created, record.BillingSince, record.No, record.ID = now, now, s.nextNumber(b), newTableID()
	for i := range record.Indexes {
		record.Indexes[i].No = s.nextNumber(b)
	}

	state := &tableState{record: *record}
	if spec := in.StreamSpecification; spec != nil && *spec.StreamEnabled {
		if err := s.enableStream(b, state, now, spec.StreamViewType); err != nil {
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

	// The table is published only now: no other call may see a table that a crash could undo.
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

	// The version and the variant of a random UUID.
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80

	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// record checks the request and returns the table it describes.
func (in *createTableIn) record(name string) (*tableRecord, error) {
	// These settings are refused and not ignored, because without them the table would
	// behave in another way.
	for _, refused := range []struct {
		what string
		is   bool
	}{
		{"VectorIndexes", len(in.VectorIndexes) > 0},
		{"GlobalTableSourceArn", in.GlobalTableSourceArn != nil},
		{"ResourcePolicy", in.ResourcePolicy != nil},
		{"GlobalTableSettingsReplicationMode", in.GlobalTableSettingsReplicationMode != nil},
	} {
		if refused.is {
			return nil, invalid("%s are not supported by the embedded engine", refused.what)
		}
	}

	r := &tableRecord{Name: name, DeletionProtection: in.DeletionProtectionEnabled}

	if err := r.setBilling(in.BillingMode, in.ProvisionedThroughput); err != nil {
		return nil, err
	}

	kinds, err := parseDefinitions(in.AttributeDefinitions)
	if err != nil {
		return nil, err
	}

	if r.Keys, err = kinds.keys(in.KeySchema); err != nil {
		return nil, err
	}

	if err := in.addIndexes(r, kinds); err != nil {
		return nil, err
	}

	if err := in.StreamSpecification.checkView("Table is being created with a stream enabled, UpdateViewType is required",
		"Table is being created with a stream disabled, UpdateViewType should not be specified"); err != nil {
		return nil, err
	}
	r.setClass(in.TableClass)

	if err := r.Set(&in.Throughput, r.owner(), true); err != nil {
		return nil, err
	}

	return r, r.addTags(in.Tags)
}

// constrain checks the members against the API model, and returns the table's name.
// Source of the order: https://github.com/architect/dynalite test/createTable.js, recorded on the
// service; for indexes https://github.com/paritysuite/dynamodb-conformance
// tests/tier3/validation-ordering/createTable.test.ts
func (in *createTableIn) constrain(s *Service) (name string, err error) {
	if err := requireTable(in.TableName); err != nil {
		return "", err
	}

	var c constraints
	if in.AttributeDefinitions == nil {
		c.Missing("attributeDefinitions")
	}
	c.definitions(in.AttributeDefinitions)
	name = s.constrainTable(&c, in.TableName, "tableName")
	c.billingMode(in.BillingMode)
	in.ProvisionedThroughput.Constrain(&c.Constraints, "provisionedThroughput")
	c.keySchema(in.KeySchema, "keySchema", mostKeys)
	c.indexes(in.GlobalSecondaryIndexes, "globalSecondaryIndexes", mostGlobalKeys)
	c.indexes(in.LocalSecondaryIndexes, "localSecondaryIndexes", mostKeys)
	c.streamView(in.StreamSpecification)
	in.SSESpecification.Constrain(&c.Constraints)
	c.tableClass(in.TableClass)

	return name, c.Err()
}

func (c *constraints) billingMode(mode string) {
	c.OneOf(mode, "billingMode", "PROVISIONED", "PAY_PER_REQUEST")
}

func (c *constraints) tableClass(class string) {
	c.OneOf(class, "tableClass", "STANDARD", "STANDARD_INFREQUENT_ACCESS")
}

func (c *constraints) streamView(spec *streamSpecification) {
	if spec == nil {
		return
	}

	if spec.StreamEnabled == nil {
		c.Missing("streamSpecification.streamEnabled")
	}
	c.OneOf(spec.StreamViewType, "streamSpecification.streamViewType", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY")
}

// checkView refuses a stream without a view, and a view without a stream. on and off are the words of the
// operation.
// Source: findings DDB-TABLE-437 and DDB-TABLE-442 of ack-api-quirks, services/dynamodb, recorded on the service
func (spec *streamSpecification) checkView(on, off string) error {
	switch {
	case spec == nil || *spec.StreamEnabled == (spec.StreamViewType != ""):
		return nil
	case *spec.StreamEnabled:
		return invalid("One or more parameter values were invalid: %s", on)
	}

	return invalid("One or more parameter values were invalid: %s", off)
}

// definitions checks AttributeDefinitions.
func (c *constraints) definitions(list []attributeDefinitionIn) {
	for i, d := range list {
		at := model.Member("attributeDefinitions", i)
		c.Required(d.AttributeName, at+".attributeName")

		if d.AttributeType == nil {
			c.Missing(at + ".attributeType")
		}
		c.Enum(d.AttributeType, at+".attributeType", []string{"B", "N", "S"})
	}
}

// keySchema checks the KeySchema of a table or an index, which has most elements at most.
func (c *constraints) keySchema(schema []keyElementIn, at string, most int) {
	if schema == nil {
		c.Missing(at)
		return
	}
	c.Length(len(schema), schemaText(schema), at, 1, most)

	for i, e := range schema {
		of := model.Member(at, i)
		c.Required(e.AttributeName, of+".attributeName")

		if e.KeyType == nil {
			c.Missing(of + ".keyType")
		}
		c.Enum(e.KeyType, of+".keyType", []string{"HASH", "RANGE"})
	}
}

// schemaText returns a KeySchema as messages quote it.
func schemaText(schema []keyElementIn) string {
	quoted := func(s *string) string {
		if s == nil {
			return "null"
		}

		return *s
	}

	parts := make([]string, len(schema))
	for i, e := range schema {
		parts[i] = fmt.Sprintf("KeySchemaElement(attributeName=%s, keyType=%s)", quoted(e.AttributeName), quoted(e.KeyType))
	}

	return list(parts)
}

// addIndexes checks the definitions of the indexes and adds them to the record.
func (in *createTableIn) addIndexes(r *tableRecord, kinds definitions) error {
	// Without indexes, every definition must belong to the table's key.
	if in.LocalSecondaryIndexes == nil && in.GlobalSecondaryIndexes == nil && len(in.KeySchema) != len(kinds) {
		return invalid("One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	}

	if err := r.addLocalIndexes(in.LocalSecondaryIndexes, kinds); err != nil {
		return err
	}

	return r.addGlobalIndexes(in.GlobalSecondaryIndexes, kinds)
}

func (r *tableRecord) setClass(class string) {
	if class != "" {
		r.Class = class
	}
}

// setBilling sets the billing mode and the provisioned throughput. The engine throttles in
// neither mode.
func (r *tableRecord) setBilling(mode string, t *settings.Provisioned) error {
	if mode == "PAY_PER_REQUEST" {
		if t != nil {
			return invalid("One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
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
		return invalid("One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	}

	if err := t.CheckBounds(); err != nil {
		return err
	}

	r.Billing, r.ReadUnits, r.WriteUnits = "PROVISIONED", *t.ReadCapacityUnits, *t.WriteCapacityUnits

	return nil
}

// enableStream stages a new stream of the table and enters it into state.
func (s *Service) enableStream(b *store.Batch, state *tableState, now time.Time, view string) error {
	r := &state.record

	st, err := s.streams.Create(b, now, streams.Spec{Table: r.Name, View: streams.View(view), HashKey: r.Keys.Hash.Name, RangeKey: r.Keys.Range.Name})
	if err != nil {
		return err
	}
	state.stream, r.StreamARN, r.StreamOn = st, st.ARN(), true

	return nil
}
