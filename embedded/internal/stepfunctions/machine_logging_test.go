package stepfunctions

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// A change of the log is a new revision of the machine.
// Source: https://github.com/localstack/localstack
// tests/aws/services/stepfunctions/v2/test_sfn_api_logs.py, test_update_logging_configuration.
func TestAChangeOfTheLogIsARevision(t *testing.T) {
	b := open(t, t.TempDir())
	machine := b.machine("m", `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`)
	revision := func(level types.LogLevel) string {
		t.Helper()

		_, err := b.UpdateStateMachine(t.Context(), &sfn.UpdateStateMachineInput{
			StateMachineArn:      &machine,
			LoggingConfiguration: &types.LoggingConfiguration{Level: level, Destinations: make([]types.LogDestination, 1)},
		})
		if err != nil {
			t.Fatal(err)
		}

		d, err := b.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &machine})
		if err != nil {
			t.Fatal(err)
		}

		return aws.ToString(d.RevisionId)
	}

	first, again, second := revision(types.LogLevelAll), revision(types.LogLevelAll), revision(types.LogLevelFatal)
	if first == "" || again != first || second == first {
		t.Errorf("%q, the same again %q, another level %q", first, again, second)
	}
}

// A configuration of the log that leaves something out is described with the defaults.
// Source: https://github.com/localstack/localstack
// tests/aws/services/stepfunctions/v2/test_sfn_api_logs.py, test_incomplete_logging_configuration and
// test_update_logging_configuration.
func TestTheLogOfAMachineIsDescribed(t *testing.T) {
	b := open(t, t.TempDir())
	machine := b.machine("m", `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`)
	group := []types.LogDestination{{CloudWatchLogsLogGroup: &types.CloudWatchLogsLogGroup{
		LogGroupArn: aws.String("arn:aws:logs:us-east-1:000000000000:log-group:g:*"),
	}}}

	for _, row := range []struct {
		given types.LoggingConfiguration
		want  string
	}{
		{types.LoggingConfiguration{}, `{"Destinations":null,"IncludeExecutionData":false,"Level":"OFF"}`},
		{types.LoggingConfiguration{Destinations: []types.LogDestination{}}, `{"Destinations":[],"IncludeExecutionData":false,"Level":"OFF"}`},
		{
			types.LoggingConfiguration{Destinations: group, Level: types.LogLevelFatal, IncludeExecutionData: true},
			`{"Destinations":[{"CloudWatchLogsLogGroup":{"LogGroupArn":"arn:aws:logs:us-east-1:000000000000:log-group:g:*"}}],` +
				`"IncludeExecutionData":true,"Level":"FATAL"}`,
		},
	} {
		_, err := b.UpdateStateMachine(t.Context(), &sfn.UpdateStateMachineInput{StateMachineArn: &machine, LoggingConfiguration: &row.given})
		if err != nil {
			t.Fatal(err)
		}

		d, err := b.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &machine})
		if err != nil {
			t.Fatal(err)
		}

		if got, err := json.Marshal(d.LoggingConfiguration); err != nil || string(got) != row.want {
			t.Errorf("%s, %v, want %s", got, err, row.want)
		}
	}
}
