package door_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"ratchet/embedded/door"
)

func Example() {
	d := door.New(door.Config{AllowedHosts: []string{"orders.example.com"}})
	server := httptest.NewServer(d.Handler(http.NotFoundHandler()))
	defer server.Close()

	for _, host := range []string{"localhost", "orders.example.com", "evil.example"} {
		request, err := http.NewRequest(http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			panic(err)
		}
		request.Host = host

		answer, err := server.Client().Do(request)
		if err != nil {
			panic(err)
		}
		fmt.Println(host, answer.StatusCode, answer.Body.Close())
	}

	// Output:
	// localhost 404 <nil>
	// orders.example.com 404 <nil>
	// evil.example 421 <nil>
}
