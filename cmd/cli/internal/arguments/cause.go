package arguments

import (
	"crypto/rand"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/transitions"
)

// CliCause is the cause of a transition that this command requests.
func CliCause() transitions.Cause {
	return transitions.Cause{Actor: "cli:" + UserName(), Source: "cli"}
}

// ReasonFlags adds the flags --reason and --reason-text. It returns a function that gives the cause
// once the flags are parsed.
func ReasonFlags(c *cobra.Command) func() transitions.Cause {
	var code, text string
	c.Flags().Var(&checkedText{text: &code, cause: func(s string) transitions.Cause { return transitions.Cause{Code: s} }},
		"reason", "why, for programs: 1 to 32 characters of A-Z a-z 0-9 _ . -")
	c.Flags().Var(&checkedText{text: &text, cause: func(s string) transitions.Cause { return transitions.Cause{Text: s} }},
		"reason-text", "why, for people; what is stored is cut to 104 bytes")

	return func() transitions.Cause {
		cause := CliCause()
		cause.Code, cause.Text = code, text

		return cause
	}
}

// checkedText is the value of a flag that is a part of a cause. It is checked as soon as it is set,
// so that the error names the flag.
type checkedText struct {
	text  *string
	cause func(string) transitions.Cause
}

func (t *checkedText) String() string {
	if t.text == nil {
		return "" // pflag calls it on a zero value, too
	}

	return *t.text
}

func (t *checkedText) Type() string { return "string" }

func (t *checkedText) Set(text string) error {
	if err := t.cause(text).Validate(); err != nil {
		// The error begins with the name of the field, which the user does not know; the flag's
		// name replaces it.
		_, rule, _ := strings.Cut(strings.TrimPrefix(err.Error(), transitions.ErrInvalidRequest.Error()+": "), ": ")

		return flagRuleError(rule)
	}
	*t.text = text

	return nil
}

// DescribeCause returns the cause as one line: the text, then code, actor and source.
func DescribeCause(c transitions.Cause) string {
	var facts []string
	for _, fact := range [][2]string{{"code", c.Code}, {"by", c.Actor}, {"through", c.Source}, {"trace", c.Trace}} {
		if fact[1] != "" {
			facts = append(facts, fact[0]+" "+fact[1])
		}
	}

	if c.Text == "" {
		return strings.Join(facts, ", ")
	}

	if len(facts) == 0 {
		return c.Text
	}

	return c.Text + " (" + strings.Join(facts, ", ") + ")"
}

// NewRequestID returns a random name for a request.
func NewRequestID() string { return rand.Text() }
