package check_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/workflow"
	"ratchet/workflow/check"
)

// paths are texts where a path belongs, good ones and bad ones.
var paths = []string{
	"$", "$.a", "$['a']", "$.['a']", "$.a[0]", "$.a[-1]", "$.a[*]", "$..a", "$.a[?(@.b > 1)]", "$.a[0:2]", "$['a','b']", "$.größe", "$v.a", "$$.Execution.Id",
	"", "a", "$.a.", "$.a[", "$.a]", "$.a b", "$.a.length()", "$.a[?(@.b >)]", "$.", "$[", "$.a['b", "$...a",
	"States.Format('{}', $.a)", "States.Format('{}'", "States.Nothing($.a)", "States.UUID()",
}

// places are states with %s where a path or an expression belongs.
var places = map[string]string{
	"InputPath":       `{"Type":"Pass","InputPath":%s,"End":true}`,
	"OutputPath":      `{"Type":"Pass","OutputPath":%s,"End":true}`,
	"ResultPath":      `{"Type":"Pass","ResultPath":%s,"End":true}`,
	"Parameters":      `{"Type":"Pass","Parameters":{"x":{"y":[{"z.$":%s}]}},"End":true}`,
	"Assign":          `{"Type":"Pass","Assign":{"x.$":%s},"End":true}`,
	"SecondsPath":     `{"Type":"Wait","SecondsPath":%s,"End":true}`,
	"TimestampPath":   `{"Type":"Wait","TimestampPath":%s,"End":true}`,
	"Variable":        `{"Type":"Choice","Choices":[{"Not":{"Variable":%s,"IsPresent":true},"Next":"S"}],"Default":"S"}`,
	"comparison":      `{"Type":"Choice","Choices":[{"Variable":"$.b","StringEqualsPath":%s,"Next":"S"}],"Default":"S"}`,
	"ItemsPath":       `{"Type":"Map","ItemsPath":%s,"ItemProcessor":{"StartAt":"I","States":{"I":{"Type":"Succeed"}}},"End":true}`,
	"ItemSelector":    `{"Type":"Map","ItemSelector":{"x.$":%s},"ItemProcessor":{"StartAt":"I","States":{"I":{"Type":"Succeed"}}},"End":true}`,
	"ErrorPath":       `{"Type":"Fail","ErrorPath":%s}`,
	"ResultSelector":  `{"Type":"Parallel","ResultSelector":{"x.$":%s},"Branches":[{"StartAt":"I","States":{"I":{"Type":"Succeed"}}}],"End":true}`,
	"Catch":           `{"Type":"Parallel","Branches":[{"StartAt":"I","States":{"I":{"Type":"Succeed"}}}],"Catch":[{"ErrorEquals":["States.ALL"],"ResultPath":%s,"Next":"S"}],"End":true}`,
	"in a branch":     `{"Type":"Parallel","Branches":[{"StartAt":"I","States":{"I":{"Type":"Pass","InputPath":%s,"End":true}}}],"End":true}`,
	"data":            `{"Type":"Pass","Result":{"InputPath":%s,"x.$":%[1]s},"End":true}`,
	"named like one":  `{"Type":"Pass","Parameters":{"InputPath":%s,"Variable":%[1]s},"End":true}`,
	"TimeoutSeconds":  `{"Type":"Task","Resource":"arn:aws:states:eu-west-1:000000000000:activity:a","TimeoutSecondsPath":%s,"End":true}`,
	"an own language": `{"Type":"Pass","QueryLanguage":"JSONata","Output":{"InputPath":%s},"End":true}`,
}

// TestTheCheckAndTheEngineReadPathsAlike: a path that the one refuses is refused by the other, wherever it stands.
func TestTheCheckAndTheEngineReadPathsAlike(t *testing.T) {
	client := sfn.NewFromConfig(embeddedtest.Backend(t))
	refused := 0

	for place, state := range places {
		for _, path := range paths {
			text, err := json.Marshal(path)
			if err != nil {
				t.Fatal(err)
			}

			asl := fmt.Sprintf(`{"StartAt":"A","States":{"A":%s,"S":{"Type":"Succeed"}}}`, fmt.Sprintf(state, text))
			if !strings.Contains(state, `"Next":"S"`) {
				asl = fmt.Sprintf(`{"StartAt":"A","States":{"A":%s}}`, fmt.Sprintf(state, text))
			}

			out, err := client.ValidateStateMachineDefinition(t.Context(), &sfn.ValidateStateMachineDefinitionInput{Definition: &asl})
			if err != nil {
				t.Fatal(err)
			}

			report, err := check.StateMachine([]byte(asl), workflow.Order(), check.Config{})
			if err != nil {
				t.Fatalf("%s: %v", asl, err)
			}

			bad := slices.ContainsFunc(report.Findings, func(f check.Finding) bool { return f.Code == "bad-path" })
			if engine := out.Result == types.ValidateStateMachineDefinitionResultCodeFail; engine != bad {
				t.Errorf("%s, %q: the engine refuses it: %t, the check: %t\n%s", place, path, engine, bad, report.Text())
			}

			if bad {
				refused++
			}
		}
	}

	if refused < 100 {
		t.Errorf("only %d paths were refused", refused)
	}
}

// TestAnErrorOfOnesOwnMayBeNamedLikeTheServices where the machine raises it, or a handler may.
func TestAnErrorOfOnesOwnMayBeNamedLikeTheServices(t *testing.T) {
	const machine = `{"StartAt":"P","States":{"P":{"Type":"Parallel","Branches":[{"StartAt":"I","States":{"I":%s}}],
		"Catch":[{"ErrorEquals":["States.QuorumMet"],"Next":"S"}],"Next":"S"},"S":{"Type":"Succeed"}}}`

	for state, want := range map[string]check.Severity{
		`{"Type":"Fail","Error":"States.QuorumMet"}`:                                               "",
		`{"Type":"Fail","ErrorPath":"$.error"}`:                                                    "",
		`{"Type":"Task","Resource":"arn:aws:lambda:eu-west-1:000000000000:function:f","End":true}`: check.SeverityWarning,
		`{"Type":"Fail","Error":"States.QuorumLost"}`:                                              check.SeverityError,
		`{"Type":"Succeed"}`: check.SeverityError,
	} {
		report, err := check.StateMachine(fmt.Appendf(nil, machine, state), workflow.Order(), check.Config{})
		if err != nil {
			t.Fatal(err)
		}

		var got check.Severity
		for _, f := range report.Findings {
			if f.Code == "unknown-error" {
				got = f.Severity
			}
		}

		if got != want {
			t.Errorf("%s: severity %q, want %q:\n%s", state, got, want, report.Text())
		}
	}
}
