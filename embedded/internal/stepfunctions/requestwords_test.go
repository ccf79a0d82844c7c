package stepfunctions

import (
	"errors"
	"strings"
	"testing"

	"ratchet/embedded/internal/wire"
)

// Members that break the API model are refused in the words of the service's framework.
// Sources: https://github.com/getmoto/moto/issues/6438 (the length of a name), https://github.com/aws/amazon-sagemaker-examples/issues/2432
// (the role), https://github.com/ChristopheBougere/asl-validator/issues/69 (the name of a state), LocalStack's recordings of AWS
// (test_state_machine_status_filter: a value of no set; test_error_create_alias_invalid_router_configs: members of lists).
// The limits, and which members are not quoted, are in the API model.
func TestWordsOfTheModel(t *testing.T) {
	b := open(t, t.TempDir())

	const (
		head    = "ValidationException: 1 validation error detected: Value "
		most    = " failed to satisfy constraint: Member must have length less than or equal to "
		passing = `"definition":"{\"StartAt\":\"A\",\"States\":{\"A\":{\"Type\":\"Pass\",\"End\":true}}}"`
		role    = `"roleArn":"arn:aws:iam::000000000000:role/r"`
	)
	long := func(n int) string { return strings.Repeat("x", n) }
	definition := `"definition":"{\"StartAt\":\"` + long(81) + `\",\"States\":{\"` + long(81) + `\":{\"Type\":\"Pass\",\"End\":true}}}"`

	for _, c := range []struct{ operation, body, want string }{
		{"StartExecution", `{"stateMachineArn":"a","name":"` + long(81) + `"}`, head + "'" + long(81) + "' at 'name'" + most + "80"},
		{"CreateStateMachine", `{"name":"` + long(81) + `"}`, head + "'" + long(81) + "' at 'name'" + most + "80"},
		{"CreateActivity", `{"name":"` + long(81) + `"}`, head + "'" + long(81) + "' at 'name'" + most + "80"},
		{"StartExecution", `{"stateMachineArn":"a","traceHeader":"` + long(257) + `"}`, head + "'" + long(257) + "' at 'traceHeader'" + most + "256"},
		{"CreateStateMachine", `{"name":"n",` + role + `}`, head + "null at 'definition' failed to satisfy constraint: Member must not be null"},
		{"CreateStateMachine", `{"name":"n",` + passing + `}`, head + "null at 'roleArn' failed to satisfy constraint: Member must not be null"},
		{"CreateStateMachine", `{"name":"n",` + passing + `,"roleArn":"<execution-role-arn>"}`, "InvalidArn: Invalid Role Arn: '<execution-role-arn>'"},
		{"UpdateStateMachine", `{"stateMachineArn":"a","roleArn":"r"}`, "InvalidArn: Invalid Role Arn: 'r'"},
		{"CreateStateMachine", `{"name":"n",` + passing + `,` + role + `,"tags":[{"key":"a","value":"` + long(257) + `"}]}`, head + "'" + long(257) + "' at 'tags.1.member.value'" + most + "256"},
		{"CreateStateMachine", `{"name":"n",` + passing + `,` + role + `,"tags":[{"key":"a"},{"key":"` + long(129) + `"}]}`, head + "'" + long(129) + "' at 'tags.2.member.key'" + most + "128"},
		{
			"CreateStateMachine", `{"name":"n",` + definition + `,` + role + `}`,
			"InvalidDefinition: Invalid State Machine Definition: 'INVALID_STATE_NAME: Invalid State name: State '" + long(81) + "' exceeds the 80-character limit allowed by the service at /States/" + long(81) + "'",
		},
		{"StopExecution", `{"executionArn":"a","error":"` + long(257) + `"}`, head + "at 'error'" + most + "256"},
		{"StopExecution", `{"executionArn":"a","cause":"` + long(32769) + `"}`, head + "at 'cause'" + most + "32768"},
		// The model comes before the token.
		{"SendTaskFailure", `{"taskToken":"t","error":"` + long(257) + `"}`, head + "at 'error'" + most + "256"},
		{"SendTaskHeartbeat", `{"taskToken":"` + long(2049) + `"}`, head + "'" + long(2049) + "' at 'taskToken'" + most + "2048"},
		{"RedriveExecution", `{"executionArn":"a","clientToken":"` + long(65) + `"}`, head + "'" + long(65) + "' at 'clientToken'" + most + "64"},
		{"RedriveExecution", `{"executionArn":"a","clientToken":"a b"}`, head + "'a b' at 'clientToken' failed to satisfy constraint: Member must satisfy regular expression pattern: [!-~]+"},
		{
			"ListExecutions", `{"stateMachineArn":"arn:aws:states:us-east-1:000000000000:stateMachine:m","redriveFilter":"NO"}`,
			head + "'NO' at 'redriveFilter' failed to satisfy constraint: Member must satisfy enum value set: [REDRIVEN, NOT_REDRIVEN]",
		},
	} {
		if got := refusal(b.svc.Wire().Operations[c.operation](t.Context(), []byte(c.body))); got != c.want {
			t.Errorf("%s %.200s\n got  %s\n want %s", c.operation, c.body, got, c.want)
		}
	}
}

// refusal returns the code and the message of a refused call.
func refusal(_ any, err error) string {
	var refused *wire.Error
	if !errors.As(err, &refused) {
		return "accepted"
	}

	return refused.Type + ": " + refused.Message
}
