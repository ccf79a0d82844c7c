package doctor

import (
	"strings"
	"testing"
)

func TestDifferenceComparesTheMeaning(t *testing.T) {
	const wanted = `{"StartAt":"Pay","States":{"Pay":{"Type":"Task","TimeoutSeconds":60,"Retry":[{"MaxAttempts":3}]}}}`

	for _, c := range []struct{ name, deployed, want string }{
		{"the same text", wanted, ""},
		{"other blanks and another order", "{\n \"States\": {\"Pay\": {\"TimeoutSeconds\": 60.0, \"Retry\": [{\"MaxAttempts\": 3}], \"Type\": \"\\u0054ask\"}}, \"StartAt\": \"Pay\" }", ""},
		{"another number", strings.Replace(wanted, "60", "61", 1), "at /States/Pay/TimeoutSeconds it has 61, this program 60"},
		{"another text", strings.Replace(wanted, `"StartAt":"Pay"`, `"StartAt":"Go"`, 1), `at /StartAt it has "Go", this program "Pay"`},
		{"a text for a number", strings.Replace(wanted, "60", `"60"`, 1), `at /States/Pay/TimeoutSeconds it has "60", this program 60`},
		{"an element of a list", strings.Replace(wanted, "3", "4", 1), "at /States/Pay/Retry/0/MaxAttempts it has 4, this program 3"},
		{"a longer list", strings.Replace(wanted, `[{"MaxAttempts":3}]`, `[{"MaxAttempts":3},{}]`, 1), `at /States/Pay/Retry it has [{"MaxAttempts":3},{}], this program [{"MaxAttempts":3}]`},
		{"a member less", strings.Replace(wanted, `"TimeoutSeconds":60,`, "", 1), "it lacks /States/Pay/TimeoutSeconds, which is 60 in this program"},
		{"a member more", strings.Replace(wanted, `"Type"`, `"Comment":"x","Type"`, 1), `it has /States/Pay/Comment ("x"), this program does not`},
		{"no object", `[]`, "at the beginning it has [], this program {"},
		{"no JSON", `{`, "what is deployed is not JSON: "},
		{"two documents", wanted + `{}`, "what is deployed is not JSON: something follows the document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := difference(c.deployed, wanted)
			if got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
