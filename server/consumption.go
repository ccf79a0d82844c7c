package server

import (
	"sync"

	"ratchet/transitions"
)

// Units are DynamoDB capacity units of a number of calls.
type Units struct {
	Calls int64   `json:"calls"`
	Read  float64 `json:"readUnits"`
	Write float64 `json:"writeUnits"`
}

func (u *Units) add(read, write float64) {
	u.Calls++
	u.Read += read
	u.Write += write
}

// Consumption adds up what transitions, placings and edits consume, per verdict and
// per order. It is what [Hooks].Consumed wants; its zero value is ready. DynamoDB bills
// a failed condition and reports nothing for it, so refused and repeated calls count
// here as calls without units.
type Consumption struct {
	// PerOrder keeps a sum for each order, too: for a finite number of orders only.
	PerOrder bool

	mu       sync.Mutex
	verdicts map[transitions.Verdict]Units
	orders   map[transitions.OrderID]Units
}

// Add counts one call.
func (c *Consumption) Add(id transitions.OrderID, v transitions.Verdict, read, write float64) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.verdicts == nil {
		c.verdicts, c.orders = map[transitions.Verdict]Units{}, map[transitions.OrderID]Units{}
	}
	sum := c.verdicts[v]
	sum.add(read, write)

	c.verdicts[v] = sum
	if c.PerOrder {
		sum := c.orders[id]
		sum.add(read, write)
		c.orders[id] = sum
	}
}

// ByVerdict returns the sums of the verdicts that were given.
func (c *Consumption) ByVerdict() map[string]Units {
	c.mu.Lock()
	defer c.mu.Unlock()

	out := map[string]Units{}
	for v, sum := range c.verdicts {
		out[v.String()] = sum
	}

	return out
}

// Order returns the sum of one order.
func (c *Consumption) Order(id transitions.OrderID) Units {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.orders[id]
}

// Most returns the largest numbers that any order has, each by itself, and how many
// orders were counted.
func (c *Consumption) Most() (most Units, orders int) {
	c.mu.Lock()
	defer c.mu.Unlock()

	for _, sum := range c.orders {
		most.Calls, most.Read, most.Write = max(most.Calls, sum.Calls), max(most.Read, sum.Read), max(most.Write, sum.Write)
	}

	return most, len(c.orders)
}
