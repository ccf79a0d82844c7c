//go:build sdks

package sdks

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ratchet/tests/program"
)

const home = "../../.cache/sdks"

// TestSDKs tries the endpoint of `ratchet dev` with one SDK after the other.
func TestSDKs(t *testing.T) {
	sdks := install(t)
	env := append(os.Environ(), "ENDPOINT="+startDev(t), "SDK="+filepath.Join(sdks, "js"), "PATH="+filepath.Join(sdks, "python/bin")+":"+os.Getenv("PATH"),
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_DEFAULT_REGION=us-east-1", "AWS_PAGER=", "AWS_EC2_METADATA_DISABLED=true")

	for name, command := range map[string][]string{
		"AWS CLI":                {"bash", "cli.sh"},
		"boto3":                  {filepath.Join(sdks, "python/bin/python"), "boto.py"},
		"JavaScript":             {"node", "sdk.mjs"},
		"JavaScript, executions": {"node", "flow.mjs"},
		"JavaScript 2":           {"node", "sdk2.cjs"},
		"Java":                   {"java", "-cp", filepath.Join(sdks, "java-sdk", "*"), "java/Engine.java"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
			cmd.Env = env

			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// install installs what the tests need, once, and returns its folder.
func install(t *testing.T) string {
	t.Helper()

	sdks, err := filepath.Abs(home)
	if err != nil {
		t.Fatal(err)
	}

	setup := exec.CommandContext(t.Context(), "bash", "setup.sh", sdks)
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	return sdks
}

// startDev runs `ratchet dev` until the test ends and returns the engine's endpoint. `ratchet dev`
// prints it when it answers.
func startDev(t *testing.T) string {
	t.Helper()

	dir := t.TempDir()
	dev := program.Process{
		Bin:  program.Build(t),
		Args: []string{"dev", "--json", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--notify", "none"},
		Dir:  dir, Name: "dev",
	}.Start(t)

	return dev.Endpoint(t)
}
