package faults

import (
	"slices"
	"time"
)

// bucket is a token bucket. It starts full.
type bucket struct {
	size, refill float64
	tokens       float64
	at           time.Time // when tokens was right; zero: never used
}

// take takes a token and reports whether there was one.
func (b *bucket) take(now time.Time) bool {
	if b.at.IsZero() {
		b.tokens = b.size
	} else {
		b.tokens = min(b.size, b.tokens+now.Sub(b.at).Seconds()*b.refill)
	}
	b.at = now

	// The refill may have left a part of a token, which is not enough.
	if b.tokens < 1 {
		return false
	}
	b.tokens--

	return true
}

// quota is the token bucket of one operation: of the large Regions and of all others.
type quota struct {
	operation            string
	largeSize, largeRate int
	size, rate           int
}

// stepFunctionsQuotas are the default quotas of Step Functions for API calls. StartExecution has
// the quota for Standard workflows.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
var stepFunctionsQuotas = []quota{
	{"CreateActivity", 100, 1, 100, 1},
	{"CreateStateMachine", 100, 1, 100, 1},
	{"CreateStateMachineAlias", 100, 1, 100, 1},
	{"DeleteActivity", 100, 1, 100, 1},
	{"DeleteStateMachine", 100, 1, 100, 1},
	{"DeleteStateMachineAlias", 100, 1, 100, 1},
	{"DeleteStateMachineVersion", 100, 1, 100, 1},
	{"DescribeActivity", 200, 1, 200, 1},
	{"DescribeExecution", 300, 15, 250, 10},
	{"DescribeMapRun", 200, 1, 200, 1},
	{"DescribeStateMachine", 200, 20, 200, 20},
	{"DescribeStateMachineAlias", 200, 1, 200, 1},
	{"DescribeStateMachineForExecution", 200, 1, 200, 1},
	{"GetActivityTask", 3000, 500, 1500, 300},
	{"GetExecutionHistory", 400, 20, 400, 20},
	{"ListActivities", 100, 10, 100, 5},
	{"ListExecutions", 200, 5, 100, 2},
	{"ListMapRuns", 100, 1, 100, 1},
	{"ListStateMachineAliases", 100, 1, 100, 1},
	{"ListStateMachines", 100, 5, 100, 5},
	{"ListStateMachineVersions", 100, 1, 100, 1},
	{"ListTagsForResource", 100, 1, 100, 1},
	{"PublishStateMachineVersion", 100, 1, 100, 1},
	{"RedriveExecution", 1300, 300, 800, 150},
	{"SendTaskFailure", 3000, 500, 1500, 300},
	{"SendTaskHeartbeat", 3000, 500, 1500, 300},
	{"SendTaskSuccess", 3000, 500, 1500, 300},
	{"StartExecution", 1300, 300, 800, 150},
	{"StopExecution", 1000, 200, 500, 25},
	{"TagResource", 200, 1, 200, 1},
	{"TestState", 1, 1, 1, 1},
	{"UntagResource", 200, 1, 200, 1},
	{"UpdateMapRun", 100, 1, 100, 1},
	{"UpdateStateMachine", 100, 1, 100, 1},
	{"UpdateStateMachineAlias", 100, 1, 100, 1},
	{"ValidateStateMachineDefinition", 100, 1, 100, 1},
}

// largeRegions have the larger quotas.
var largeRegions = []string{"us-east-1", "us-west-2", "eu-west-1"}

// StepFunctionsQuotas returns the default quotas of Step Functions in a Region, one fault for
// each operation. Calls above a quota get a ThrottlingException.
func StepFunctionsQuotas(region string) []Fault {
	large := slices.Contains(largeRegions, region)

	all := make([]Fault, len(stepFunctionsQuotas))
	for i, q := range stepFunctionsQuotas {
		size, rate := q.size, q.rate
		if large {
			size, rate = q.largeSize, q.largeRate
		}
		all[i] = ExceedThroughput("sfn."+q.operation).Above(size, float64(rate))
	}

	return all
}
