package dynamodb

import (
	"fmt"
	"slices"

	"ratchet/embedded/internal/wire"
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
	maxNonKey        = 100
)

type projectionDefinition struct {
	ProjectionType   string
	NonKeyAttributes []string
}

// indexDefinition is a member of GlobalSecondaryIndexes or LocalSecondaryIndexes.
type indexDefinition struct {
	IndexName             *string
	KeySchema             []keyElement
	Projection            *projectionDefinition
	ProvisionedThroughput *throughput
}

// checkIndexLists refuses lists of definitions that are empty or too long.
func checkIndexLists(global, local []indexDefinition) error {
	for _, list := range []struct {
		what  string
		is    []indexDefinition
		limit int
	}{
		{"GlobalSecondaryIndex", global, maxGlobalIndexes},
		{"LocalSecondaryIndex", local, maxLocalIndexes},
	} {
		if list.is != nil && len(list.is) == 0 {
			return invalid("One or more parameter values were invalid: List of %ses is empty", list.what)
		}

		if len(list.is) > list.limit {
			return invalid("One or more parameter values were invalid: %s count exceeds the per-table limit of %d", list.what, list.limit)
		}
	}

	return nil
}

// addIndex checks a definition against the table and adds it to the record, without a number.
func (r *tableRecord) addIndex(d *indexDefinition, local bool, kinds definitions) error {
	if d.IndexName == nil {
		return wire.Missing("indexName")
	}

	name := *d.IndexName
	if err := checkIndexName(name); err != nil {
		return err
	}

	if r.indexNamed(name) != nil {
		return invalid("One or more parameter values were invalid: Duplicate index name: %s", name)
	}

	x := indexRecord{Name: name, Local: local}

	var err error
	if x.Keys, err = kinds.keys(d.KeySchema); err != nil {
		return err
	}

	if err := x.setProjection(d.Projection); err != nil {
		return err
	}

	if local {
		err = x.checkLocal(r.Keys)
	} else {
		err = x.setThroughput(r.Billing, d.ProvisionedThroughput)
	}

	if err != nil {
		return err
	}

	r.Indexes = append(slices.Clone(r.Indexes), x)

	return nil
}

func checkIndexName(name string) error {
	if len(name) < 3 || len(name) > 255 {
		return invalid("IndexName must be at least 3 characters long and at most 255 characters long")
	}

	return checkNameCharacters("indexName", name)
}

func (x *indexRecord) setProjection(p *projectionDefinition) error {
	if p == nil {
		return wire.Missing("projection")
	}

	if p.ProjectionType == "" {
		return invalid("One or more parameter values were invalid: Unknown ProjectionType: null")
	}

	if err := wire.OneOf(p.ProjectionType, "projection.projectionType", projectAll, projectInclude, projectKeys); err != nil {
		return err
	}

	switch {
	case p.ProjectionType == projectInclude && len(p.NonKeyAttributes) == 0:
		return invalid("One or more parameter values were invalid: ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	case p.ProjectionType != projectInclude && p.NonKeyAttributes != nil:
		return invalid("One or more parameter values were invalid: ProjectionType is %s, but NonKeyAttributes is specified", p.ProjectionType)
	case len(p.NonKeyAttributes) > maxNonKey:
		return invalid("One or more parameter values were invalid: NonKeyAttributes count exceeds the limit of %d", maxNonKey)
	}

	x.Projection, x.NonKey = p.ProjectionType, p.NonKeyAttributes

	return nil
}

// checkLocal checks a local index against the key of its table.
func (x *indexRecord) checkLocal(table keySchema) error {
	switch {
	case table.Range.Name == "":
		return invalid("One or more parameter values were invalid: Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex")
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

	if t == nil || t.ReadCapacityUnits == nil || t.WriteCapacityUnits == nil {
		return invalid("One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified for index: %s", x.Name)
	}

	if err := t.checkUnits(); err != nil {
		return err
	}

	x.ReadUnits, x.WriteUnits = *t.ReadCapacityUnits, *t.WriteCapacityUnits

	return nil
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

// parseDefinitions checks AttributeDefinitions.
func parseDefinitions(list []attributeDefinition) (definitions, error) {
	var out definitions
	for _, d := range list {
		if d.AttributeType == "" {
			return nil, wire.Missing("attributeDefinitions.1.member.attributeType")
		}

		kind, ok := keyKinds[d.AttributeType]
		if !ok {
			return nil, wire.OneOf(d.AttributeType, "attributeDefinitions.1.member.attributeType", "B", "N", "S")
		}

		if out.has(d.AttributeName) {
			return nil, invalid("Duplicate AttributeName in AttributeDefinitions: %s", d.AttributeName)
		}

		out = append(out, keyAttr{d.AttributeName, kind})
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

// keys checks a KeySchema against the definitions and returns the key.
func (d definitions) keys(schema []keyElement) (k keySchema, err error) {
	if len(schema) == 0 {
		return k, wire.Missing("keySchema")
	}

	if len(schema) > 2 {
		return k, wire.BadParameter("'"+fmt.Sprint(schema)+"'", "keySchema", "Member must have length less than or equal to 2")
	}

	for i, e := range schema {
		want, at := "HASH", &k.Hash
		if i == 1 {
			want, at = "RANGE", &k.Range
		}

		if e.KeyType != want {
			if err := wire.OneOf(e.KeyType, fmt.Sprintf("keySchema.%d.member.keyType", i+1), "HASH", "RANGE"); err != nil {
				return k, err
			}

			if i == 0 {
				return k, invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
			}

			return k, invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
		}

		if n := len(e.AttributeName); n < 1 || n > 255 {
			return k, wire.BadParameter("'"+e.AttributeName+"'", fmt.Sprintf("keySchema.%d.member.attributeName", i+1),
				"Member must have length between 1 and 255")
		}

		found := slices.IndexFunc(d, func(k keyAttr) bool { return k.Name == e.AttributeName })
		if found < 0 {
			return k, invalid("One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [%s], AttributeDefinitions: %v",
				e.AttributeName, d.names())
		}
		*at = d[found]
	}

	if k.Hash.Name == k.Range.Name {
		return k, invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	}

	return k, nil
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

	return invalid("One or more parameter values were invalid: Some AttributeDefinitions are not used. AttributeDefinitions: %v, keys used: %v",
		d.names(), r.definitions().names())
}

// usesKey reports whether the attribute is part of a key of the table or of an index.
func (r *tableRecord) usesKey(name string) bool {
	return r.Keys.has(name) || slices.ContainsFunc(r.Indexes, func(x indexRecord) bool { return x.Keys.has(name) })
}

// definitions returns the attributes of all keys: those of the table first.
func (r *tableRecord) definitions() (all definitions) {
	add := func(keys keySchema) {
		for _, k := range []keyAttr{keys.Hash, keys.Range} {
			if k.Name != "" && !slices.Contains(all, k) {
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
