package check_test

import (
	"os"
	"strings"
	"testing"

	"ratchet/workflow/check"
)

// TestTheKeyOfAWaitNamesTheLifeOfTheOrder: the stream answers no task under another key.
func TestTheKeyOfAWaitNamesTheLifeOfTheOrder(t *testing.T) {
	text, err := os.ReadFile("testdata/asl/wait-key.asl.json")
	if err != nil {
		t.Fatal(err)
	}

	const member = `"S.$": "$.order.orderId"`
	line := strings.Count(strings.Split(string(text), member)[0], "\n") + 1

	for key, want := range map[string]check.Severity{
		member: check.SeverityError,
		`"S.$": "States.Format('{}.{}', $.orderId, $.order.incarnation)"`: "",
		`"S": "{% $states.input.orderId & '.' & $order.incarnation %}"`:   "",
		`"S": "{% $states.input.orderId %}"`:                              check.SeverityError,
		`"S": "o-1"`:                                                      check.SeverityError,
		`"N": "1"`:                                                        check.SeverityError,
		`"S.$": "$.order.lifeId"`:                                         check.SeverityWarning,
	} {
		report := run(t, []byte(strings.Replace(string(text), member, key, 1)), "m.asl.json")

		var got check.Severity
		for _, f := range report.Findings {
			if f.Code != "wait-key" {
				continue
			}
			got = f.Severity

			if !strings.Contains(f.Message, "orderId.incarnation") || f.State != "Shipped" || strings.HasPrefix(key, `"S`) && f.Line != line {
				t.Errorf("%s: %s in line %d: %s", key, f.State, f.Line, f.Message)
			}
		}

		if got != want {
			t.Errorf("%s: severity %q, want %q", key, got, want)
		}
	}
}
