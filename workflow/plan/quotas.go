package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The names of quotas. All but openExecutions, TableReads, TableWrites and itemWrites are requests (or
// transitions) per second of one account in one Region.
const (
	StartExecution    = "StartExecution"
	GetActivityTask   = "GetActivityTask"
	SendTaskSuccess   = "SendTaskSuccess"
	SendTaskFailure   = "SendTaskFailure"
	SendTaskHeartbeat = "SendTaskHeartbeat"
	RedriveExecution  = "RedriveExecution"
	DescribeExecution = "DescribeExecution"
	stateTransition   = "StateTransition"
	// DescribeStream is the quota of an API call of DynamoDB Streams.
	DescribeStream = "DescribeStream"
	// openExecutions is how many executions may be open at the same time.
	openExecutions = "OpenExecutions"
	// TableReads and TableWrites are the units a second of one table,
	// itemWrites the units a second of one item.
	TableReads  = "TableReads"
	TableWrites = "TableWrites"
	itemWrites  = "ItemWrites"
)

// Quotas are the account's limits by name.
type Quotas map[string]float64

// SourceOfQuotas names the pages of the default quotas.
const SourceOfQuotas = stepFunctionsQuotas + " (refill rates) and " + dynamoDBQuotas

// The pages of the default quotas.
const (
	stepFunctionsQuotas = "https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html"
	dynamoDBQuotas      = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html"
	streamsQuotas       = "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_DescribeStream.html"
)

// Source returns the page of a default quota.
func Source(name string) string {
	switch name {
	case TableReads, TableWrites, itemWrites:
		return dynamoDBQuotas
	case DescribeStream:
		return streamsQuotas
	}

	return stepFunctionsQuotas
}

// USEast1 returns the default quotas of us-east-1, us-west-2 and eu-west-1.
func USEast1() Quotas {
	return Quotas{
		StartExecution:    300,
		GetActivityTask:   500,
		SendTaskSuccess:   500,
		SendTaskFailure:   500,
		SendTaskHeartbeat: 500,
		RedriveExecution:  300,
		DescribeExecution: 15,
		stateTransition:   5000,
		DescribeStream:    10,
		openExecutions:    1_000_000,
		TableReads:        40_000,
		TableWrites:       40_000,
		itemWrites:        1000,
	}
}

// OtherRegions returns the default quotas of the other Regions.
func OtherRegions() Quotas {
	q := USEast1()
	// DynamoDB's quotas and openExecutions are the same in every Region.
	q[StartExecution], q[GetActivityTask], q[SendTaskSuccess], q[SendTaskHeartbeat] = 150, 300, 300, 300
	q[SendTaskFailure], q[RedriveExecution], q[DescribeExecution] = 300, 150, 10
	q[stateTransition] = 800

	return q
}

// ParseQuotas reads quotas from JSON, an object of names and numbers. They
// replace the quotas of the same name in base.
func ParseQuotas(text []byte, base Quotas) (Quotas, error) {
	var given map[string]float64
	if err := json.Unmarshal(text, &given); err != nil {
		return nil, fmt.Errorf("read quotas: %w", err)
	}

	// A clone: base may be shared.
	q := maps.Clone(base)
	for name, value := range given {
		if err := q.Set(name, value); err != nil {
			return nil, err
		}
	}

	return q, nil
}

// Set changes one quota. The error lists the names.
func (q Quotas) Set(name string, value float64) error {
	if _, known := q[name]; !known {
		return fmt.Errorf("quota %q: one of %s", name, strings.Join(slices.Sorted(maps.Keys(q)), ", "))
	}

	// Written so that NaN fails, too.
	if !(value > 0) {
		return fmt.Errorf("quota %s is %v: must be more than 0", name, value)
	}

	q[name] = value

	return nil
}
