package keys_test

import (
	"errors"
	"fmt"
	"time"

	"ratchet/once/keys"
)

// The key of a refund names its tenant, its operation and what is refunded. Parts that look alike
// when they are joined make different keys.
func ExampleOf() {
	for _, parts := range [][]string{{"o-1", "line-2"}, {"o-1line", "-2"}} {
		key, err := keys.Of("acme", "refund/v1", parts...)
		fmt.Println(key, err)
	}

	_, err := keys.Of("acme", "refund/v1", "")
	fmt.Println("an empty key is refused:", errors.Is(err, keys.ErrInvalid))
	// Output:
	// 4:acme9:refund/v13:o-16:line-2 <nil>
	// 4:acme9:refund/v17:o-1line2:-2 <nil>
	// an empty key is refused: true
}

// A key may contain its own end, which a reader of the key knows without a table.
func ExampleExpiring() {
	end := time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC)
	key, err := keys.Expiring("coupon", "c-17", end)
	fmt.Println(key, err)

	read, err := keys.Expiry(key)
	fmt.Println(read.Equal(end), err)
	// Output:
	// coupon-c-17-tqxpc0 <nil>
	// true <nil>
}

// A message of a log is named by its place. A delivery that comes again has the same key.
func ExampleMessage() {
	key, err := keys.Message("orders-eu", 3, 1042)
	fmt.Println(key, err)
	// Output: orders-eu-3-1042 <nil>
}
