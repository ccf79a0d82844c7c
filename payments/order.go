package payments

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"ratchet/once/ledger"
)

// digestPrefix begins the id of a payment whose order's id is digested. The text is stored.
const digestPrefix = "sha256:"

// IDForOrder returns the id of the payment of an order's life, which transitions.Order.LifeID names. It
// is the name of the life if that is a valid payment id, else "sha256:" and the first 26 bytes of the
// SHA-256 digest of the name in hexadecimal. The same life always gets the same payment id, and two
// lives get different ones: a name that begins with "sha256:" is digested, too.
func IDForOrder(life string) string {
	if paymentRule.MatchString(life) && !strings.HasPrefix(life, digestPrefix) {
		return life
	}

	sum := sha256.Sum256([]byte(life))

	return digestPrefix + hex.EncodeToString(sum[:26])
}

// OrderAccounts are the accounts of the ledger between which the orders of one currency are
// paid.
type OrderAccounts struct {
	// Payer is the processor's clearing account. Its balance is the money that the processor has taken
	// and not yet paid out. It is a debit account with overdraft.
	//
	// The balance of Payee is the shop's sales. Payee is a credit account with overdraft, so that a
	// refund never waits for the next sale. Both accounts have 16 shards.
	Payer, Payee string
}

// AccountsForOrders returns the names of the accounts for a currency: orders:clearing:EUR
// and orders:sales:EUR for EUR.
func AccountsForOrders(currency string) OrderAccounts {
	return OrderAccounts{Payer: "orders:clearing:" + currency, Payee: "orders:sales:" + currency}
}

// orderShards is how many items each account of the orders is spread over, so that few payments write
// the same item. The payment's id selects the shard, so every step of a payment uses the same one.
const orderShards = 16

// OpenOrderAccounts opens the accounts for a currency (ISO 4217). A repeat changes nothing.
// It returns a *ledger.RefusedError with ledger.ErrConflict if one of the names has an account of
// another kind.
func OpenOrderAccounts(ctx context.Context, l *ledger.Ledger, currency string) (OrderAccounts, error) {
	a := AccountsForOrders(currency)
	for _, n := range []ledger.NewAccount{
		{ID: a.Payer, Currency: currency, Side: ledger.Debit, Overdraft: true, Shards: orderShards},
		{ID: a.Payee, Currency: currency, Side: ledger.Credit, Overdraft: true, Shards: orderShards},
	} {
		if _, _, err := l.CreateAccount(ctx, n); err != nil {
			return OrderAccounts{}, fmt.Errorf("open the accounts of orders in %s: %w", currency, err)
		}
	}

	return a, nil
}
