package dynamodb

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/settings"
	"ratchet/embedded/internal/store"
)

type updateTableIn struct {
	TableName                   *string
	BillingMode                 string
	ProvisionedThroughput       *settings.Provisioned
	StreamSpecification         *streamSpecification
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

func (s *Service) updateTable(ctx context.Context, in *updateTableIn) (any, error) {
	if err := in.check(s); err != nil {
		return nil, err
	}
	s.tables.ddl.Lock()
	defer s.tables.ddl.Unlock()

	t, err := s.existingTable(in.TableName)
	if err != nil {
		return nil, err
	}

	before := t.state.Load()
	next := *before

	// Cloned, because the units of indexes are changed in place.
	next.record.Indexes = slices.Clone(next.record.Indexes)

	if err := in.apply(&next.record, s.cfg.Clock.Now()); err != nil {
		return nil, err
	}

	if err := s.applySettings(in, &next.record); err != nil {
		return nil, err
	}

	if err := in.applyIndexes(&next.record); err != nil {
		return nil, err
	}

	if next.record.Billing != before.record.Billing {
		if err := next.record.checkIndexUnits(); err != nil {
			return nil, err
		}
	}

	switch {
	// checkTogether refuses a request that also creates or deletes an index. All other changes
	// are saved with next.
	case in.StreamSpecification != nil:
		err = s.switchStream(t, &next, in.StreamSpecification)
	case len(in.GlobalSecondaryIndexUpdates) > 0:
		err = s.changeIndexes(ctx, t, before, &next)
	default:
		err = s.saveState(t, &next)
	}

	if err != nil {
		return nil, err
	}

	return map[string]any{"TableDescription": s.describe(t, t.state.Load())}, nil
}

// check validates what does not depend on the table.
// Source of the order: https://github.com/architect/dynalite test/updateTable.js, recorded on the
// service
func (in *updateTableIn) check(s *Service) error {
	if err := in.constrain(s); err != nil {
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
			return invalid("%s are not supported by the embedded engine", refused.what)
		}
	}

	if in.isEmpty() {
		return invalid("At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required")
	}

	if in.BillingMode == "PROVISIONED" && in.ProvisionedThroughput == nil {
		return invalid("One or more parameter values were invalid: ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
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
func (in *updateTableIn) checkTogether() error {
	const prefix = "One or more parameter values were invalid: You cannot "

	if err := in.checkAlone(); err != nil {
		return err
	}

	units, stream := in.ProvisionedThroughput != nil, in.StreamSpecification != nil
	online := slices.ContainsFunc(in.GlobalSecondaryIndexUpdates, func(u indexUpdate) bool { return u.Update == nil })

	switch {
	case units && stream:
		return invalid(prefix + "modify stream status while updating table IOPS")
	case units && online:
		return invalid(prefix + "create or delete index while updating table IOPS")
	case stream && online:
		return invalid(prefix + "create or delete index while changing stream status")
	}

	return nil
}

// checkAlone refuses a change beside others if it must be the only one.
func (in *updateTableIn) checkAlone() error {
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
		return invalid("One or more parameter values were invalid: %s must be the only operation in the request", given[0].alone)
	}

	return nil
}

// constrain checks the members against the API model.
func (in *updateTableIn) constrain(s *Service) error {
	if err := requireTable(in.TableName); err != nil {
		return err
	}

	var c constraints
	c.definitions(in.AttributeDefinitions)
	s.constrainTable(&c, in.TableName, "tableName")
	in.ProvisionedThroughput.Constrain(&c.Constraints, "provisionedThroughput")
	c.billingMode(in.BillingMode)

	for i := range in.GlobalSecondaryIndexUpdates {
		in.GlobalSecondaryIndexUpdates[i].constrain(&c, model.Member("globalSecondaryIndexUpdates", i))
	}
	c.streamView(in.StreamSpecification)
	in.SSESpecification.Constrain(&c.Constraints)
	c.tableClass(in.TableClass)

	return c.Err()
}

// isEmpty reports whether the request asks for no change.
func (in *updateTableIn) isEmpty() bool {
	return in.BillingMode == "" && in.ProvisionedThroughput == nil && in.StreamSpecification == nil &&
		in.DeletionProtectionEnabled == nil && in.TableClass == "" && len(in.GlobalSecondaryIndexUpdates) == 0 &&
		in.SSESpecification == nil && !in.Given()
}

// apply makes the changes to the record, except for the stream and the indexes.
func (in *updateTableIn) apply(r *tableRecord, now time.Time) error {
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
			return invalid("The provisioned throughput for the table will not change. The requested value equals the current value. "+
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
func (s *Service) applySettings(in *updateTableIn, r *tableRecord) error {
	if err := r.Set(&in.Throughput, r.owner(), false); err != nil {
		return err
	}

	if in.SSESpecification == nil {
		return nil
	}

	key, err := in.SSESpecification.KeyARN(r.KeyARN, s.keyPrefix())
	switch {
	case err != nil:
		return err
	// Source of both refusals: ack-api-quirks, services/dynamodb, "Table is already encrypted", recorded on the service
	case key == "" && r.KeyARN == "":
		return invalid("One or more parameter values were invalid: Table is already encrypted by default")
	case key == r.KeyARN && in.SSESpecification.KMSMasterKeyId != nil:
		return invalid("One or more parameter values were invalid: Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId parameter if you want to change Master Key")
	}
	r.KeyARN = key

	return nil
}

// switchStream enables or disables the table's stream, saves next and publishes it. The
// caller holds ddl.
func (s *Service) switchStream(t *table, next *tableState, spec *streamSpecification) error {
	b := s.db.NewBatch()
	commit := b.Commit
	now := s.cfg.Clock.Now()
	switch {
	case *spec.StreamEnabled && next.stream != nil:
		b.Discard()
		return invalid("Table already has an enabled stream: TableName: %s", t.name)
	case !*spec.StreamEnabled && next.stream == nil:
		b.Discard()
		return invalid("Table has no stream to disable: TableName: %s", t.name)
	case *spec.StreamEnabled:
		if err := s.enableStream(b, next, now, spec.StreamViewType); err != nil {
			b.Discard()
			return err
		}
	default:
		// Writers that still hold the old state find no open shard.
		old := next.stream
		next.stream, next.record.StreamOn = nil, false
		commit = func() error { return s.streams.Disable(b, old, now) }
	}

	if err := stageAndCommit(b, next, commit); err != nil {
		return fmt.Errorf("change the stream of table %s: %w", t.name, err)
	}

	// The stream is added before the state is published: a caller that sees the new ARN
	// must find the stream.
	if next.stream != nil {
		s.streams.Add(next.stream)
	}
	t.state.Store(next)

	return nil
}

func stageAndCommit(b *store.Batch, next *tableState, commit func() error) error {
	if err := stageTable(b, &next.record); err != nil {
		b.Discard()
		return err
	}

	return commit()
}
