package deploy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/embedded/faults"
	"ratchet/server"
)

// containerChecks returns the health commands of the templates' and the compose file's containers, without the program and
// without the address of a container.
func containerChecks(t *testing.T) map[string][]string {
	t.Helper()

	found := map[string][]string{}
	for path, rule := range map[string]string{
		"../../deploy/cloudformation/service.yaml": `HealthCheck:\s+Command: \[CMD, /ratchet, ([^\]]+)\]`,
		"../../deploy/terraform/service.tf":        `healthCheck = \{\s+command\s+= \["CMD", "/ratchet", ([^\]]+)\]`,
		"../../deploy/compose/compose.yaml":        `test: \[CMD, /ratchet, ([^\]]+)\]`,
	} {
		raw, err := os.ReadFile(filepath.FromSlash(path))
		if err != nil {
			t.Fatal(err)
		}

		commands := regexp.MustCompile(rule).FindAllSubmatch(raw, -1)
		if len(commands) == 0 {
			t.Fatalf("%s has no health check of a container", path)
		}

		for i, command := range commands {
			args := strings.Split(strings.NewReplacer(`"`, "", " ", "").Replace(string(command[1])), ",")
			if at := slices.Index(args, "--url"); at >= 0 {
				args = slices.Delete(args, at, at+2)
			}
			found[fmt.Sprint(path, " ", i)] = args
		}
	}

	return found
}

// TestOutagesRestartNoWorker: while DynamoDB throttles, or does not answer, a worker is not ready, and the command
// with which the container's health is checked still says that the container is healthy.
func TestOutagesRestartNoWorker(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	b, err := server.Embed(server.Config{Data: filepath.Join(t.TempDir(), "data"), AdminListen: "127.0.0.1:0"}, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })

	if err := b.CreateTables(t.Context()); err != nil {
		t.Fatal(err)
	}

	admin, err := b.StartAdmin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })

	check := func(args ...string) (healthy bool, output string) {
		command := exec.CommandContext(t.Context(), os.Args[0], append(args, "--json")...)
		command.Env = append(os.Environ(), asProgram+"=1", "RATCHET_ADMIN_LISTEN="+strings.TrimPrefix(admin.URL(), "http://"))
		raw, err := command.Output()

		return err == nil, string(raw)
	}

	if ready, output := check("health"); !ready {
		t.Fatalf("not ready without a fault: %s", output)
	}

	for _, fault := range []faults.Fault{faults.Fail("GetItem"), faults.ExceedThroughput("GetItem")} {
		injection, err := b.Engine.Inject(fault)
		if err != nil {
			t.Fatal(err)
		}

		ready, output := check("health")

		var health server.Health
		if err := json.Unmarshal([]byte(output), &health); ready || err != nil || !slices.ContainsFunc(health.Checks, func(c server.HealthCheck) bool {
			return c.Status == server.HealthFailed
		}) {
			t.Errorf("%+v: ready %t: %s", fault, ready, output)
		}

		for path, command := range containerChecks(t) {
			if healthy, output := check(command...); !healthy {
				t.Errorf("%+v: %s: the container is restarted: %s", fault, path, output)
			}
		}

		injection.Remove()
	}
}
