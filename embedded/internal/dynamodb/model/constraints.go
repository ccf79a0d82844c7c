package model

import (
	"strconv"
	"strings"

	"ratchet/embedded/internal/wire"
)

// maxConstraints is how many members one answer names.
// Source: https://github.com/architect/dynalite test/createTable.js, recorded on the service
const maxConstraints = 10

// Constraints collects the members of a request that break the API model. The service checks the
// whole request against its model before anything else, and names all members that break it in one
// message. The order in which an operation adds members is the order of the message.
type Constraints struct {
	broken []Breach
	// Alone returns the operation's own message for a single breach, empty if the operation has
	// none. It may be nil.
	Alone func(Breach) string
}

// Breach is a member that breaks the model. Value is the text as the message quotes it: null or 'x'.
type Breach struct{ Value, Member, Rule string }

func (b Breach) String() string {
	return "Value " + b.Value + " at '" + b.Member + "' failed to satisfy constraint: " + b.Rule
}

// Unquoted returns the message in the words of the newer front ends of the service, which do not
// quote the value and write the member as the request does.
func (b Breach) Unquoted(member string) string {
	return "1 validation error detected: Value at '" + member + "' failed to satisfy constraint: " + b.Rule
}

// Broke adds a member.
func (c *Constraints) Broke(value, member, rule string) {
	if len(c.broken) < maxConstraints {
		c.broken = append(c.broken, Breach{value, member, rule})
	}
}

// Err returns the ValidationException for the added members, nil if there are none.
func (c *Constraints) Err() error {
	switch n := len(c.broken); n {
	case 0:
		return nil
	case 1:
		if c.Alone != nil {
			if words := c.Alone(c.broken[0]); words != "" {
				return wire.Invalid("%s", words)
			}
		}

		return wire.Invalid("1 validation error detected: %s", c.broken[0])
	default:
		texts := make([]string, n)
		for i, b := range c.broken {
			texts[i] = b.String()
		}

		return wire.Invalid("%d validation errors detected: %s", n, strings.Join(texts, "; "))
	}
}

// Missing adds a required member that is absent.
func (c *Constraints) Missing(member string) { c.Broke("null", member, "Member must not be null") }

// OneOf checks an optional member with a closed set of values. Empty means absent.
func (c *Constraints) OneOf(value, member string, allowed ...string) {
	if value != "" {
		c.Enum(&value, member, allowed)
	}
}

// Enum checks a member with a closed set of values. Nil means absent.
func (c *Constraints) Enum(value *string, member string, allowed []string) {
	if value == nil {
		return
	}

	for _, a := range allowed {
		if *value == a {
			return
		}
	}

	c.Broke("'"+*value+"'", member, "Member must satisfy enum value set: ["+strings.Join(allowed, ", ")+"]")
}

// AtLeast checks the smallest value of an optional number. Nil means absent.
func (c *Constraints) AtLeast(value *int64, member string, least int64) {
	if value != nil && *value < least {
		c.Broke("'"+strconv.FormatInt(*value, 10)+"'", member, "Member must have value greater than or equal to "+strconv.FormatInt(least, 10))
	}
}

// Length checks how long a member is: a text, or a list that the message quotes as value.
func (c *Constraints) Length(n int, value, member string, least, most int) {
	switch {
	case n < least:
		c.Broke("'"+value+"'", member, "Member must have length greater than or equal to "+strconv.Itoa(least))
	case n > most:
		c.Broke("'"+value+"'", member, "Member must have length less than or equal to "+strconv.Itoa(most))
	}
}

// The lengths and characters of the names of tables and indexes.
const (
	minName     = 3
	MaxName     = 255
	NamePattern = "[a-zA-Z0-9_.-]+"
)

// Name checks the name of a table or an index.
func (c *Constraints) Name(name, member string) {
	if !matchesPattern(name) {
		c.Broke("'"+name+"'", member, "Member must satisfy regular expression pattern: "+NamePattern)
	}

	// The length comes after the pattern, as in the service's message.
	c.Length(len(name), name, member, minName, MaxName)
}

func matchesPattern(name string) bool {
	for i := range len(name) {
		b := name[i]
		if (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && (b < '0' || b > '9') && b != '_' && b != '.' && b != '-' {
			return false
		}
	}

	return name != ""
}

// RequiredName checks a name that must be there.
func (c *Constraints) RequiredName(name *string, member string) {
	if name == nil {
		c.Missing(member)
		return
	}

	c.Name(*name, member)
}

// Required checks a text that must be there and must not be empty, like the name of an attribute.
func (c *Constraints) Required(text *string, member string) {
	if text == nil {
		c.Missing(member)
		return
	}

	c.Length(len(*text), *text, member, 1, MaxName)
}

// Capacity checks a ReturnConsumedCapacity.
func (c *Constraints) Capacity(value string) {
	c.OneOf(value, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
}

// CollectionMetrics checks a ReturnItemCollectionMetrics.
func (c *Constraints) CollectionMetrics(value string) {
	c.OneOf(value, "returnItemCollectionMetrics", "SIZE", "NONE")
}

// Member returns the name of an element of a list, counted from 0.
func Member(list string, at int) string { return list + "." + strconv.Itoa(at+1) + ".member" }

// List joins names as messages do: [a, b].
func List(names []string) string { return "[" + strings.Join(names, ", ") + "]" }
