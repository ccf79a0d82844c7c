package jsonata

import (
	"regexp"
	"strconv"
	"strings"
)

// messages are the texts of JSONata's error codes that have no values in them. gnata has the
// same codes with texts of its own. All other codes keep gnata's texts.
// Source: https://github.com/jsonata-js/jsonata/blob/v2.0.6/src/jsonata.js
var messages = map[string]string{
	"S0101": "String literal must be terminated by a matching quote",
	"S0104": `The escape sequence \u must be followed by 4 hex digits`,
	"S0105": "Quoted property name must be terminated with a backquote (`)",
	"S0106": "Comment has no closing tag",
	"S0207": "Unexpected end of expression",
	"S0209": "A predicate cannot follow a grouping expression in a step",
	"S0210": "Each step can only have one grouping expression",
	"S0212": "The left side of := must be a variable name (start with $)",
	"S0215": "A context variable binding must precede any predicates on a step",
	"S0216": "A context variable binding must precede the 'order-by' clause on a step",
	"S0301": "Empty regular expressions are not allowed",
	"S0302": "No terminating / in regular expression",
	"D1004": "Regular expression matches zero length string",
	"D3001": "Attempting to invoke string function on Infinity or NaN",
	"D3010": "Second argument of replace function cannot be an empty string",
	"D3011": "Fourth argument of replace function must evaluate to a positive number",
	"D3012": "Attempted to replace a matched string with a non-string value",
	"D3020": "Third argument of split function must evaluate to a positive number",
	"D3040": "Third argument of match function must evaluate to a positive number",
	"D3050": "The second argument of reduce function must be a function with at least two arguments",
	"D3138": "The $single() function expected exactly 1 matching result.  Instead it matched more.",
	"D3139": "The $single() function expected exactly 1 matching result.  Instead it matched 0.",
	"T1006": "Attempted to invoke a non-function",
	"T1008": "Attempted to partially apply a non-function",
	"T2003": "The left side of the range operator (..) must evaluate to an integer",
	"T2004": "The right side of the range operator (..) must evaluate to an integer",
	"T2006": "The right side of the function application operator ~> must be a function",
	"T2008": "The expressions within an order-by clause must evaluate to numeric or string values",
}

// operatorMessages are the messages of codes that name one operator.
var operatorMessages = map[string]string{
	"T2001": "The left side of the %s operator must evaluate to a number",
	"T2002": "The right side of the %s operator must evaluate to a number",
	"T2010": "The expressions either side of operator %s must evaluate to numeric or string values",
}

var (
	parserError   = regexp.MustCompile(`(?s)^JSONata error ([A-Z]\d{4})(?: at token (".*"))?: (.*)$`)
	expectedToken = regexp.MustCompile(`^expected token (\d+), got \d+`)
	codedError    = regexp.MustCompile(`(?s)^([A-Z]\d{4})(?:: (.*))?$`)
	quoted        = regexp.MustCompile(`"[^"]*"`)
)

// tokens are the tokens that gnata's parser expects, by their number.
var tokens = map[string]string{"8": "[", "9": "]", "10": "{", "11": "}", "12": "(", "13": ")", "14": ",", "17": ";", "18": ":", "24": "|"}

// parserMessage returns the message of a parser's error in JSONata's words.
func parserMessage(err error) string {
	m := parserError.FindStringSubmatch(err.Error())
	if m == nil {
		return err.Error()
	}

	code, token, text := m[1], m[2], m[3]
	// JSONata has one text for every unexpected end.
	if token == `"EOF"` && (code == "S0201" || code == "S0207") {
		return messages["S0207"]
	}

	switch code {
	case "S0201":
		return "Syntax error: " + token
	case "S0211":
		return "The symbol " + token + " cannot be used as a unary operator"
	case "S0202":
		want := expectedToken.FindStringSubmatch(text)
		if want == nil || tokens[want[1]] == "" {
			// An unknown token: the text below is gnata's own.
			break
		}

		if token == `"EOF"` || token == `""` {
			return "Expected " + strconv.Quote(tokens[want[1]]) + " before end of expression"
		}

		return "Expected " + strconv.Quote(tokens[want[1]]) + ", got " + token
	}

	if known := messages[code]; known != "" {
		return known
	}

	return strings.TrimPrefix(err.Error(), "JSONata error ")
}

// evaluatorMessage returns the message of an evaluator's error with its code, in JSONata's
// words where they are known.
func evaluatorMessage(err error) (text string, coded bool) {
	m := codedError.FindStringSubmatch(err.Error())
	if m == nil {
		return err.Error(), false
	}

	code, text := m[1], m[2]
	if known := messages[code]; known != "" {
		text = known
	}

	if known := operatorMessages[code]; known != "" {
		if operator := quoted.FindString(text); operator != "" {
			text = strings.Replace(known, "%s", operator, 1)
		}
	}

	return code + ": " + text, true
}
