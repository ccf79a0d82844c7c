package server

import (
	"fmt"
	"strings"

	"ratchet/transitions"
)

// OrdersTable says how orders stand in a table that is there already, beside other entities if there are any.
// Without it the orders have a table of Ratchet's own. See [transitions.Mapping].
type OrdersTable struct {
	// Name is the table. It is never created or altered. Default: PREFIXorders, which init creates.
	Name string `koanf:"orders-table"`
	// Key is NAME=PATTERN of the partition key, with {id} for the order's id: pk=ORDER#{id}. Default:
	// orderId={id}.
	Key string `koanf:"orders-key"`
	// Sort is NAME=VALUE of the sort key, where {id} may stand for the order's id: sk=ORDER. Default: none.
	Sort string `koanf:"orders-sort"`
	// Prefix stands before the names of the attributes that Ratchet writes. Default: none.
	Prefix string `koanf:"orders-prefix"`
	// Attributes are FIELD=NAME for single attributes: orderState=status. Default: none.
	Attributes []string `koanf:"orders-attributes"`
	// Keep are attributes of your own that stay when a person is erased from an order, such as the keys of indexes.
	// All others are removed. Default: none.
	Keep []string `koanf:"orders-keep"`
}

// mapping returns how the orders stand in their table. The error names the settings that break a rule.
func (t OrdersTable) mapping() (m transitions.Mapping, err error) {
	var given bool

	if m.PartitionKey, m.Key, given = strings.Cut(t.Key, "="); t.Key != "" && (!given || m.PartitionKey == "") {
		return m, fmt.Errorf("orders-key %q: must be NAME=PATTERN", withoutUser(t.Key))
	}

	if m.SortKey, m.Sort, given = strings.Cut(t.Sort, "="); t.Sort != "" && (!given || m.SortKey == "") {
		return m, fmt.Errorf("orders-sort %q: must be NAME=VALUE", withoutUser(t.Sort))
	}
	m.Prefix, m.Keep = t.Prefix, t.Keep

	for _, pair := range t.Attributes {
		field, name, given := strings.Cut(pair, "=")
		if !given {
			return m, fmt.Errorf("orders-attributes %q: must be FIELD=NAME", withoutUser(pair))
		}

		if m.Attributes == nil {
			m.Attributes = map[string]string{}
		}

		if m.Attributes[field] != "" {
			return m, fmt.Errorf("orders-attributes: %s is named twice", field)
		}
		m.Attributes[field] = name
	}

	if err := m.Validate(); err != nil {
		return m, fmt.Errorf("orders-key, orders-sort, orders-prefix, orders-attributes: %w", err)
	}

	return m, nil
}
