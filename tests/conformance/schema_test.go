//go:build conformance

package conformance

import (
	"flag"
	"fmt"
	"strings"
)

// createTable writes a CreateTable request; more is appended to its members.
func createTable(name, schema, more string) string {
	var keys, attributes []string
	for n, part := range strings.Split(schema, ",") {
		attribute, kind, _ := strings.Cut(part, ":")
		role := []string{"HASH", "RANGE"}[n]
		keys = append(keys, fmt.Sprintf(`{"AttributeName":%q,"KeyType":%q}`, attribute, role))
		attributes = append(attributes, fmt.Sprintf(`{"AttributeName":%q,"AttributeType":%q}`, attribute, kind))
	}

	return fmt.Sprintf(`{"TableName":%q,"BillingMode":"PAY_PER_REQUEST","KeySchema":[%s],"AttributeDefinitions":[%s]%s}`,
		name, strings.Join(keys, ","), strings.Join(attributes, ","), more)
}

func flagValue(name string) string {
	if f := flag.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}
