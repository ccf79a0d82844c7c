package dynamodb

import (
	"slices"
	"strings"
)

// The projections of an index.
const (
	projectAll     = "ALL"
	projectKeys    = "KEYS_ONLY"
	projectInclude = "INCLUDE"
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
	ProvisionedThroughput *throughput
}

// indexes checks the definitions of a list of indexes.
func (c *constraints) indexes(list []indexDefinition, at string, mostKeys int) {
	for i := range list {
		c.index(&list[i], member(at, i), mostKeys)
	}
}

// How many elements the model allows in the KeySchema of a table or a local index, and in that of a
// global index.
// Source of the latter: https://docs.rs/crate/dynoxide-rs/3.2.0/source/tests/attribute_definition_messages.rs,
// "a_gsi_key_schema_longer_than_eight_fails_the_request_model", recorded on the service
const (
	mostKeys       = 2
	mostGlobalKeys = 2 * maxKeyPart
)

// index checks the definition of an index, whose KeySchema has mostKeys elements at most.
func (c *constraints) index(d *indexDefinition, at string, mostKeys int) {
	c.requiredName(d.IndexName, at+".indexName")
	c.keySchema(d.KeySchema, at+".keySchema", mostKeys)

	if d.Projection == nil {
		c.missing(at + ".projection")
	} else {
		c.oneOf(d.Projection.ProjectionType, at+".projection.projectionType", projectAll, projectInclude, projectKeys)

		if names := d.Projection.NonKeyAttributes; names != nil {
			c.length(len(names), list(names), at+".projection.nonKeyAttributes", 1, mostNonKey)
		}
	}
	c.throughput(d.ProvisionedThroughput, at+".provisionedThroughput")
}

// addLocalIndexes checks the definitions of local indexes against the table and adds them.
func (r *tableRecord) addLocalIndexes(list []indexDefinition, kinds definitions) error {
	switch {
	case list == nil:
		return nil
	case len(list) == 0:
		return invalid("One or more parameter values were invalid: List of LocalSecondaryIndexes is empty")
	case r.Keys.Range.Name == "":
		return invalid("One or more parameter values were invalid: Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex")
	}

	for i := range list {
		if err := r.addIndex(&list[i], true, kinds); err != nil {
			return err
		}
	}

	if len(list) > maxLocalIndexes {
		return invalid("One or more parameter values were invalid: Number of LocalSecondaryIndexes exceeds per-table limit of %d", maxLocalIndexes)
	}

	return nil
}

// addGlobalIndexes checks the definitions of global indexes against the table and adds them.
func (r *tableRecord) addGlobalIndexes(list []indexDefinition, kinds definitions) error {
	if list != nil && len(list) == 0 {
		return invalid("One or more parameter values were invalid: List of GlobalSecondaryIndexes is empty")
	}

	for i := range list {
		if err := r.addIndex(&list[i], false, kinds); err != nil {
			return err
		}
	}

	if len(list) > maxGlobalIndexes {
		return invalid("One or more parameter values were invalid: GlobalSecondaryIndex count exceeds the per-table limit of %d", maxGlobalIndexes)
	}

	return nil
}

// addIndex checks a definition against the table and adds it to the record, without a number.
// The constraints of the API model were checked.
func (r *tableRecord) addIndex(d *indexDefinition, local bool, kinds definitions) error {
	x := indexRecord{Name: *d.IndexName, Local: local}

	keysOf := kinds.globalKeys
	if local {
		keysOf = kinds.keys
	}

	var err error
	if x.Keys, err = keysOf(d.KeySchema); err != nil {
		return err
	}

	if local {
		if err := x.checkLocal(r.Keys); err != nil {
			return err
		}
	}

	if err := x.setProjection(d.Projection); err != nil {
		return err
	}

	if !local {
		if err := x.setThroughput(r.Billing, d.ProvisionedThroughput); err != nil {
			return err
		}
	}

	if r.indexNamed(x.Name) != nil {
		return invalid("One or more parameter values were invalid: Duplicate index name: %s", x.Name)
	}

	r.Indexes = append(slices.Clone(r.Indexes), x)

	return r.checkProjected()
}

// checkProjected refuses more projected attributes than the indexes of a table can have together. One that
// two indexes project counts twice.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Projection.html; the words are
// not recorded
func (r *tableRecord) checkProjected() error {
	count := 0
	for i := range r.Indexes {
		count += len(r.Indexes[i].NonKey)
	}

	if count > maxNonKey {
		return invalid("One or more parameter values were invalid: NonKeyAttributes count exceeds the limit of %d", maxNonKey)
	}

	return nil
}

func (x *indexRecord) setProjection(p *projectionDefinition) error {
	if p.ProjectionType == "" {
		return invalid("One or more parameter values were invalid: Unknown ProjectionType: null")
	}

	switch {
	case p.ProjectionType == projectInclude && len(p.NonKeyAttributes) == 0:
		return invalid("One or more parameter values were invalid: ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	case p.ProjectionType != projectInclude && p.NonKeyAttributes != nil:
		return invalid("One or more parameter values were invalid: ProjectionType is %s, but NonKeyAttributes is specified", p.ProjectionType)
	}

	x.Projection, x.NonKey = p.ProjectionType, p.NonKeyAttributes

	return nil
}

// checkLocal checks a local index against the key of its table.
func (x *indexRecord) checkLocal(table keySchema) error {
	switch {
	case x.Keys.Range.Name == "":
		return invalid("One or more parameter values were invalid: Index KeySchema does not have a range key for index: %s", x.Name)
	case x.Keys.Hash.Name != table.Hash.Name:
		return invalid("One or more parameter values were invalid: Index KeySchema does not have the same leading hash key as table KeySchema for index: %s. index hash key: %s, table hash key: %s",
			x.Name, x.Keys.Hash.Name, table.Hash.Name)
	}

	return nil
}

// setThroughput sets the provisioned throughput of a global index.
func (x *indexRecord) setThroughput(billing string, t *throughput) error {
	if billing != "PROVISIONED" {
		if t != nil {
			return invalid("One or more parameter values were invalid: ProvisionedThroughput should not be specified for index: %s when BillingMode is PAY_PER_REQUEST", x.Name)
		}

		return nil
	}

	// Source: ScyllaDB test/alternator, "test_gsi_throughput_required_in_provisioned_mode", which runs on the service
	if t == nil {
		return invalid("One or more parameter values were invalid: ProvisionedThroughput is not specified for index: %s", x.Name)
	}

	if err := t.checkBounds(); err != nil {
		return err
	}

	x.ReadUnits, x.WriteUnits = *t.ReadCapacityUnits, *t.WriteCapacityUnits

	return nil
}

// checkIndexUnits refuses provisioned throughput of the table of which a global index has no part.
// Source: https://github.com/architect/dynalite test/updateTable.js, "should allow table to be converted to
// PAY_PER_REQUEST and back again", recorded on the service
func (r *tableRecord) checkIndexUnits() error {
	var lacking []string
	for i := range r.Indexes {
		if x := &r.Indexes[i]; r.Billing == "PROVISIONED" && !x.Local && x.ReadUnits == 0 {
			lacking = append(lacking, x.Name)
		}
	}

	if lacking == nil {
		return nil
	}

	return invalid("One or more parameter values were invalid: ProvisionedThroughput must be specified for index: %s", strings.Join(lacking, ","))
}

// describeIndexes adds the indexes to a table's description.
func (s *Service) describeIndexes(d map[string]any, t *table, r *tableRecord) {
	var global, local []map[string]any
	for i := range r.Indexes {
		x := &r.Indexes[i]

		shown := map[string]any{"ProjectionType": x.Projection}
		if x.Projection == projectInclude {
			shown["NonKeyAttributes"] = x.NonKey
		}

		items, bytes := t.indexCounts(x)
		index := map[string]any{
			"IndexName":      x.Name,
			"IndexArn":       s.arnPrefix() + r.Name + "/index/" + x.Name,
			"KeySchema":      x.Keys.elements(),
			"Projection":     shown,
			"ItemCount":      items,
			"IndexSizeBytes": bytes,
		}

		if x.Local {
			local = append(local, index)
			continue
		}

		index["IndexStatus"] = "ACTIVE"
		if x.Building {
			index["IndexStatus"], index["Backfilling"] = "CREATING", true
		}
		index["ProvisionedThroughput"] = map[string]any{
			"ReadCapacityUnits": x.ReadUnits, "WriteCapacityUnits": x.WriteUnits, "NumberOfDecreasesToday": 0,
		}
		global = append(global, index)
	}

	if global != nil {
		d["GlobalSecondaryIndexes"] = global
	}

	if local != nil {
		d["LocalSecondaryIndexes"] = local
	}
}

// definitions are the attributes that a request defines, in its order.
type definitions []keyAttr

// parseDefinitions returns AttributeDefinitions, which were checked against the API model.
func parseDefinitions(list []attributeDefinitionIn) (definitions, error) {
	var out definitions
	for _, d := range list {
		if out.has(*d.AttributeName) {
			return nil, invalid("Duplicate AttributeName in AttributeDefinitions: %s", *d.AttributeName)
		}

		out = append(out, keyAttr{*d.AttributeName, keyKinds[*d.AttributeType]})
	}

	return out, nil
}

// has reports whether an attribute is defined.
func (d definitions) has(name string) bool {
	return slices.ContainsFunc(d, func(k keyAttr) bool { return k.Name == name })
}

func (d definitions) names() (names []string) {
	for _, k := range d {
		names = append(names, k.Name)
	}

	return names
}

// keyNames returns the attributes of a KeySchema, all of which must be defined.
func (d definitions) keyNames(schema []keyElementIn) ([]string, error) {
	if len(schema) > len(d) {
		return nil, invalid("Invalid KeySchema: Some index key attribute have no definition")
	}

	names := make([]string, len(schema))
	for i, e := range schema {
		names[i] = *e.AttributeName
	}

	if slices.ContainsFunc(names, func(name string) bool { return !d.has(name) }) {
		return nil, invalid("One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: %s, AttributeDefinitions: %s",
			list(hashOrder(names, smallTable)), list(hashOrder(d.names(), smallTable)))
	}

	return names, nil
}

// keys checks a KeySchema of one or two elements against the definitions and returns the key.
func (d definitions) keys(schema []keyElementIn) (k keySchema, err error) {
	names, err := d.keyNames(schema)
	if err != nil {
		return k, err
	}

	if len(names) == 2 && names[0] == names[1] {
		return k, invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	}

	if *schema[0].KeyType != "HASH" {
		return k, invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	}
	k.Hash = d.of(names[0])

	if len(schema) < 2 {
		return k, nil
	}

	if *schema[1].KeyType != "RANGE" {
		return k, invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	}
	k.Range = d.of(names[1])

	return k, nil
}

// of returns the definition of an attribute that has one.
func (d definitions) of(name string) keyAttr {
	return d[slices.IndexFunc(d, func(k keyAttr) bool { return k.Name == name })]
}

// checkUsed refuses definitions that no key uses.
func (d definitions) checkUsed(r *tableRecord) error {
	var unused []string
	for _, k := range d {
		if !r.usesKey(k.Name) {
			unused = append(unused, k.Name)
		}
	}

	switch {
	case len(unused) == 0:
		return nil
	case len(r.Indexes) == 0:
		return invalid("One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	}

	return invalid("One or more parameter values were invalid: Some AttributeDefinitions are not used. AttributeDefinitions: %s, keys used: %s",
		list(hashOrder(d.names(), smallTable)), list(hashOrder(r.definitions().names(), largeTable)))
}

// usesKey reports whether the attribute is part of a key of the table or of an index.
func (r *tableRecord) usesKey(name string) bool {
	return r.Keys.has(name) || slices.ContainsFunc(r.Indexes, func(x indexRecord) bool { return x.Keys.has(name) })
}

// definitions returns the attributes of all keys: those of the table first.
func (r *tableRecord) definitions() (all definitions) {
	add := func(keys keySchema) {
		for _, k := range keys.attrs() {
			if !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	add(r.Keys)

	for i := range r.Indexes {
		add(r.Indexes[i].Keys)
	}

	return all
}

func (d definitions) wire() []attributeDefinition {
	list := make([]attributeDefinition, len(d))
	for i, k := range d {
		list[i] = attributeDefinition{k.Name, k.Kind.String()}
	}

	return list
}
