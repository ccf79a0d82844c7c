package listeners_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"ratchet/server/listeners"
)

func ExampleProxies_Handler() {
	proxies, err := listeners.NewProxies("x-forwarded-for", "10.0.0.0/8")
	if err != nil {
		panic(err)
	}

	handler := proxies.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { fmt.Println(r.RemoteAddr) }))

	request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	request.RemoteAddr = "10.0.0.7:4711"
	request.Header.Set("X-Forwarded-For", "forged, 192.0.2.1")
	handler.ServeHTTP(httptest.NewRecorder(), request)

	// Output: 192.0.2.1:0
}
