package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"

	"ratchet/notify/webhooks"
)

// carrierMain sends a signed report: carrier URL SECRET MILESTONE DATA.
func carrierMain() {
	url, milestone, data := os.Args[1], os.Args[3], os.Args[4]
	body := fmt.Appendf(nil, `{"type":"shipment.%[1]s","timestamp":"2026-11-22T10:00:00Z","data":%[2]s}`, milestone, data)

	secret, err := webhooks.ParseSecret(os.Args[2])
	exitOn(err)
	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{secret}})
	exitOn(err)
	client, err := webhooks.NewClient(webhooks.ClientConfig{Keys: keys, Reach: webhooks.ReachLoopback})
	exitOn(err)

	answer, err := client.Post(context.Background(), webhooks.Post{URL: url, ID: "rep_" + rand.Text(), Body: body})
	fmt.Println(answer.Status, answer.Text)
	exitOn(err)
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
