package api

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/operate/audit"
)

// ReasonHeader is the header of an act: why it is done, in a person's words, for the list of acts. It has 1 to
// [MaxReason] bytes of UTF-8.
const ReasonHeader = "Ratchet-Reason"

// MaxReason is the longest reason, in bytes.
const MaxReason = audit.MaxText

// takeReason reads the reason of an act.
func takeReason(r *http.Request, c *call) *problem {
	reason := strings.TrimSpace(r.Header.Get(ReasonHeader))
	rule := fmt.Sprintf("1 to %d bytes of UTF-8 without control characters", MaxReason)

	switch {
	case reason == "":
		return newProblem(http.StatusUnprocessableEntity, "reason_missing", "The header "+ReasonHeader+" must say why this is done.").
			withField("header", ReasonHeader, rule)
	case len(reason) > MaxReason, !utf8.ValidString(reason), strings.ContainsFunc(reason, unicode.IsControl):
		return newProblem(http.StatusUnprocessableEntity, "invalid_request", "A parameter breaks a rule.").
			withField("header", ReasonHeader, rule)
	case holdsMasked(reason):
		return newProblem(http.StatusUnprocessableEntity, "invalid_request", "A parameter breaks a rule.").
			withField("header", ReasonHeader, maskedRule)
	}

	c.reason = reason

	return nil
}

// reasonParameter describes the header in the document. It is checked before huma sees the request.
func reasonParameter() *huma.Param {
	least, most := 1, MaxReason

	return &huma.Param{
		Name:        ReasonHeader,
		In:          "header",
		Required:    true,
		Description: fmt.Sprintf("Why this is done, for the list of acts: up to %d bytes of UTF-8.", MaxReason),
		Example:     "the customer has called",
		Schema:      &huma.Schema{Type: "string", MinLength: &least, MaxLength: &most},
	}
}
