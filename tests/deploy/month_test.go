package deploy

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

const (
	productionPage = "../../docs/operate/production.md"
	month          = 30 * 24 * 60.0 // minutes
	vcpu, memory   = 0.5, 1.0       // of a process, as service.yaml has it
	perVCPU        = 75.0           // orders a second at half load (docs/operate/scale.md)
	zones          = 2.0            // of NAT gateways and endpoints
	openPolls      = 8.0            // of an activity in a worker with 32 slots; each takes a minute
)

// TestTheMonthIsComputed: the table of docs/operate/production.md follows from the prices on that page and from the units that
// docs/reference/costs.md has measured. With -update the test writes it.
func TestTheMonthIsComputed(t *testing.T) {
	page := readText(t, productionPage)
	m := newMonth(t, page)

	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }

	add("| USD a month | 10 orders a minute | 1,000 | 10,000 |")
	add("|---|---|---|---|")

	sums := [3]float64{}
	rates := [3]float64{10, 1000, 10000}

	row := func(name string, summed bool, cost func(rate float64) float64) {
		cells := [3]string{}
		for i, rate := range rates {
			usd := cost(rate)
			if summed {
				sums[i] += usd
			}
			cells[i] = dollars(usd)
		}
		add("| %s | %s | %s | %s |", name, cells[0], cells[1], cells[2])
	}

	row("DynamoDB, the life of the orders", true, func(rate float64) float64 {
		return rate * month * (m.lifeReads*m.price("read unit") + m.lifeWrites*m.price("write unit"))
	})
	row("DynamoDB, what workers do without orders", true, func(rate float64) float64 {
		return processes(rate) / 2 * month * (m.idleReads*m.price("read unit") + m.idleWrites*m.price("write unit"))
	})
	row("Step Functions", true, func(rate float64) float64 { return rate * month * m.transitions * m.price("state transition") })
	row("Fargate: workers, and two processes of the API", true, func(rate float64) float64 {
		return (processes(rate) + 2) * month / 60 * (vcpu*m.price("vCPU hour") + memory*m.price("GB hour"))
	})
	row("load balancer, without its traffic", true, func(float64) float64 { return month / 60 * m.price("load balancer hour") })
	row("VPC endpoints, seven in two zones", true, func(rate float64) float64 {
		return 7*zones*month/60*m.price("endpoint hour") + m.pollBytes(rate)*m.price("GB through an endpoint")/1e9
	})
	add("| **together** | %s | %s | %s |", dollars(sums[0]), dollars(sums[1]), dollars(sums[2]))
	row("in place of endpoints: NAT gateways, two", false, func(float64) float64 { return zones * month / 60 * m.price("NAT hour") })
	row("through them: long polls", false, func(rate float64) float64 { return m.pollBytes(rate) * m.price("GB through NAT") / 1e9 })
	row("through them: the calls of the orders", false, func(rate float64) float64 {
		return rate * month * m.calls * m.callBytes * m.price("GB through NAT") / 1e9
	})

	wantBlock(t, productionPage, page, "month", strings.Join(lines, "\n"))
}

// wantBlock compares a block of a page, between <!-- computed: NAME --> and <!-- end -->.
func wantBlock(t *testing.T, path, page, name, want string) {
	t.Helper()

	block := regexp.MustCompile(`(?s)(<!-- computed: ` + name + ` -->\n).*?(<!-- end -->)`)
	written := block.ReplaceAllString(page, "${1}"+want+"\n${2}")

	switch {
	case !block.MatchString(page):
		t.Fatalf("%s has no block %s", path, name)
	case *update:
		if err := os.WriteFile(path, []byte(written), 0o600); err != nil {
			t.Fatal(err)
		}
	case written != page:
		t.Errorf("%s: the block %s is not what follows from its inputs; go test ./tests/deploy -run Month -args -update:\n%s", path, name, want)
	}
}

// processes returns how many workers a rate of orders a minute needs: two, so that one may fail, or more.
func processes(rate float64) float64 { return math.Max(2, math.Ceil(rate/60/perVCPU/vcpu)) }

func dollars(usd float64) string {
	if usd < 10 {
		return fmt.Sprintf("%.2f", usd)
	}

	whole := strconv.FormatFloat(math.Round(usd), 'f', 0, 64)
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}

	return whole
}

// bill has the measured units and the prices.
type bill struct {
	t                                                         *testing.T
	page                                                      string
	lifeReads, lifeWrites, idleReads, idleWrites, transitions float64
	calls, callBytes, polls                                   float64
}

func newMonth(t *testing.T, page string) *bill {
	t.Helper()

	costs := readText(t, "../../docs/reference/costs.md")
	m := &bill{t: t, page: page, callBytes: bytesOfAPoll(t), polls: openPolls * float64(len(created(t, initialized(t)).Activities))}

	life := numbers(t, costs, `(?s)<!-- measured: life -->.*?\| all \| ([\d.]+) \| ([\d.]+) \|`)
	idle := numbers(t, costs, `(?s)<!-- measured: idle -->.*?\| all \| ([\d.]+) \| ([\d.]+) \|`)
	m.lifeReads, m.lifeWrites, m.idleReads, m.idleWrites = life[0], life[1], idle[0], idle[1]
	m.calls = numbers(t, costs, `\| calls of AWS \| ([\d.]+) \|`)[0]
	m.transitions = numbers(t, costs, `\| state transitions \| ([\d.]+) \|`)[0]

	return m
}

// pollBytes returns the bytes of the long polls of a month.
func (m *bill) pollBytes(rate float64) float64 {
	return processes(rate) * m.polls * month * m.callBytes
}

// price returns a price of the page's table, in USD for one.
func (m *bill) price(what string) float64 {
	m.t.Helper()

	found := numbers(m.t, m.page, `\| (?:a million of )?`+regexp.QuoteMeta(what)+`s? \| ([\d.]+) \|`)[0]
	if strings.Contains(m.page, "| a million of "+what) {
		found /= 1e6
	}

	return found
}

// numbers returns what the groups of a pattern match.
func numbers(t *testing.T, text, pattern string) (all []float64) {
	t.Helper()

	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("nothing matches %s", pattern)
	}

	for _, one := range match[1:] {
		n, err := strconv.ParseFloat(one, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}

	return all
}

// counted counts the bytes of its connections.
type counted struct {
	net.Listener
	bytes *atomic.Int64
}

type countedConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (l counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()

	return countedConn{c, l.bytes}, err
}

func (c countedConn) Read(p []byte) (n int, err error) {
	n, err = c.Conn.Read(p)
	c.bytes.Add(int64(n))

	return n, err
}

func (c countedConn) Write(p []byte) (n int, err error) {
	n, err = c.Conn.Write(p)
	c.bytes.Add(int64(n))

	return n, err
}

// bytesOfAPoll measures a poll of GetActivityTask that brings nothing, both ways, without TLS, with session credentials of the
// length that ECS gives; AWS's answer has the header of a request id.
func bytesOfAPoll(t *testing.T) float64 {
	t.Helper()

	counter := &atomic.Int64{}
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amzn-Requestid", strings.Repeat("r", 36))
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = w.Write([]byte("{}"))
	}))
	front.Listener = counted{front.Listener, counter}
	front.Start()
	t.Cleanup(front.Close)

	client := sfn.New(sfn.Options{BaseEndpoint: &front.URL, Region: region, HTTPClient: front.Client(),
		Credentials: credentials.NewStaticCredentialsProvider(strings.Repeat("k", 20), "secret", strings.Repeat("t", 1000))})

	const polls = 10
	for range polls {
		if _, err := client.GetActivityTask(context.Background(), &sfn.GetActivityTaskInput{
			ActivityArn: aws.String("arn:aws:states:" + region + ":" + account + ":activity:" + prefix + "compensate"), WorkerName: aws.String("worker"),
		}); err != nil {
			t.Fatal(err)
		}
	}

	// Whole hundreds: versions of the SDK differ by some bytes.
	return math.Ceil(float64(counter.Load())/polls/100) * 100
}
