package keys_test

import (
	"errors"
	"fmt"

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
