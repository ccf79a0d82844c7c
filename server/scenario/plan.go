package scenario

import (
	"fmt"
	"hash/fnv"

	"ratchet/transitions"
)

// Plan describes a number of orders and the faults to cause. The ids of the orders decide which orders
// a fault affects, so two runs of a plan cause the same faults.
type Plan struct {
	// Orders is the number of orders. Prefix begins their ids.
	Orders int
	Prefix string
	// Duplicates is the percentage of requests that are sent twice. Canceled is the percentage of orders
	// that are canceled while they run. Rare is the percentage of orders with a scarce item.
	Duplicates, Canceled, Rare int
	// Free says that the orders cost nothing, so that there is nothing to pay.
	Free bool
}

// StoredPrefix begins the ids of orders that are no part of a plan. The recount leaves them out.
const StoredPrefix = "stored-"

// Default is the demo's plan for n orders.
func Default(n int) Plan {
	return Plan{Orders: n, Prefix: "o-", Duplicates: 40, Canceled: 6, Rare: 5}
}

const (
	plentifulSKUs = 40
	rareSKUs      = 4
	plenty        = 1_000_000
)

// draw returns a number from 0 to 99 that follows from the purpose and the id.
func draw(purpose, id string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(purpose + "/" + id)) // a hash does not fail
	// Without the lowest bits: in FNV they depend only on the lowest bits of the text's bytes.
	return int(h.Sum32()>>5) % 100
}

// Order returns the i-th order.
func (p Plan) Order(i int) transitions.NewOrder {
	id := fmt.Sprintf("%s%06d", p.Prefix, i)
	item := transitions.Item{SKU: fmt.Sprintf("mug-%02d", i%plentifulSKUs), Quantity: int64(1 + i%3), Price: int64(500 + 10*(i%50))}
	order := transitions.NewOrder{ID: transitions.OrderID(id), Items: []transitions.Item{item}}
	if draw("rare", id) < p.Rare {
		order.Items = append(order.Items, transitions.Item{SKU: fmt.Sprintf("rare-%d", i%rareSKUs), Quantity: 1, Price: 9900})
	}

	for _, line := range order.Items {
		if !p.Free {
			order.Total.Amount += line.Quantity * line.Price
		}
	}
	order.Total.Currency = "EUR"

	return order
}

// Stock returns the initial stock: enough of most items, and half the demand of each rare item.
func (p Plan) Stock() map[string]int64 {
	stock := map[string]int64{}
	for i := range plentifulSKUs {
		stock[fmt.Sprintf("mug-%02d", i)] = plenty
	}

	for i := range rareSKUs {
		stock[fmt.Sprintf("rare-%d", i)] = 0
	}

	for i := range p.Orders {
		for _, line := range p.Order(i).Items[1:] {
			stock[line.SKU] += line.Quantity
		}
	}

	// Half of the demand, so that orders compete for the last pieces and some get none.
	for i := range rareSKUs {
		stock[fmt.Sprintf("rare-%d", i)] /= 2
	}

	return stock
}
