package webhooks_test

import (
	"errors"
	"fmt"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify/webhooks"
)

// A recorded message is refused when it is older than Tolerance.
func ExampleConfig() {
	var clock embeddedtest.Clock

	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{webhooks.NewSecret()}, Tolerance: time.Minute, Now: clock.Now})
	if err != nil {
		panic(err)
	}

	body := []byte(`{"type":"order.SHIPPED"}`)

	headers, err := keys.Sign("ntf_1", body)
	if err != nil {
		panic(err)
	}

	for range 2 {
		_, err := keys.Verify(headers, body)
		fmt.Println("too old:", errors.Is(err, webhooks.ErrTimestamp))
		clock.Advance(2 * time.Minute)
	}
	// Output:
	// too old: false
	// too old: true
}
