package payments

// Charge asks a gateway for money. A gateway takes it once per key and remembers the key:
// a repeat returns the first answer.
type Charge struct {
	Key     string
	OrderID string
	// Amount is in minor units of Currency (ISO 4217), above 0.
	Amount   int64
	Currency string
}
