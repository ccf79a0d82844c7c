package dynamodb

import (
	"strconv"
	"strings"
)

// maxConstraints is how many members one answer names.
// Source: https://github.com/architect/dynalite test/createTable.js, recorded on the service
const maxConstraints = 10

// constraints collects the members of a request that break the API model. The service checks the
// whole request against its model before anything else, and names all members that break it in one
// message. The order in which an operation adds members is the order of the message.
type constraints struct {
	broken []breach
	// alone returns the operation's own message for a single breach, empty if the operation has
	// none. alone may be nil.
	alone func(breach) string
}

// breach is a member that breaks the model. value is the text as the message quotes it: null or 'x'.
type breach struct{ value, member, rule string }

func (b breach) String() string {
	return "Value " + b.value + " at '" + b.member + "' failed to satisfy constraint: " + b.rule
}

// unquoted returns the message in the words of the newer front ends of the service, which do not
// quote the value and write the member as the request does.
func (b breach) unquoted(member string) string {
	return "1 validation error detected: Value at '" + member + "' failed to satisfy constraint: " + b.rule
}

// broke adds a member.
func (c *constraints) broke(value, member, rule string) {
	if len(c.broken) < maxConstraints {
		c.broken = append(c.broken, breach{value, member, rule})
	}
}

// err returns the ValidationException for the added members, nil if there are none.
func (c *constraints) err() error {
	switch n := len(c.broken); n {
	case 0:
		return nil
	case 1:
		if c.alone != nil {
			if words := c.alone(c.broken[0]); words != "" {
				return invalid("%s", words)
			}
		}

		return invalid("1 validation error detected: %s", c.broken[0])
	default:
		texts := make([]string, n)
		for i, b := range c.broken {
			texts[i] = b.String()
		}

		return invalid("%d validation errors detected: %s", n, strings.Join(texts, "; "))
	}
}

// missing adds a required member that is absent.
func (c *constraints) missing(member string) { c.broke("null", member, "Member must not be null") }

// oneOf checks an optional member with a closed set of values. Empty means absent.
func (c *constraints) oneOf(value, member string, allowed ...string) {
	if value != "" {
		c.enum(&value, member, allowed)
	}
}

// enum checks a member with a closed set of values. Nil means absent.
func (c *constraints) enum(value *string, member string, allowed []string) {
	if value == nil {
		return
	}

	for _, a := range allowed {
		if *value == a {
			return
		}
	}

	c.broke("'"+*value+"'", member, "Member must satisfy enum value set: ["+strings.Join(allowed, ", ")+"]")
}

// atLeast checks the smallest value of an optional number. Nil means absent.
func (c *constraints) atLeast(value *int64, member string, least int64) {
	if value != nil && *value < least {
		c.broke("'"+strconv.FormatInt(*value, 10)+"'", member, "Member must have value greater than or equal to "+strconv.FormatInt(least, 10))
	}
}

// length checks how long a member is: a text, or a list that the message quotes as value.
func (c *constraints) length(n int, value, member string, least, most int) {
	switch {
	case n < least:
		c.broke("'"+value+"'", member, "Member must have length greater than or equal to "+strconv.Itoa(least))
	case n > most:
		c.broke("'"+value+"'", member, "Member must have length less than or equal to "+strconv.Itoa(most))
	}
}

// The lengths and characters of the names of tables and indexes.
const (
	minName     = 3
	maxName     = 255
	namePattern = "[a-zA-Z0-9_.-]+"
)

// name checks the name of a table or an index.
func (c *constraints) name(name, member string) {
	if !matchesNamePattern(name) {
		c.broke("'"+name+"'", member, "Member must satisfy regular expression pattern: "+namePattern)
	}

	// The length comes after the pattern, as in the service's message.
	c.length(len(name), name, member, minName, maxName)
}

func matchesNamePattern(name string) bool {
	for i := range len(name) {
		b := name[i]
		if (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && (b < '0' || b > '9') && b != '_' && b != '.' && b != '-' {
			return false
		}
	}

	return name != ""
}

// requiredName checks a name that must be there.
func (c *constraints) requiredName(name *string, member string) {
	if name == nil {
		c.missing(member)
		return
	}

	c.name(*name, member)
}

// required checks a text that must be there and must not be empty, like the name of an attribute.
func (c *constraints) required(text *string, member string) {
	if text == nil {
		c.missing(member)
		return
	}

	c.length(len(*text), *text, member, 1, maxName)
}

// capacity checks a ReturnConsumedCapacity.
func (c *constraints) capacity(value string) {
	c.oneOf(value, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
}

// collectionMetrics checks a ReturnItemCollectionMetrics.
func (c *constraints) collectionMetrics(value string) {
	c.oneOf(value, "returnItemCollectionMetrics", "SIZE", "NONE")
}

// throughput checks a ProvisionedThroughput, which may be nil.
func (c *constraints) throughput(t *throughput, member string) {
	if t == nil {
		return
	}

	// The service lists the write units first.
	for _, units := range []struct {
		name  string
		value *int64
	}{
		{".writeCapacityUnits", t.WriteCapacityUnits},
		{".readCapacityUnits", t.ReadCapacityUnits},
	} {
		if units.value == nil {
			c.missing(member + units.name)
		}
		c.atLeast(units.value, member+units.name, 1)
	}
}

// member returns the name of an element of a list, counted from 0.
func member(list string, at int) string { return list + "." + strconv.Itoa(at+1) + ".member" }
