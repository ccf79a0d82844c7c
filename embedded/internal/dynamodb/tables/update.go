package tables

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/settings"
	"ratchet/embedded/internal/wire"
)

// Update is an UpdateTable request.
type Update struct {
	TableName                   *string
	BillingMode                 string
	ProvisionedThroughput       *settings.Provisioned
	StreamSpecification         *StreamSpecification
	DeletionProtectionEnabled   *bool
	TableClass                  string
	AttributeDefinitions        []attributeDefinitionIn
	GlobalSecondaryIndexUpdates []indexUpdate
	ReplicaUpdates              []jsontext.Value
	VectorIndexUpdates          []jsontext.Value
	GlobalTableWitnessUpdates   []jsontext.Value
	SSESpecification            *settings.Encryption
	settings.Throughput

	DisassociationProtectionEnabled    *bool
	GlobalTableSettingsReplicationMode *string
	MultiRegionConsistency             *string
}

// Check validates what does not depend on the table. name checks the table's name.
// Source of the order: https://github.com/architect/dynalite test/updateTable.js, recorded on the
// service
func (in *Update) Check(name func(*model.Constraints)) error {
	if err := in.constrain(name); err != nil {
		return err
	}

	// Refused and not ignored: the caller would wait for replicas that never come.
	for _, refused := range []struct {
		what string
		is   bool
	}{
		{"ReplicaUpdates", len(in.ReplicaUpdates) > 0},
		{"VectorIndexUpdates", len(in.VectorIndexUpdates) > 0},
		{"GlobalTableWitnessUpdates", len(in.GlobalTableWitnessUpdates) > 0},
		{"DisassociationProtectionEnabled", in.DisassociationProtectionEnabled != nil},
		{"GlobalTableSettingsReplicationMode", in.GlobalTableSettingsReplicationMode != nil},
		{"MultiRegionConsistency", in.MultiRegionConsistency != nil},
	} {
		if refused.is {
			return wire.Invalid("%s are not supported by the embedded engine", refused.what)
		}
	}

	if in.isEmpty() {
		return wire.Invalid("At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required")
	}

	if in.BillingMode == "PROVISIONED" && in.ProvisionedThroughput == nil {
		return wire.Invalid("One or more parameter values were invalid: ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
	}

	if t := in.ProvisionedThroughput; t != nil {
		if err := t.CheckBounds(); err != nil {
			return err
		}
	}

	if err := checkIndexUpdates(in.GlobalSecondaryIndexUpdates); err != nil {
		return err
	}

	if err := in.checkTogether(); err != nil {
		return err
	}

	return in.StreamSpecification.checkView("If stream is being enabled then UpdateViewType is required",
		"If stream is being disabled, then UpdateViewType must not be specified")
}

// checkTogether refuses changes that the service does not make in one request.
// Source: findings DDB-TABLE-174, DDB-TABLE-382, DDB-TABLE-433 and DDB-TABLE-442 of ack-api-quirks, services/dynamodb,
// recorded on the service in October 2026. When the service checks this is not recorded
func (in *Update) checkTogether() error {
	const prefix = "One or more parameter values were invalid: You cannot "

	if err := in.checkAlone(); err != nil {
		return err
	}

	units, stream := in.ProvisionedThroughput != nil, in.StreamSpecification != nil
	online := slices.ContainsFunc(in.GlobalSecondaryIndexUpdates, func(u indexUpdate) bool { return u.Update == nil })

	switch {
	case units && stream:
		return wire.Invalid(prefix + "modify stream status while updating table IOPS")
	case units && online:
		return wire.Invalid(prefix + "create or delete index while updating table IOPS")
	case stream && online:
		return wire.Invalid(prefix + "create or delete index while changing stream status")
	}

	return nil
}

// checkAlone refuses a change beside others if it must be the only one.
func (in *Update) checkAlone() error {
	type change struct {
		given bool
		alone string // the service's name of a change that must be alone
	}

	// Of several such changes, the service names the first.
	given := slices.DeleteFunc([]change{
		{in.SSESpecification != nil, "Server-Side Encryption modification"},
		{in.TableClass != "", "TableClass modification"},
		{in.DeletionProtectionEnabled != nil, "DeletionProtection modification"},
		{in.WarmThroughput != nil, "WarmThroughput"},
		{in.BillingMode != "" || in.ProvisionedThroughput != nil, ""},
		{in.OnDemandThroughput != nil, ""},
		{in.StreamSpecification != nil, ""},
		{len(in.GlobalSecondaryIndexUpdates) > 0, ""},
	}, func(c change) bool { return !c.given })

	if len(given) > 1 && given[0].alone != "" {
		return wire.Invalid("One or more parameter values were invalid: %s must be the only operation in the request", given[0].alone)
	}

	return nil
}

// constrain checks the members against the API model.
func (in *Update) constrain(name func(*model.Constraints)) error {
	if err := RequireTable(in.TableName); err != nil {
		return err
	}

	var c model.Constraints
	constrainDefinitions(&c, in.AttributeDefinitions)
	name(&c)
	in.ProvisionedThroughput.Constrain(&c, "provisionedThroughput")
	constrainBillingMode(&c, in.BillingMode)

	for i := range in.GlobalSecondaryIndexUpdates {
		in.GlobalSecondaryIndexUpdates[i].constrain(&c, model.Member("globalSecondaryIndexUpdates", i))
	}
	constrainStreamView(&c, in.StreamSpecification)
	in.SSESpecification.Constrain(&c)
	constrainTableClass(&c, in.TableClass)

	return c.Err()
}

// isEmpty reports whether the request asks for no change.
func (in *Update) isEmpty() bool {
	return in.BillingMode == "" && in.ProvisionedThroughput == nil && in.StreamSpecification == nil &&
		in.DeletionProtectionEnabled == nil && in.TableClass == "" && len(in.GlobalSecondaryIndexUpdates) == 0 &&
		in.SSESpecification == nil && !in.Given()
}

// Apply makes the changes to the record, except for the stream. A new index has no number yet. The units of indexes are
// changed in place. keys is the beginning of the ARNs of KMS keys.
func (in *Update) Apply(r *Record, now time.Time, keys string) error {
	before := r.Billing

	for _, change := range []func() error{
		func() error { return in.applyTable(r, now) },
		func() error { return in.applySettings(r, keys) },
		func() error { return in.applyIndexes(r) },
	} {
		if err := change(); err != nil {
			return err
		}
	}

	if r.Billing == before {
		return nil
	}

	return r.checkIndexUnits()
}

// applyTable makes the changes of the billing mode, the protection and the class.
func (in *Update) applyTable(r *Record, now time.Time) error {
	if in.BillingMode != "" || in.ProvisionedThroughput != nil {
		mode := in.BillingMode
		if mode == "" {
			mode = r.Billing
		}

		before := *r
		if err := r.setBilling(mode, in.ProvisionedThroughput); err != nil {
			return err
		}

		// Only throughput is refused if nothing changes. A BillingMode may be repeated.
		if in.ProvisionedThroughput != nil && r.Billing == before.Billing && r.ReadUnits == before.ReadUnits && r.WriteUnits == before.WriteUnits {
			return wire.Invalid("The provisioned throughput for the table will not change. The requested value equals the current value. "+
				"Current ReadCapacityUnits provisioned for the table: %d. Requested ReadCapacityUnits: %d. "+
				"Current WriteCapacityUnits provisioned for the table: %d. Requested WriteCapacityUnits: %d. "+
				"Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.",
				before.ReadUnits, r.ReadUnits, before.WriteUnits, r.WriteUnits)
		}

		if r.Billing != before.Billing {
			r.BillingSince = now
		}
	}

	if in.DeletionProtectionEnabled != nil {
		r.DeletionProtection = *in.DeletionProtectionEnabled
	}

	r.setClass(in.TableClass)

	return nil
}

// applySettings makes the changes to the settings that have no effect.
func (in *Update) applySettings(r *Record, keys string) error {
	if err := r.Set(&in.Throughput, r.owner(), false); err != nil {
		return err
	}

	if in.SSESpecification == nil {
		return nil
	}

	key, err := in.SSESpecification.KeyARN(r.KeyARN, keys)
	switch {
	case err != nil:
		return err
	// Source of both refusals: ack-api-quirks, services/dynamodb, "Table is already encrypted", recorded on the service
	case key == "" && r.KeyARN == "":
		return wire.Invalid("One or more parameter values were invalid: Table is already encrypted by default")
	case key == r.KeyARN && in.SSESpecification.KMSMasterKeyId != nil:
		return wire.Invalid("One or more parameter values were invalid: Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId parameter if you want to change Master Key")
	}
	r.KeyARN = key

	return nil
}
