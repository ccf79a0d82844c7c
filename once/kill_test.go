package once_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// A child process gets the engine's URL and the directory of effects.
const childURL, childDir = "ONCE_TEST_URL", "ONCE_TEST_DIR"

const killKeys = 150

func endpoint(url string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("key", "secret", "")})
}

func killClaims(db *dynamodb.Client) (*once.Claims, error) {
	cfg := once.Config{DynamoDB: db, Table: "once", Lease: time.Second}
	cfg.SetMargin(10 * time.Millisecond)

	return once.New(cfg)
}

// child does the work of all keys in a random order. An effect is a file that is named
// after key and fence, so a second effect under the same fence fails.
func child(ctx context.Context, url, dir string) error {
	claims, err := killClaims(endpoint(url))
	if err != nil {
		return err
	}

	for _, n := range rand.Perm(killKeys) {
		key := "k" + strconv.Itoa(n)

		work := func(_ context.Context, c *once.Claim) ([]byte, error) {
			fence := strconv.FormatInt(c.Fence(), 10)

			f, err := os.OpenFile(filepath.Join(dir, key+"."+fence), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, once.Fail("SecondEffect", err)
			}
			time.Sleep(rand.N(20 * time.Millisecond)) // the process may be killed here, after the effect

			return []byte(fence), f.Close()
		}

		// On a busy machine the work takes longer than its lease, and the key may have no later visitor.
		late := true
		for late {
			_, _, err := claims.Waiting(10*time.Minute).Do(ctx, key, []byte(key), work)

			if late = errors.Is(err, once.ErrStaleOwner) || errors.Is(err, once.ErrLeaseExpired); err != nil && !late {
				return err
			}
		}
	}

	return nil
}

// worker is a child process.
type worker struct {
	cmd   *exec.Cmd
	ended chan error
}

func start(t *testing.T, url, dir string) *worker {
	t.Helper()

	w := &worker{exec.CommandContext(t.Context(), os.Args[0]), make(chan error, 1)}
	w.cmd.Env, w.cmd.Stderr = append(os.Environ(), childURL+"="+url, childDir+"="+dir), os.Stderr
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { w.ended <- w.cmd.Wait() }()

	return w
}

// TestKillNineLeavesOneRecordedResultPerKey kills workers repeatedly in the middle of their
// work, with a signal that a process cannot catch.
func TestKillNineLeavesOneRecordedResultPerKey(t *testing.T) {
	engine, dir := embeddedtest.Open(t), t.TempDir()
	server := httptest.NewServer(engine.Handler())
	defer server.Close()
	db := dynamodb.NewFromConfig(engine.AWSConfig())
	embeddedtest.Create(t, db, once.TableInput("once"))

	claims, err := killClaims(db)
	if err != nil {
		t.Fatal(err)
	}

	const workers = 3

	kills := 15
	if testing.Short() {
		kills = 5
	}

	var running []*worker
	for range workers {
		running = append(running, start(t, server.URL, dir))
	}

	for range kills {
		time.Sleep(20*time.Millisecond + rand.N(60*time.Millisecond)) // until the kill
		_ = running[0].cmd.Process.Kill()                             // the kill fails if the process has finished
		<-running[0].ended
		running = append(running[1:], start(t, server.URL, dir))
	}

	for _, w := range running {
		if err := <-w.ended; err != nil {
			t.Errorf("a worker that was not killed: %v", err)
		}
	}

	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	effects := map[string][]string{}
	for _, f := range files {
		key, fence, _ := strings.Cut(f.Name(), ".")
		effects[key] = append(effects[key], fence)
	}

	for n := range killKeys {
		key := "k" + strconv.Itoa(n)
		got, err := claims.Claim(t.Context(), key, []byte(key))
		if err != nil || got.Outcome != once.Replayed || !strings.Contains(fmt.Sprint(effects[key]), string(got.Result)) {
			t.Errorf("%s: %+v, %v; effects under fences %v", key, got, err, effects[key])
		}
	}
	t.Logf("%d kills, %d effects for %d keys", kills, len(files), killKeys)
}
