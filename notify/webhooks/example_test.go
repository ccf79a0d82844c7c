package webhooks_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"

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
		if err != nil {
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
