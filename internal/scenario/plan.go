package scenario

import (
	"fmt"
	"hash/fnv"

	"ratchet/transitions"
)

// Plan is a number of orders and what shall go wrong with them. All shares are
// percentages and are drawn from the orders' ids, so two runs plan the same.
type Plan struct {
	// Orders is how many there are. Prefix begins their ids.
	Orders int
	Prefix string
	// Duplicates is how many requests are sent again, Cancelled how many orders
	// somebody tries to cancel on the way, Rare how many want a scarce item.
	Duplicates, Cancelled, Rare int
}

// Default is the demo's plan for n orders.
func Default(n int) Plan {
	return Plan{Orders: n, Prefix: "o-", Duplicates: 40, Cancelled: 6, Rare: 5}
}

const (
	plentifulSKUs = 40
	rareSKUs      = 4
	plenty        = 1_000_000
)

// draw gives an order a number from 0 to 99 per purpose.
func draw(purpose, id string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(purpose + "/" + id)) // a hash does not fail
	return int(h.Sum32()>>5) % 100
}

// Order is the i-th order.
func (p Plan) Order(i int) transitions.NewOrder {
	id := fmt.Sprintf("%s%06d", p.Prefix, i)
	item := transitions.Item{SKU: fmt.Sprintf("mug-%02d", i%plentifulSKUs), Quantity: int64(1 + i%3), Price: int64(500 + 10*(i%50))}
	order := transitions.NewOrder{ID: transitions.OrderID(id), Items: []transitions.Item{item}}
	if draw("rare", id) < p.Rare {
		order.Items = append(order.Items, transitions.Item{SKU: fmt.Sprintf("rare-%d", i%rareSKUs), Quantity: 1, Price: 9900})
	}

	for _, line := range order.Items {
		order.Total.Amount += line.Quantity * line.Price
	}
	order.Total.Currency = "EUR"

	return order
}

// Stock is what is there at the beginning: plenty of most, and of each rare item
// half of what is wanted.
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

	for i := range rareSKUs {
		stock[fmt.Sprintf("rare-%d", i)] /= 2
	}

	return stock
}
