package destination_test

import (
	"context"
	"fmt"
	"os"

	"ratchet/notify"
	"ratchet/notify/destination"
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
