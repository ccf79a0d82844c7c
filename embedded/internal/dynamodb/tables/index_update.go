package tables

import (
	"slices"

	"ratchet/embedded/internal/dynamodb/indexes"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/settings"
	"ratchet/embedded/internal/wire"
)

// indexUpdate is a member of GlobalSecondaryIndexUpdates.
type indexUpdate struct {
	Create *indexDefinition
	Update *struct {
		IndexName             *string
		ProvisionedThroughput *settings.Provisioned
		settings.Throughput
	}
	Delete *struct{ IndexName *string }
}

// constrain checks the members against the API model.
func (u *indexUpdate) constrain(c *model.Constraints, at string) {
	if u.Update != nil {
		c.RequiredName(u.Update.IndexName, at+".update.indexName")

		if u.Update.ProvisionedThroughput == nil && !u.Update.Given() {
			c.Missing(at + ".update.provisionedThroughput")
		}
		u.Update.ProvisionedThroughput.Constrain(c, at+".update.provisionedThroughput")
	}

	if u.Create != nil {
		constrainIndex(c, u.Create, at+".create", mostGlobalKeys)
	}

	if u.Delete != nil {
		c.RequiredName(u.Delete.IndexName, at+".delete.indexName")
	}
}

// index returns the name of the index that is changed, empty if there is no change.
func (u *indexUpdate) index() string {
	switch {
	case u.Update != nil:
		return *u.Update.IndexName
	case u.Create != nil:
		return *u.Create.IndexName
	case u.Delete != nil:
		return *u.Delete.IndexName
	}

	return ""
}

// actions returns how many changes the update asks for.
func (u *indexUpdate) actions() (n int) {
	for _, is := range [...]bool{u.Create != nil, u.Update != nil, u.Delete != nil} {
		if is {
			n++
		}
	}

	return n
}

// isEmptyWarm reports whether the update sets a warm throughput without units.
func (u *indexUpdate) isEmptyWarm() bool {
	return u.Update != nil && u.Update.WarmThroughput != nil && *u.Update.WarmThroughput == settings.Warm{}
}

// checkIndexUpdates refuses an empty list, an update without an action or with several actions, and
// two updates of one index.
// Source: findings DDB-TABLE-160 and DDB-TABLE-359 of ack-api-quirks, services/dynamodb, recorded
// on the service
func checkIndexUpdates(updates []indexUpdate) error {
	if updates != nil && len(updates) == 0 {
		return wire.Invalid("One or more parameter values were invalid: List of GlobalSecondaryIndexUpdates is empty")
	}

	seen := map[string]bool{}
	for i := range updates {
		name := updates[i].index()
		switch {
		case updates[i].actions() > 1:
			return wire.Invalid("One or more parameter values were invalid: Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object")
		case name == "":
			return wire.Invalid("One or more parameter values were invalid: One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null")
		case updates[i].isEmptyWarm():
			// Source: finding DDB-TABLE-456 of ack-api-quirks, services/dynamodb, recorded on the service
			return wire.Invalid("One or more parameter values were invalid: WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond specified for index: %s", name)
		case seen[name]:
			return wire.Invalid("One or more parameter values were invalid: Only one global secondary index update per index is allowed simultaneously. Index: %s", name)
		}
		seen[name] = true
	}

	return nil
}

// apply makes the change to the record, without the entries of the index.
func (u *indexUpdate) apply(r *Record, kinds definitions) error {
	switch {
	case u.Create != nil:
		return r.createIndex(u.Create, kinds)
	case u.Update != nil:
		return u.updateUnits(r)
	default:
		x, err := r.globalIndex(u.Delete.IndexName, "delete")
		if err != nil {
			return err
		}

		gone := x.Name
		r.Indexes = slices.DeleteFunc(slices.Clone(r.Indexes), func(x indexes.Index) bool { return x.Name == gone })

		return nil
	}
}

// createIndex adds a global index that is to be built.
func (r *Record) createIndex(d *indexDefinition, kinds definitions) error {
	if r.IndexNamed(*d.IndexName) != nil {
		return wire.Invalid("Attempting to create an index which already exists")
	}

	// Source: findings DDB-TABLE-152, DDB-TABLE-162 and DDB-TABLE-442 of ack-api-quirks, services/dynamodb, recorded on
	// the service
	switch {
	case len(kinds) == 0:
		return wire.Invalid("One or more parameter values were invalid: AttributeDefinitions is not specified for index: %s", *d.IndexName)
	case r.Billing == "PROVISIONED" && d.ProvisionedThroughput == nil:
		return wire.Invalid("One or more parameter values were invalid: Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: %s", *d.IndexName)
	case r.Billing != "PROVISIONED" && d.ProvisionedThroughput != nil:
		return wire.Invalid("One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: %s when BillingMode is PAY_PER_REQUEST", *d.IndexName)
	}

	x, err := r.newIndex(d, false, kinds)
	if err != nil {
		return err
	}

	// Reads are refused until buildIndexes has entered all items.
	x.Building = true
	if err := r.addIndex(x, d); err != nil {
		return err
	}

	global := 0
	for i := range r.Indexes {
		if !r.Indexes[i].Local {
			global++
		}
	}

	if global > maxGlobalIndexes {
		return wire.Errorf("LimitExceededException", "GlobalSecondaryIndex count exceeds the per-table limit of %d", maxGlobalIndexes)
	}

	return nil
}

// updateUnits sets the provisioned throughput of a global index.
func (u *indexUpdate) updateUnits(r *Record) error {
	t := u.Update.ProvisionedThroughput
	if t != nil && t.CheckBounds() != nil {
		return wire.Invalid("This operation cannot be performed with given input values. Please contact DynamoDB service team for more info: Action Blocked: IndexUpdate")
	}

	x, err := r.globalIndex(u.Update.IndexName, "update")
	if err != nil {
		return err
	}

	if err := x.Set(&u.Update.Throughput, indexOwner(x, r.Billing), false); err != nil {
		return err
	}

	switch {
	case t == nil:
		return nil
	case r.Billing != "PROVISIONED":
		// Source: finding DDB-TABLE-152 of ack-api-quirks, services/dynamodb, recorded on the service
		return wire.Invalid("One or more parameter values were invalid: The only Updates for index: %s when TableThroughputMode is PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput", x.Name)
	}

	return setThroughput(x, r.Billing, t)
}

// globalIndex returns the global index that a request wants to update or delete.
// Source of the words about a local index: ack-api-quirks, services/dynamodb, "LSIs are create-only", recorded on
// the service
func (r *Record) globalIndex(name *string, verb string) (*indexes.Index, error) {
	x := r.IndexNamed(*name)
	switch {
	case x == nil:
		return nil, wire.Errorf("ResourceNotFoundException", "Requested resource not found")
	case x.Local:
		return nil, wire.Invalid("Cannot %s an index that is not a GlobalSecondaryIndex: %s", verb, x.Name)
	}

	return x, nil
}

// applyIndexes makes the changes of the indexes to the record. One index can be created or
// deleted at a time.
func (in *Update) applyIndexes(r *Record) error {
	if in.GlobalSecondaryIndexUpdates == nil {
		return nil
	}

	online := 0
	for _, u := range in.GlobalSecondaryIndexUpdates {
		if u.Create != nil || u.Delete != nil {
			online++
		}
	}

	if online > 1 {
		return wire.Errorf("LimitExceededException", "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table")
	}

	kinds, err := parseDefinitions(in.AttributeDefinitions)
	if err != nil {
		return err
	}

	// The request must define all keys of a new index, but attributes that the table defines already keep their
	// types.
	// Source: https://github.com/nubo-db/dynoxide/issues/144 and
	// https://github.com/paritysuite/dynamodb-conformance/issues/78, observed on the service
	defined := r.definitions()
	for i, k := range kinds {
		if defined.has(k.Name) {
			kinds[i] = defined.of(k.Name)
		}
	}

	for i := range in.GlobalSecondaryIndexUpdates {
		if err := in.GlobalSecondaryIndexUpdates[i].apply(r, kinds); err != nil {
			return err
		}
	}

	return nil
}
