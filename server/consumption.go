package server

import (
	"sync"

	"ratchet/transitions"
)

// Units is a number of calls and the DynamoDB capacity units that they consumed.
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

// Consumption adds up the capacity units of transitions, creations and edits, per verdict
// and per order. Use its Add as [Events].Consumed. The zero value is ready to use; all
// methods may be called concurrently.
//
// DynamoDB bills a write whose condition fails, but reports no units for it. So refused and repeated
// calls count here as calls without units.
type Consumption struct {
	// PerOrder also keeps a sum for each order. Memory grows with the number of orders.
	PerOrder bool

	mu       sync.Mutex
	verdicts map[transitions.Verdict]Units
	orders   map[transitions.OrderID]Units
}

// Add counts one call and its units.
func (c *Consumption) Add(id transitions.OrderID, v transitions.Verdict, read, write float64) {
	c.mu.Lock()
	defer c.mu.Unlock()

	// The zero value must be ready to use.
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

// ByVerdict returns the sums by the name of the verdict. A verdict without calls is absent.
func (c *Consumption) ByVerdict() map[string]Units {
	c.mu.Lock()
	defer c.mu.Unlock()

	out := map[string]Units{}
	for v, sum := range c.verdicts {
		out[v.String()] = sum
	}

	return out
}

// Order returns the sum of one order. It is zero without PerOrder.
func (c *Consumption) Order(id transitions.OrderID) Units {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.orders[id]
}

// Most returns the largest number of calls, of read units and of write units of an order, and the
// number of orders. The three maxima may be of different orders.
func (c *Consumption) Most() (most Units, orders int) {
	c.mu.Lock()
	defer c.mu.Unlock()

	for _, sum := range c.orders {
		most.Calls = max(most.Calls, sum.Calls)
		most.Read = max(most.Read, sum.Read)
		most.Write = max(most.Write, sum.Write)
	}

	return most, len(c.orders)
}
