package tables

import (
	"slices"
	"strings"

	"ratchet/embedded/internal/dynamodb/indexes"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/settings"
	"ratchet/embedded/internal/wire"
)

// The limits of indexes.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
const (
	maxGlobalIndexes = 20
	maxLocalIndexes  = 5
	maxNonKey        = 100 // projected attributes of all indexes of a table
	maxKeyPart       = 4   // attributes of the partition key of a global index, and of its sort key
)

// mostNonKey is how many NonKeyAttributes the model allows in an index.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Projection.html
const mostNonKey = 20

type projectionDefinition struct {
	ProjectionType   string
	NonKeyAttributes []string
}

// indexDefinition is a member of GlobalSecondaryIndexes or LocalSecondaryIndexes.
type indexDefinition struct {
	IndexName             *string
	KeySchema             []keyElementIn
	Projection            *projectionDefinition
	ProvisionedThroughput *settings.Provisioned
	settings.Throughput
}

// constrainIndexes checks the definitions of a list of indexes.
func constrainIndexes(c *model.Constraints, list []indexDefinition, at string, mostKeys int) {
	for i := range list {
		constrainIndex(c, &list[i], model.Member(at, i), mostKeys)
	}
}

// How many elements the model allows in the KeySchema of a table or a local index, and in the KeySchema of a
// global index.
// Source of mostGlobalKeys: https://docs.rs/crate/dynoxide-rs/3.2.0/source/tests/attribute_definition_messages.rs,
// "a_gsi_key_schema_longer_than_eight_fails_the_request_model", recorded on the service
const (
	mostKeys       = 2
	mostGlobalKeys = 2 * maxKeyPart
)

// constrainIndex checks the definition of an index, whose KeySchema has mostKeys elements at most.
func constrainIndex(c *model.Constraints, d *indexDefinition, at string, mostKeys int) {
	c.RequiredName(d.IndexName, at+".indexName")
	constrainKeySchema(c, d.KeySchema, at+".keySchema", mostKeys)

	if d.Projection == nil {
		c.Missing(at + ".projection")
	} else {
		c.OneOf(d.Projection.ProjectionType, at+".projection.projectionType", indexes.All, indexes.Include, indexes.KeysOnly)

		if names := d.Projection.NonKeyAttributes; names != nil {
			c.Length(len(names), model.List(names), at+".projection.nonKeyAttributes", 1, mostNonKey)
		}
	}
	d.ProvisionedThroughput.Constrain(c, at+".provisionedThroughput")
}

// addLocalIndexes checks the definitions of local indexes against the table and adds them.
func (r *Record) addLocalIndexes(list []indexDefinition, kinds definitions) error {
	switch {
	case list == nil:
		return nil
	case len(list) == 0:
		return wire.Invalid("One or more parameter values were invalid: List of LocalSecondaryIndexes is empty")
	case r.Keys.Range.Name == "":
		return wire.Invalid("One or more parameter values were invalid: Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex")
	}

	for i := range list {
		x, err := r.newIndex(&list[i], true, kinds)
		if err != nil {
			return err
		}

		if err := r.addIndex(x, &list[i]); err != nil {
			return err
		}
	}

	// A faulty definition is reported before the number of indexes.
	if len(list) > maxLocalIndexes {
		return wire.Invalid("One or more parameter values were invalid: Number of LocalSecondaryIndexes exceeds per-table limit of %d", maxLocalIndexes)
	}

	return nil
}

// addGlobalIndexes checks the definitions of global indexes against the table and adds them. Attributes
// that no key uses come after the keys of all indexes, before the rest.
// Source: finding DDB-TABLE-127 of ack-api-quirks, services/dynamodb, recorded on the service
func (r *Record) addGlobalIndexes(list []indexDefinition, kinds definitions) error {
	if list != nil && len(list) == 0 {
		return wire.Invalid("One or more parameter values were invalid: List of GlobalSecondaryIndexes is empty")
	}

	indexes := make([]indexes.Index, len(list))
	for i := range list {
		var err error
		if indexes[i], err = r.newIndex(&list[i], false, kinds); err != nil {
			return err
		}
	}

	// The check knows the keys of all indexes, because a later index may be the only one
	// to use a definition.
	whole := Record{Keys: r.Keys, Indexes: slices.Concat(r.Indexes, indexes)}
	if err := kinds.checkUsed(&whole); err != nil {
		return err
	}

	for i := range list {
		if err := r.addIndex(indexes[i], &list[i]); err != nil {
			return err
		}
	}

	if len(list) > maxGlobalIndexes {
		return wire.Invalid("One or more parameter values were invalid: GlobalSecondaryIndex count exceeds the per-table limit of %d", maxGlobalIndexes)
	}

	return nil
}

// newIndex checks the key of a definition and returns the index with it.
// The constraints of the API model were checked.
func (r *Record) newIndex(d *indexDefinition, local bool, kinds definitions) (x indexes.Index, err error) {
	x = indexes.Index{Name: *d.IndexName, Local: local}
	if !local {
		x.Keys, err = kinds.globalKeys(d.KeySchema)
		return x, err
	}

	if x.Keys, err = kinds.keys(d.KeySchema); err != nil {
		return x, err
	}

	return x, checkLocal(&x, r.Keys)
}

// addIndex checks the rest of a definition and adds the index to the record, without a number.
func (r *Record) addIndex(x indexes.Index, d *indexDefinition) error {
	if err := setProjection(&x, d.Projection); err != nil {
		return err
	}

	if !x.Local {
		if err := setThroughput(&x, r.Billing, d.ProvisionedThroughput); err != nil {
			return err
		}

		if err := x.Set(&d.Throughput, indexOwner(&x, r.Billing), true); err != nil {
			return err
		}
	}

	if r.IndexNamed(x.Name) != nil {
		return wire.Invalid("One or more parameter values were invalid: Duplicate index name: %s", x.Name)
	}

	// Cloned, because append could write into the array of a published state.
	r.Indexes = append(slices.Clone(r.Indexes), x)

	return r.checkProjected()
}

// checkProjected refuses more projected attributes than the indexes of a table can have together.
// An attribute that two indexes project counts twice.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Projection.html; the
// words are not recorded
func (r *Record) checkProjected() error {
	count := 0
	for i := range r.Indexes {
		count += len(r.Indexes[i].NonKey)
	}

	if count > maxNonKey {
		return wire.Invalid("One or more parameter values were invalid: NonKeyAttributes count exceeds the limit of %d", maxNonKey)
	}

	return nil
}

func setProjection(x *indexes.Index, p *projectionDefinition) error {
	if p.ProjectionType == "" {
		return wire.Invalid("One or more parameter values were invalid: Unknown ProjectionType: null")
	}

	switch {
	case p.ProjectionType == indexes.Include && len(p.NonKeyAttributes) == 0:
		return wire.Invalid("One or more parameter values were invalid: ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	case p.ProjectionType != indexes.Include && p.NonKeyAttributes != nil:
		return wire.Invalid("One or more parameter values were invalid: ProjectionType is %s, but NonKeyAttributes is specified", p.ProjectionType)
	}

	for i, name := range p.NonKeyAttributes {
		if slices.Contains(p.NonKeyAttributes[:i], name) {
			// Source: finding DDB-TABLE-126 of ack-api-quirks, services/dynamodb, recorded on the service
			return wire.Invalid("One or more parameter values were invalid: Duplicate element in NonKeyAttributes: %s", name)
		}
	}

	x.Projection, x.NonKey = p.ProjectionType, p.NonKeyAttributes

	return nil
}

// checkLocal checks a local index against the key of its table.
func checkLocal(x *indexes.Index, table keyspace.Schema) error {
	switch {
	case x.Keys.Range.Name == "":
		return wire.Invalid("One or more parameter values were invalid: Index KeySchema does not have a range key for index: %s", x.Name)
	case x.Keys.Hash.Name != table.Hash.Name:
		return wire.Invalid("One or more parameter values were invalid: Index KeySchema does not have the same leading hash key as table KeySchema for index: %s. index hash key: %s, table hash key: %s",
			x.Name, x.Keys.Hash.Name, table.Hash.Name)
	}

	return nil
}

// setThroughput sets the provisioned throughput of a global index.
func setThroughput(x *indexes.Index, billing string, t *settings.Provisioned) error {
	if billing != "PROVISIONED" {
		if t != nil {
			return wire.Invalid("One or more parameter values were invalid: ProvisionedThroughput should not be specified for index: %s when BillingMode is PAY_PER_REQUEST", x.Name)
		}

		return nil
	}

	// Source: ScyllaDB test/alternator, "test_gsi_throughput_required_in_provisioned_mode", which runs on the service
	if t == nil {
		return wire.Invalid("One or more parameter values were invalid: ProvisionedThroughput is not specified for index: %s", x.Name)
	}

	if err := t.CheckBounds(); err != nil {
		return err
	}

	x.ReadUnits, x.WriteUnits = *t.ReadCapacityUnits, *t.WriteCapacityUnits

	return nil
}

// checkIndexUnits refuses a change to provisioned throughput that leaves a global index without
// units.
// Source: https://github.com/architect/dynalite test/updateTable.js, "should allow table to be
// converted to PAY_PER_REQUEST and back again", recorded on the service
func (r *Record) checkIndexUnits() error {
	var lacking []string
	for i := range r.Indexes {
		if x := &r.Indexes[i]; r.Billing == "PROVISIONED" && !x.Local && x.ReadUnits == 0 {
			lacking = append(lacking, x.Name)
		}
	}

	if lacking == nil {
		return nil
	}

	return wire.Invalid("One or more parameter values were invalid: ProvisionedThroughput must be specified for index: %s", strings.Join(lacking, ","))
}

// indexOwner returns what the index's throughput settings depend on.
func indexOwner(x *indexes.Index, billing string) settings.Owner {
	return settings.Owner{Index: x.Name, Billing: billing, Reads: x.ReadUnits, Writes: x.WriteUnits}
}
