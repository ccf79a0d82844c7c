package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

// Table is a table that the program needs.
type Table struct {
	// Input creates the table.
	Input *dynamodb.CreateTableInput
	// TTL is the attribute of its time to live. Empty: it must have none, since its items are kept.
	TTL string
	// Given: another program has the table, so `ratchet init` never creates or alters it.
	Given bool
}

func (t Table) name() string    { return aws.ToString(t.Input.TableName) }
func (t Table) subject() string { return "table " + t.name() }

// creation says how a missing table comes to be.
func (t Table) creation() string {
	if !t.Given {
		return runInit
	}

	return fmt.Sprintf("the setting orders-table names it: correct the name, or create the table with the key %s and a stream of %s; `ratchet init` never does",
		keyOf(t.Input.KeySchema, t.Input.AttributeDefinitions), types.StreamViewTypeNewAndOldImages)
}

// tablesAtOnce bounds the tables that are looked at at the same time.
const tablesAtOnce = 8

// runInit is the action for a missing table, queue or state machine.
const runInit = "`ratchet init` creates it"

// checkTables compares every table with its input, and tries the permissions on its items.
func (e *examination) checkTables(ctx context.Context) []Check {
	found := make([][]Check, len(e.cfg.Tables))
	missing := make([]bool, len(e.cfg.Tables))
	e.described = make([]*types.TableDescription, len(e.cfg.Tables))

	var group errgroup.Group
	group.SetLimit(tablesAtOnce)

	// Each goroutine writes its own places, so no lock is needed.
	for i, t := range e.cfg.Tables {
		group.Go(func() error {
			found[i], e.described[i], missing[i] = e.checkTable(ctx, t)
			return nil
		})
	}
	_ = group.Wait() // no function returns an error

	// If no table exists, the cause is the Region or the prefix; a failure for each would hide it.
	if len(missing) > 1 && !slices.Contains(missing, false) {
		return []Check{NewFailure("tables", fmt.Sprintf("none of the %d tables exists, from %s on", len(missing), e.cfg.Tables[0].name()),
			"check region, account, endpoint and prefix; `ratchet init` creates the tables")}
	}

	checks := slices.Concat(found...)
	if backups := e.checkProtection(ctx, missing); backups != nil {
		checks = append(checks, *backups)
	}

	return checks
}

// checkTable also returns the table as it is, nil if it cannot be described.
func (e *examination) checkTable(ctx context.Context, want Table) (checks []Check, is *types.TableDescription, missing bool) {
	out, err := e.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: want.Input.TableName})

	var absent *types.ResourceNotFoundException
	switch {
	// Nothing else can be asked of a table that is missing.
	case errors.As(err, &absent):
		return []Check{NewFailure(want.subject(), "does not exist", want.creation())}, nil, true
	case err != nil:
		return []Check{NewUnchecked(want.subject(), "dynamodb:DescribeTable: "+brief(err), "allow dynamodb:DescribeTable on it")}, nil, false
	}

	is = out.Table
	for _, problem := range want.compare(is) {
		checks = append(checks, NewFailure(want.subject(), problem.found, problem.action))
	}

	// A table that was always provisioned has no summary.
	if mode := is.BillingModeSummary; want.Input.BillingMode == types.BillingModePayPerRequest && (mode == nil || mode.BillingMode != types.BillingModePayPerRequest) {
		checks = append(checks, NewWarning(want.subject(), "has provisioned capacity: load above it is throttled",
			"`aws dynamodb update-table --table-name "+want.name()+" --billing-mode PAY_PER_REQUEST`"))
	}

	checks = append(checks, e.checkTTL(ctx, want)...)

	refused, operations := e.checkOperations(ctx, want, is)
	checks = append(checks, refused...)

	if len(checks) == 0 {
		found := "as `ratchet init` creates it"
		if want.Given {
			found = "has the key and the stream that the settings say"
		}

		if len(operations) > 0 {
			found += "; allowed: " + strings.Join(operations, ", ")
		}
		checks = append(checks, NewOK(want.subject(), found))
	}

	return checks, is, false
}

// problem is a difference of a table, with its remedy.
type problem struct{ found, action string }

// compare returns how the table differs from its input.
func (t Table) compare(is *types.TableDescription) (problems []problem) {
	fault := func(action, format string, args ...any) {
		problems = append(problems, problem{fmt.Sprintf(format, args...), action})
	}

	if is.TableStatus != types.TableStatusActive {
		fault("wait until it is ACTIVE", "is %s", is.TableStatus)
	}

	// The keys are compared as texts, which the finding shows: the texts have the types, the
	// schema has not.
	wanted := keyOf(t.Input.KeySchema, t.Input.AttributeDefinitions)
	if got := keyOf(is.KeySchema, is.AttributeDefinitions); got != wanted {
		action := "a key cannot be changed: copy what you need, delete the table, then `ratchet init`"
		if t.Given {
			action = "correct the settings orders-key and orders-sort, or name another table with orders-table"
		}
		fault(action, "its key is %s, not %s", got, wanted)
	}

	indexes, described := indexesOf(t.Input.GlobalSecondaryIndexes, t.Input.AttributeDefinitions), describedIndexes(is)
	for _, name := range slices.Sorted(maps.Keys(indexes)) {
		wanted := indexes[name]

		switch got, found := described[name]; {
		case !found:
			fault("add it with `aws dynamodb update-table --global-secondary-index-updates`, or, if the table may be emptied, delete the table and `ratchet init`",
				"its index %s is missing (%s)", name, wanted)
		case got != wanted:
			fault("delete the index and add it again with `aws dynamodb update-table --global-secondary-index-updates`", "its index %s is %s, not %s", name, got, wanted)
		}
	}

	if s := t.Input.StreamSpecification; s != nil && aws.ToBool(s.StreamEnabled) {
		// The view type of a stream cannot be changed: the stream has to be switched off and on.
		enable := fmt.Sprintf("`aws dynamodb update-table --table-name %s --stream-specification StreamEnabled=true,StreamViewType=%s`", t.name(), s.StreamViewType)

		switch got := is.StreamSpecification; {
		// A stream that is switched on again is a new stream, without the records of the time
		// between.
		case got == nil || !aws.ToBool(got.StreamEnabled):
			fault(enable+", then `ratchet streams rebuild`: changes meanwhile made no records", "its stream is off, so nothing reacts to transitions")
		case got.StreamViewType != s.StreamViewType:
			fault("switch the stream off (StreamEnabled=false), then "+enable+" and `ratchet streams rebuild`", "its stream has %s, not %s", got.StreamViewType, s.StreamViewType)
		}
	}

	return problems
}

// Differences says in what the table differs from its input. It is the comparison of the doctor, for those who plan what
// to deploy.
func (t Table) Differences(is *types.TableDescription) (all []string) {
	for _, p := range t.compare(is) {
		all = append(all, p.found)
	}

	return all
}

// keyOf writes a key with the types of its attributes, as "orderId (S), transitionId (N)".
func keyOf(schema []types.KeySchemaElement, attributes []types.AttributeDefinition) string {
	// Sorted, because the order of the elements means nothing.
	schema = slices.SortedFunc(slices.Values(schema), func(a, b types.KeySchemaElement) int { return cmp.Compare(a.KeyType, b.KeyType) }) // HASH, RANGE

	parts := make([]string, len(schema))
	for i, key := range schema {
		parts[i] = fmt.Sprintf("%s (%s)", aws.ToString(key.AttributeName), typeOf(aws.ToString(key.AttributeName), attributes))
	}

	return strings.Join(parts, ", ")
}

func typeOf(name string, attributes []types.AttributeDefinition) types.ScalarAttributeType {
	for _, a := range attributes {
		if aws.ToString(a.AttributeName) == name {
			return a.AttributeType
		}
	}

	return ""
}

// indexesOf returns each index in words, by its name.
func indexesOf(indexes []types.GlobalSecondaryIndex, attributes []types.AttributeDefinition) map[string]string {
	all := map[string]string{}
	for _, i := range indexes {
		all[aws.ToString(i.IndexName)] = describeIndex(i.KeySchema, i.Projection, attributes)
	}

	return all
}

func describedIndexes(table *types.TableDescription) map[string]string {
	all := map[string]string{}
	for _, i := range table.GlobalSecondaryIndexes {
		all[aws.ToString(i.IndexName)] = describeIndex(i.KeySchema, i.Projection, table.AttributeDefinitions)
	}

	return all
}

func describeIndex(schema []types.KeySchemaElement, p *types.Projection, attributes []types.AttributeDefinition) string {
	text := keyOf(schema, attributes)
	if p == nil {
		return text
	}

	text += ", projection " + string(p.ProjectionType)
	if len(p.NonKeyAttributes) > 0 {
		text += " " + strings.Join(slices.Sorted(slices.Values(p.NonKeyAttributes)), ", ")
	}

	return text
}

// checkTTL compares the time to live of a table.
func (e *examination) checkTTL(ctx context.Context, want Table) []Check {
	out, err := e.db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: want.Input.TableName})
	if err != nil {
		return []Check{NewUnchecked(want.subject(), "dynamodb:DescribeTimeToLive: "+brief(err), "allow dynamodb:DescribeTimeToLive on it")}
	}

	got, on := "", false
	if d := out.TimeToLiveDescription; d != nil {
		got = aws.ToString(d.AttributeName)
		// ENABLING can last an hour, and is not a finding.
		on = d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling
	}

	off := fmt.Sprintf("`aws dynamodb update-time-to-live --table-name %s --time-to-live-specification Enabled=false,AttributeName=%s`", want.name(), got)

	switch {
	// Worst first: items that must be kept are deleted.
	case on && want.TTL == "":
		return []Check{NewFailure(want.subject(), "deletes items by their attribute "+got+", but its items are to be kept", off)}
	case on && got != want.TTL:
		// AWS accepts one change of a table's time to live per hour.
		return []Check{NewFailure(want.subject(), fmt.Sprintf("its time to live uses the attribute %s, not %s", got, want.TTL), off+"; an hour later `ratchet init`")}
	case !on && want.TTL != "":
		return []Check{NewWarning(want.subject(), "its time to live is off: expired items are ignored, but stay and cost storage", "`ratchet init` switches it on")}
	}

	return nil
}

// checkProtection looks, on AWS, for tables whose items are kept and that have neither backups nor
// protection against deletion.
func (e *examination) checkProtection(ctx context.Context, missing []bool) *Check {
	// Backups and protection are features of AWS.
	if e.cfg.InProcess || e.db.Options().BaseEndpoint != nil {
		return nil
	}

	var bare, unprotected []string
	for i, t := range e.cfg.Tables {
		// Expiring items need no backup.
		if missing[i] || t.TTL != "" {
			continue
		}

		if is := e.described[i]; is != nil && !aws.ToBool(is.DeletionProtectionEnabled) {
			unprotected = append(unprotected, t.name())
		}

		out, err := e.db.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: t.Input.TableName})
		if err != nil {
			c := NewUnchecked("backups", "dynamodb:DescribeContinuousBackups: "+brief(err), "allow dynamodb:DescribeContinuousBackups on the tables")
			return &c
		}

		d := out.ContinuousBackupsDescription
		if d == nil || d.PointInTimeRecoveryDescription == nil || d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus != types.PointInTimeRecoveryStatusEnabled {
			bare = append(bare, t.name())
		}
	}

	var found []string
	if len(bare) > 0 {
		found = append(found, "no point-in-time recovery: "+strings.Join(bare, ", "))
	}

	if len(unprotected) > 0 {
		found = append(found, "no deletion protection: "+strings.Join(unprotected, ", "))
	}

	if len(found) == 0 {
		return nil
	}

	c := NewWarning("backups", strings.Join(found, "; "),
		"`aws dynamodb update-continuous-backups --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true` and `aws dynamodb update-table --deletion-protection-enabled` for each")

	return &c
}
