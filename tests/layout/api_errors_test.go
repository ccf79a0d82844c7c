package layout

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// answeredElsewhere are errors of these packages that need no row of domainErrors, with the
// reason.
var answeredElsewhere = map[string]string{
	"once.ErrInProgress":              "the routes of claims answer with what is known of the other caller",
	"once.ErrKeyExpired":              "needs Config.KeyLifetime, which the API does not set",
	"once.ErrAmbiguous":               "a mark that handlers set for claims, see withEffect",
	"once.ErrCorrupt":                 "a damaged record is a failure of the server",
	"ledger.ErrTooManyShards":         "it is an ErrInvalid",
	"ledger.ErrCorrupt":               "a damaged record is a failure of the server",
	"inventory.ErrReserved":           "only for parts of a transaction; the routes write none of them",
	"txn.ErrContended":                "txn.Retryable: 503 with Retry-After",
	"txn.ErrThrottled":                "txn.Retryable: 503 with Retry-After",
	"txn.ErrUnknown":                  "txn.Retryable: 503 with Retry-After",
	"txn.ErrMarker":                   "the packages that set a marker answer it",
	"txn.ErrCondition":                "the packages that set a condition answer it",
	"txn.ErrTokenUsed":                "a bug of ours",
	"transitions.ErrUnmapped":         "of Migrate, which has no route; a job has it as a code",
	"transitions.ErrNothingToRestore": "of Restore, which has no route",
	"transitions.ErrNotSent":          "of ApplyMany, which no route calls",
	"notify.ErrGone":                  "the answer of an endpoint, kept in its delivery",
	"notify.ErrRejected":              "the answer of an endpoint, kept in its delivery",
	"notify.ErrRecipient":             "the answer of an endpoint, kept in its delivery",
	"notify.ErrSkipped":               "the end of a delivery",
	"shipping.ErrNumberTaken":         "BookAgain books under the number that was taken",
	"shipping.ErrUnknownShipment":     "of a question that no route asks; BookAgain goes on",
	"shipping.ErrInvalidReport":       "callbacks are answered with reports.ErrCallback",
	"executions.ErrOtherOrder":        "of a start, which package server answers",
	"executions.ErrFailed":            "of a start, which package server answers",
	"executions.ErrForgotten":         "of a start, which package server answers",
	"shipping.ErrCannotHold":          "of a reaction, which stores it as an answer",
	"audit.ErrEnded":                  "of the log's own use",
}

// asked are the packages that the routes of the API call.
var asked = []string{"transitions", "once", "once/actions", "once/inventory", "once/ledger", "once/txn", "payments", "notify", "shipping", "shipping/reports", "operate/audit", "operate/executions"}

// TestEveryErrorOfADomainHasAnAnswer reads those packages: each exported error has a row of domainErrors in
// package api, or a reason why it needs none.
func TestEveryErrorOfADomainHasAnAnswer(t *testing.T) {
	t.Parallel()

	known, left, seen := read(t, "api/errors.go"), maps.Clone(answeredElsewhere), map[string]bool{}

	for _, s := range sources(t) {
		if s.test || !slices.Contains(asked, s.pkg) {
			continue
		}
		seen[s.pkg] = true

		for _, e := range errorsOf(s.file) {
			e = path.Base(s.pkg) + "." + e
			row := regexp.MustCompile(`\{` + regexp.QuoteMeta(e) + `\b`).MatchString(known)

			delete(left, e)

			if _, reason := answeredElsewhere[e]; row == reason {
				t.Errorf("%s: has a row of domainErrors: %t, and a reason for none: %t", e, row, reason)
			}
		}
	}

	if len(seen) != len(asked) {
		t.Errorf("only %v were found", slices.Sorted(maps.Keys(seen)))
	}

	for e := range left {
		t.Errorf("%s: a reason for an error that does not exist", e)
	}
}

// errorsOf lists the exported error values of a file.
func errorsOf(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		general, ok := d.(*ast.GenDecl)
		if !ok || general.Tok != token.VAR {
			continue
		}

		for _, s := range general.Specs {
			for _, name := range s.(*ast.ValueSpec).Names {
				if strings.HasPrefix(name.Name, "Err") {
					names = append(names, name.Name)
				}
			}
		}
	}

	return names
}
