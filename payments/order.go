package payments

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"ratchet/once/ledger"
)

const (
	maxOwner = 20 // bytes of a tenant's name
	maxOwnID = 60 // bytes of an id without the tenant's name and the colon
	// digestPrefix begins the id of a payment whose order's id is digested. The text is stored.
	digestPrefix = "sha256-"
)

// IDForOrder returns the id of the payment of an order's life, which transitions.Order.LifeID names. It
// is the name of the life if the part after a tenant's name and a colon has at most 60 characters that
// the id of a payment may have. Else this part is "sha256-" and the first 26 bytes of the SHA-256 digest
// of the whole name in hexadecimal. So the payment has the tenant of its order, the same life always gets
// the same payment id, and two lives get different ones: a part that begins with "sha256-" is digested,
// too.
func IDForOrder(life string) string {
	owner, own, owned := strings.Cut(life, ":")
	if !owned {
		owner, own = "", life
	}

	if len(own) <= maxOwnID && paymentRule().MatchString(life) && !strings.HasPrefix(own, digestPrefix) {
		return life
	}

	sum := sha256.Sum256([]byte(life))
	digest := digestPrefix + hex.EncodeToString(sum[:26])

	switch {
	case !owned:
		return digest
	case len(owner) > maxOwner || !paymentRule().MatchString(owner):
		return ":" + digest // no tenant has such a name
	default:
		return owner + ":" + digest
	}
}

// OfOrder returns the id of an order's payment. The names are those of the order's lives, the present one
// first (transitions.Order.LifeIDs). An order of one life needs no read. An order that was renewed keeps
// the payment that it has: the newest life with a payment names it. Without any, it is the present one.
func (s *Payments) OfOrder(ctx context.Context, lives []string) (string, error) {
	if len(lives) > 1 {
		for _, life := range lives {
			id := IDForOrder(life)

			_, err := s.Get(ctx, id)
			if !errors.Is(err, ErrUnknownPayment) {
				return id, err
			}
		}
	}

	return IDForOrder(lives[0]), nil
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
