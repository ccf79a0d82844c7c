package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// What CloudWatch does not say: prices of us-east-1 on demand, November 2024 (docs/operate/costs.md).
const (
	writeUnit  = 0.625e-6
	readUnit   = 0.125e-6
	transition = 25e-6
	keyMonth   = 1.0 // of the key of the alarms' topic, which AWS bills by the hour
)

// costs estimates what the check has cost, from the units that CloudWatch has counted. The bill has it a day later.
func (c *check) costs(ctx context.Context) string {
	if !c.cloud.account {
		return "nothing: no account was used"
	}

	tables, err := c.named(ctx, kinds(c.prefix)[1])
	if err != nil {
		return "not known: " + err.Error()
	}

	var writes, reads float64

	for _, table := range tables {
		w, err := c.consumed(ctx, table, "ConsumedWriteCapacityUnits")
		if err != nil {
			return "not known: " + err.Error()
		}

		r, err := c.consumed(ctx, table, "ConsumedReadCapacityUnits")
		if err != nil {
			return "not known: " + err.Error()
		}
		writes, reads = writes+w, reads+r
	}

	hours := time.Since(c.began).Hours() + 1

	return fmt.Sprintf("about %.4f USD: %.0f write units, %.0f read units, 5 state transitions for each of %d orders, and a KMS key for %.0f h, at the prices of us-east-1; "+
		"CloudWatch is some minutes behind, and the bill is exact a day later",
		writes*writeUnit+reads*readUnit+float64(5*c.orders)*transition+keyMonth/730*hours, writes, reads, c.orders, hours)
}

// consumed returns the sum of a metric of a table since the check began.
func (c *check) consumed(ctx context.Context, table, metric string) (sum float64, err error) {
	all, err := c.aws(ctx, "cloudwatch", "get-metric-statistics", "--namespace", "AWS/DynamoDB", "--metric-name", metric,
		"--dimensions", "Name=TableName,Value="+table, "--start-time", c.began.UTC().Format(time.RFC3339),
		"--end-time", time.Now().UTC().Format(time.RFC3339), "--period", "3600", "--statistics", "Sum",
		"--query", "sum(Datapoints[].Sum)", "--output", "text")
	if err != nil {
		return 0, err
	}

	return strconv.ParseFloat(all, 64)
}

// onlyAccount are what no implementation has shown here.
var onlyAccount = []string{
	"the policies of access.yaml are enough for each part (here nothing checks permissions)",
	"services on ECS, the load balancer and scaling (service.yaml)",
	"alarms fire and are sent (alarms.yaml)",
	"backups, KMS keys, quotas and throttling of AWS",
}

// report prints what the check has shown, and what not.
func (c *check) report() {
	fmt.Fprintf(c.out, "\n%s, %s\n", firstOf(c.cloud.name, "AWS"), time.Since(c.began).Round(time.Second))

	for _, part := range c.shown {
		fmt.Fprintln(c.out, "  ran:", part)
	}

	for _, part := range c.unshown {
		fmt.Fprintln(c.out, "  NOT shown:", part)
	}

	if !c.cloud.account {
		for _, part := range onlyAccount {
			fmt.Fprintln(c.out, "  only an account can show:", part)
		}
	}

	for _, rest := range c.left {
		fmt.Fprintln(c.out, "  LEFT BEHIND:", rest)
	}

	switch {
	case len(c.unknown) > 0:
		fmt.Fprintf(c.out, "  PERHAPS LEFT BEHIND, not listed: %s; `go run ./internal/tools/awscheck -teardown %s` tries again\n", strings.Join(c.unknown, ", "), c.prefix)
	case len(c.left) == 0:
		fmt.Fprintln(c.out, "  left behind: nothing")
	}
	fmt.Fprintln(c.out, "  cost:", c.cost)
}
