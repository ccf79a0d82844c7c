package catalog

import (
	"strings"

	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/tables"
	"ratchet/embedded/internal/wire"
)

// Missing is the answer of the operations on items about a table that does not exist.
func Missing() *wire.Error {
	return wire.Errorf("ResourceNotFoundException", "Requested resource not found")
}

// TableARNs returns the beginning of the ARNs of this engine's tables.
func (c *Catalog) TableARNs() string {
	return c.RegionARNs() + c.account + ":table/"
}

// RegionARNs returns the beginning of the ARNs of all tables in this engine's region, up to the account.
func (c *Catalog) RegionARNs() string { return "arn:aws:dynamodb:" + c.region + ":" }

// KeyARNs returns the beginning of the ARNs of KMS keys.
func (c *Catalog) KeyARNs() string {
	return "arn:aws:kms:" + c.region + ":" + c.account + ":key/"
}

// Lookup returns the table that a request names, by name or ARN. Its error has the words of the operations on
// items; see Existing.
func (c *Catalog) Lookup(name *string) (*Table, error) {
	n, err := c.TableName(name)
	if err != nil {
		return nil, err
	}

	if t := c.Get(n); t != nil {
		return t, nil
	}

	return nil, Missing()
}

// TableName checks a TableName parameter, which may be an ARN, and returns the name.
func (c *Catalog) TableName(name *string) (string, error) {
	var broken model.Constraints
	n := c.ConstrainTable(&broken, name, "tableName")

	return n, broken.Err()
}

// ConstrainTable checks a name of a table, which may be an ARN, and returns it without the ARN.
func (c *Catalog) ConstrainTable(broken *model.Constraints, name *string, member string) string {
	if name == nil {
		broken.Missing(member)
		return ""
	}

	n := *name
	if c.Get(n) != nil {
		return n // the name was checked when the table was created
	}

	if rest, ok := strings.CutPrefix(n, c.TableARNs()); ok {
		n = rest
	}

	if n == "" {
		broken.Length(0, "", member, 1, model.MaxName)
	} else {
		broken.Name(n, member)
	}

	return n
}

// Existing is Lookup with the message of the operations on tables.
func (c *Catalog) Existing(name *string) (*Table, error) {
	if err := tables.RequireTable(name); err != nil {
		return nil, err
	}

	n, err := c.TableName(name)
	if err != nil {
		return nil, err
	}

	if t := c.Get(n); t != nil {
		return t, nil
	}

	return nil, wire.Errorf("ResourceNotFoundException", "Requested resource not found: Table: %s not found", n)
}
