package webhooks_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"ratchet/notify/webhooks"
)

// A receiver believes what is signed with the secret that it shares with the sender, and nothing else.
func Example() {
	secret := webhooks.NewSecret()

	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{secret}})
	if err != nil {
		panic(err)
	}

	receiver := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message, err := keys.Read(r, 256<<10)
		switch {
		case errors.Is(err, webhooks.ErrTooLarge):
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		case err != nil:
			http.Error(w, "unauthorized", http.StatusUnauthorized) // the same for every reason
			return
		}

		fmt.Println("do once:", message.ID, string(message.Body))
	})

	body := []byte(`{"type":"order.SHIPPED"}`)

	headers, err := keys.Sign("ntf_1", body)
	if err != nil {
		panic(err)
	}

	for _, received := range [][]byte{body, []byte(`{"type":"order.REFUNDED"}`)} {
		r := httptest.NewRequest(http.MethodPost, "/hook", bytes.NewReader(received))
		r.Header = headers

		w := httptest.NewRecorder()
		receiver.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// do once: ntf_1 {"type":"order.SHIPPED"}
	// 200
	// 401
}

// A message carries its id, the time of sending and one signature for each secret.
func ExampleKeys_Sign() {
	keys, err := webhooks.New(webhooks.Config{
		Secrets: []webhooks.Secret{webhooks.NewSecret(), webhooks.NewSecret()}, // the new and the former one
	})
	if err != nil {
		panic(err)
	}

	headers, err := keys.Sign("ntf_1", []byte(`{}`))
	if err != nil {
		panic(err)
	}

	sent, err := strconv.ParseInt(headers.Get(webhooks.HeaderTimestamp), 10, 64)
	fmt.Println(headers.Get(webhooks.HeaderID), "sent now:", err == nil && time.Since(time.Unix(sent, 0)) < time.Minute)
	fmt.Println(len(strings.Fields(headers.Get(webhooks.HeaderSignature))), "of at most", webhooks.MaxSignatures, "signatures")

	_, err = keys.Sign("not an id", nil)
	fmt.Println("refused:", errors.Is(err, webhooks.ErrInvalid))
	// Output:
	// ntf_1 sent now: true
	// 2 of at most 10 signatures
	// refused: true
}
