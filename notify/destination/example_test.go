package destination_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"

	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/notify/webhooks"
)

// A directory stores each notification once, however often it is sent.
func ExampleDir() {
	path, err := os.MkdirTemp("", "notifications")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(path)

	dir, err := destination.NewDir(path)
	if err != nil {
		panic(err)
	}

	for range 2 {
		if _, err := dir.Send(context.Background(), notify.Message{
			Notification: notify.Notification{Key: "o-1/0/3/notify", OrderID: "o-1", Incarnation: "0", TransitionID: 3, State: "SHIPPED"},
			Body:         []byte("{}"),
		}); err != nil {
			panic(err)
		}
	}

	fmt.Println(dir.Count())
	// Output: 1 <nil>
}

// A worker that sends webhooks anywhere notes which addresses the names of its endpoints have led it to. An
// error of Dialing would keep the connection from being opened.
func ExampleOpener() {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()

	opener := destination.Opener{Reach: webhooks.ReachLoopback, Dialing: func(to netip.AddrPort) error {
		fmt.Println("dials", to.Addr())
		return nil
	}}

	shop, err := opener.Open(notify.Endpoint{
		Settings: notify.Settings{Destination: server.URL},
		Secrets:  []notify.Secret{{Key: webhooks.NewSecret()}},
	})
	if err != nil {
		panic(err)
	}

	_, err = shop.Send(context.Background(), notify.Message{
		ID:           "ntf_1",
		Notification: notify.Notification{Key: "o-1/3/notify", OrderID: "o-1", TransitionID: 3, State: "SHIPPED"},
		Body:         []byte("{}"),
	})
	fmt.Println(err)
	// Output:
	// dials 127.0.0.1
	// <nil>
}
