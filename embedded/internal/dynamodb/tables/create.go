package tables

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/settings"
	"ratchet/embedded/internal/wire"
)

type keyElement struct{ AttributeName, KeyType string }

// keyElementIn is keyElement in a request, where members may be missing.
type keyElementIn struct{ AttributeName, KeyType *string }

type attributeDefinition struct{ AttributeName, AttributeType string }

// attributeDefinitionIn is attributeDefinition in a request, where members may be missing.
type attributeDefinitionIn struct{ AttributeName, AttributeType *string }

// StreamSpecification enables or disables the stream of a table.
type StreamSpecification struct {
	StreamEnabled  *bool
	StreamViewType string
}

// Tag is a tag in a request, where members may be missing.
type Tag struct{ Key, Value *string }

// Create is a CreateTable request.
type Create struct {
	TableName                 *string
	KeySchema                 []keyElementIn
	AttributeDefinitions      []attributeDefinitionIn
	BillingMode               string
	ProvisionedThroughput     *settings.Provisioned
	StreamSpecification       *StreamSpecification
	DeletionProtectionEnabled bool
	TableClass                string
	Tags                      []Tag
	GlobalSecondaryIndexes    []indexDefinition
	LocalSecondaryIndexes     []indexDefinition
	VectorIndexes             []jsontext.Value
	GlobalTableSourceArn      *string
	ResourcePolicy            *string
	SSESpecification          *settings.Encryption
	settings.Throughput

	GlobalTableSettingsReplicationMode *string
}

// Record checks the request and returns the table that it describes. keys is the beginning of the ARNs of KMS keys.
func (in *Create) Record(name, keys string) (*Record, error) {
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
			return nil, wire.Invalid("%s are not supported by the embedded engine", refused.what)
		}
	}

	r := &Record{Name: name, DeletionProtection: in.DeletionProtectionEnabled}

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

	if err := r.AddTags(in.Tags); err != nil || in.SSESpecification == nil {
		return r, err
	}

	r.KeyARN, err = in.SSESpecification.KeyARN("", keys)

	return r, err
}

// Constrain checks the members against the API model. name checks the table's name.
// Source of the order: https://github.com/architect/dynalite test/createTable.js, recorded on the
// service; for indexes https://github.com/paritysuite/dynamodb-conformance
// tests/tier3/validation-ordering/createTable.test.ts
func (in *Create) Constrain(name func(*model.Constraints)) error {
	if err := RequireTable(in.TableName); err != nil {
		return err
	}

	var c model.Constraints
	if in.AttributeDefinitions == nil {
		c.Missing("attributeDefinitions")
	}
	constrainDefinitions(&c, in.AttributeDefinitions)
	name(&c)
	constrainBillingMode(&c, in.BillingMode)
	in.ProvisionedThroughput.Constrain(&c, "provisionedThroughput")
	constrainKeySchema(&c, in.KeySchema, "keySchema", mostKeys)
	constrainIndexes(&c, in.GlobalSecondaryIndexes, "globalSecondaryIndexes", mostGlobalKeys)
	constrainIndexes(&c, in.LocalSecondaryIndexes, "localSecondaryIndexes", mostKeys)
	constrainStreamView(&c, in.StreamSpecification)
	in.SSESpecification.Constrain(&c)
	constrainTableClass(&c, in.TableClass)

	return c.Err()
}

func constrainBillingMode(c *model.Constraints, mode string) {
	c.OneOf(mode, "billingMode", "PROVISIONED", "PAY_PER_REQUEST")
}

func constrainTableClass(c *model.Constraints, class string) {
	c.OneOf(class, "tableClass", "STANDARD", "STANDARD_INFREQUENT_ACCESS")
}

func constrainStreamView(c *model.Constraints, spec *StreamSpecification) {
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
func (spec *StreamSpecification) checkView(on, off string) error {
	switch {
	case spec == nil || *spec.StreamEnabled == (spec.StreamViewType != ""):
		return nil
	case *spec.StreamEnabled:
		return wire.Invalid("One or more parameter values were invalid: %s", on)
	}

	return wire.Invalid("One or more parameter values were invalid: %s", off)
}

// constrainDefinitions checks AttributeDefinitions.
func constrainDefinitions(c *model.Constraints, list []attributeDefinitionIn) {
	for i, d := range list {
		at := model.Member("attributeDefinitions", i)
		c.Required(d.AttributeName, at+".attributeName")

		if d.AttributeType == nil {
			c.Missing(at + ".attributeType")
		}
		c.Enum(d.AttributeType, at+".attributeType", []string{"B", "N", "S"})
	}
}

// constrainKeySchema checks the KeySchema of a table or an index, which has most elements at most.
func constrainKeySchema(c *model.Constraints, schema []keyElementIn, at string, most int) {
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

	return model.List(parts)
}

// addIndexes checks the definitions of the indexes and adds them to the record.
func (in *Create) addIndexes(r *Record, kinds definitions) error {
	// Without indexes, every definition must belong to the table's key.
	if in.LocalSecondaryIndexes == nil && in.GlobalSecondaryIndexes == nil && len(in.KeySchema) != len(kinds) {
		return wire.Invalid("One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	}

	if err := r.addLocalIndexes(in.LocalSecondaryIndexes, kinds); err != nil {
		return err
	}

	return r.addGlobalIndexes(in.GlobalSecondaryIndexes, kinds)
}

// RequireTable refuses a request without a table, in the words of the operations on tables.
func RequireTable(name *string) error {
	if name == nil {
		return wire.Invalid("The parameter 'TableName' is required but was not present in the request")
	}

	return nil
}
