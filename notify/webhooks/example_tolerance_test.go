package webhooks_test

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"ratchet/notify/webhooks"
)

// A recorded message is refused when it is older than Tolerance, although its signature is right: this is the
// example of Standard Webhooks, of 2021.
func ExampleConfig() {
	secret, err := webhooks.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		panic(err)
	}

	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{secret}, Tolerance: time.Minute})
	if err != nil {
		panic(err)
	}

	body := []byte(`{"test": 2432232314}`)

	_, err = keys.Verify(http.Header{
		webhooks.HeaderID:        {"msg_p5jXN8AQM9LWM0D4loKWxJek"},
		webhooks.HeaderTimestamp: {"1614265330"},
		webhooks.HeaderSignature: {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
	}, body)
	fmt.Println("too old:", errors.Is(err, webhooks.ErrTimestamp))

	headers, err := keys.Sign("ntf_1", body)
	if err != nil {
		panic(err)
	}

	_, err = keys.Verify(headers, body)
	fmt.Println("too old:", errors.Is(err, webhooks.ErrTimestamp))
	// Output:
	// too old: true
	// too old: false
}
