//go:build sdks

package sdks

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ratchet/tests/program"
)

// TestGeneratedClients generates a client from the OpenAPI document of `ratchet dev` in each language, and
// runs the program of examples/clients with it. TypeScript's compiler checks its program against the document.
func TestGeneratedClients(t *testing.T) {
	sdks, dir := install(t), t.TempDir()

	dev := program.Process{
		Bin: program.Build(t), Args: []string{"dev", "--json", "--notify", "none"}, Work: dir, Dir: dir, Name: "dev",
		Env: []string{"RATCHET_LISTEN=127.0.0.1:0", "RATCHET_API_LISTEN=127.0.0.1:0", "RATCHET_ADMIN_LISTEN=127.0.0.1:0"},
	}.Start(t)

	var banner struct{ API string }
	if err := json.Unmarshal([]byte(dev.FirstLine(t)), &banner); err != nil || banner.API == "" {
		t.Fatalf("no API: %v", err)
	}

	document := filepath.Join(dir, "openapi.json")
	download(t, banner.API+"/openapi.json", document)

	// The programs stand beside the generated clients, and beside the libraries of Node.
	work := filepath.Join(sdks, "js")
	copyFile(t, filepath.Join(examples, "clients/python/order.py"), filepath.Join(dir, "order.py"))
	copyFile(t, filepath.Join(examples, "clients/typescript/order.mts"), filepath.Join(work, "order.mts"))
	python := filepath.Join(sdks, "python/bin")

	for name, commands := range map[string][][]string{
		"python": {
			{filepath.Join(python, "openapi-python-client"), "generate", "--path", document, "--output-path", filepath.Join(dir, "client"), "--meta", "none"},
			{filepath.Join(python, "python"), filepath.Join(dir, "order.py"), banner.API, "web-1"},
		},
		"typescript": {
			{"node_modules/.bin/openapi-typescript", document, "-o", "ratchet.d.ts"},
			{"node_modules/.bin/tsc", "--target", "es2022", "--module", "nodenext", "--strict", "order.mts"},
			{"node", "order.mjs", banner.API, "web-2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var printed string

			for _, command := range commands {
				cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
				cmd.Dir, cmd.Env = work, append(os.Environ(), "PATH="+python+":"+os.Getenv("PATH"))

				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%q: %v\n%s", command, err, out)
				}
				printed = string(out)
			}

			const want = "PENDING|PENDING|Applied|Applied|wrong_state|ON_HOLD"
			var ends []string
			for line := range strings.Lines(printed) {
				words := strings.Fields(line)
				ends = append(ends, words[len(words)-1])
			}

			if got := strings.Join(ends, "|"); got != want {
				t.Errorf("it printed\n%s\nwhich ends in %s, want %s", printed, got, want)
			}
		})
	}
}

func download(t *testing.T, url, file string) {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()

	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()

	if _, err := out.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
}
