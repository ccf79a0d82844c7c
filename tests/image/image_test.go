//go:build image

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// files returns the regular files of an archive, by name.
func files(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()

	all := map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return all
		}

		if err != nil {
			t.Fatal(err)
		}

		if header.Uid != 0 || header.Gid != 0 {
			t.Errorf("%s belongs to %d:%d", header.Name, header.Uid, header.Gid)
		}

		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		all[header.Name] = content
	}
}

func unzip(t *testing.T, content []byte) io.Reader {
	t.Helper()

	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}

	return r
}

func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MAKEFLAGS=")

	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}

	return string(out)
}

// blob returns what a descriptor of the image names, and checks its digest.
func blob(t *testing.T, all map[string][]byte, digest string) []byte {
	t.Helper()

	hex := strings.TrimPrefix(digest, "sha256:")

	content, ok := all["blobs/sha256/"+hex]
	if !ok || fmt.Sprintf("%x", sha256.Sum256(content)) != hex {
		t.Fatalf("blob %s is missing or another", digest)
	}

	return content
}

func decode[T any](t *testing.T, text []byte) (into T) {
	t.Helper()

	if err := json.Unmarshal(text, &into); err != nil {
		t.Fatal(err)
	}

	return into
}

type descriptor struct{ Digest, MediaType string }

// maxProgram is how many bytes the program may have, with the console in it. What links text/template's execution, or
// another call of a method by a name that is not known before, keeps every method of every type, and adds 16 MB:
// `go build -tags grpcnotrace -ldflags=-dumpdep ./cmd/ratchet` shows who, in lines with ReflectMethod.
const maxProgram = 64e6

// TestTheImageStarts builds the image, reads it as a container runtime does, and starts the program in its
// files alone, as its user.
func TestTheImageStarts(t *testing.T) {
	name := filepath.Join(root, "bin", "ratchet-image-"+runtime.GOARCH+".tar")
	command(t, root, "make", "image", "ARCH="+runtime.GOARCH)

	first, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	command(t, root, "make", "image", "ARCH="+runtime.GOARCH)

	again, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("a second build gives other bytes (%v)", err)
	}

	all := files(t, bytes.NewReader(first))
	index := decode[struct{ Manifests []descriptor }](t, all["index.json"])
	manifest := decode[struct {
		Config descriptor
		Layers []descriptor
	}](t, blob(t, all, index.Manifests[0].Digest))
	config := decode[struct {
		Architecture, OS string
		Config           struct {
			User            string
			Entrypoint, Cmd []string
		}
	}](t, blob(t, all, manifest.Config.Digest))

	if config.OS != "linux" || config.Architecture != runtime.GOARCH || config.Config.User != "65532:65532" || len(manifest.Layers) != 1 {
		t.Errorf("config %+v, layers %v", config, manifest.Layers)
	}

	content := files(t, unzip(t, blob(t, all, manifest.Layers[0].Digest)))
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(content["etc/ssl/certs/ca-certificates.crt"]) {
		t.Error("the image has no root certificates")
	}

	if size := len(content["ratchet"]); size == 0 || size > maxProgram {
		t.Errorf("the program has %d bytes, at most %.0f: docs/internals/dependencies.md", size, maxProgram)
	}

	// Without an argument it is a worker; an argument names another command.
	if !slices.Equal(config.Config.Entrypoint, []string{"/ratchet"}) || !slices.Equal(config.Config.Cmd, []string{"worker"}) {
		t.Errorf("it starts %q with %q", config.Config.Entrypoint, config.Config.Cmd)
	}

	start(t, content, config.Config.Entrypoint[0])
}

// start starts the program in a directory that has nothing but the image's files.
func start(t *testing.T, content map[string][]byte, entrypoint string) {
	dir := t.TempDir()
	for _, parent := range []string{dir, filepath.Dir(dir)} { // for a user who is not root
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for name, text := range content {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o777); err != nil {
				t.Fatal(err)
			}

			continue
		}

		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if os.Geteuid() != 0 {
		t.Fatal("the test needs root, for chroot")
	}

	run := func(args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), entrypoint, args...)
		cmd.Env = []string{"AWS_REGION=us-east-1"}
		inside(cmd, dir)

		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatalf("%v: %v", args, err)
		}

		return string(out), cmd.ProcessState.ExitCode()
	}

	if out, status := run("version"); status != 0 || !strings.HasPrefix(out, "ratchet ") || !strings.Contains(out, "linux/"+runtime.GOARCH) {
		t.Errorf("version: %d %s", status, out)
	}

	if out, status := run("health", "--url", "http://127.0.0.1:1"); status != 1 || !strings.Contains(out, "no process answers") {
		t.Errorf("health: %d %s", status, out)
	}

	for _, argument := range []string{"worker", "serve", "dev"} {
		if out, status := run(argument, "--help"); status != 0 || !strings.Contains(out, "ratchet "+argument+" [flags]") {
			t.Errorf("%s: %d %s", argument, status, out)
		}
	}

	if out, status := run("plan"); status != 0 {
		t.Errorf("plan: %d %s", status, out)
	}
}

// TestReleaseArchives builds the archive of this machine twice and starts the program in it.
func TestReleaseArchives(t *testing.T) {
	module, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}

	build := func() map[string][]byte {
		out := t.TempDir()
		command(t, filepath.Join(root, "deploy/build"), "go", "run", "./release", "--module", module, "--out", out, "--targets", runtime.GOOS+"/"+runtime.GOARCH)

		sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}

		all := map[string][]byte{}
		for line := range strings.Lines(string(sums)) {
			sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")

			if all[name], err = os.ReadFile(filepath.Join(out, name)); err != nil {
				t.Fatal(err)
			}

			if got := fmt.Sprintf("%x", sha256.Sum256(all[name])); got != sum {
				t.Errorf("SHA256SUMS says %s, %s has %s", sum, name, got)
			}
		}

		return all
	}

	released, again := build(), build()
	if !maps.EqualFunc(released, again, bytes.Equal) {
		t.Error("a second build gives other bytes")
	}

	var name string
	for file := range released {
		if archive, is := strings.CutSuffix(file, ".tar.gz"); is {
			name = archive
		}
	}

	content := released[name+".tar.gz"]
	if bill := released[name+".cdx.json"]; !bytes.Contains(bill, []byte("pkg:golang/github.com/aws/aws-sdk-go-v2@")) {
		t.Errorf("the bill of materials lacks the SDK: %s", bill)
	}

	if runtime.GOOS == "linux" && len(files(t, bytes.NewReader(released[name+"-image.tar"]))) == 0 {
		t.Error("there is no image")
	}

	all := files(t, unzip(t, content))
	for _, want := range []string{"LICENSE", "README.md", "SECURITY.md", "CHANGELOG.md", "licenses/go/LICENSE"} {
		if len(all[name+"/"+want]) == 0 {
			t.Errorf("the archive lacks %s", want)
		}
	}

	licensed := 0
	for file := range all {
		if strings.HasPrefix(file, name+"/licenses/github.com/aws/") {
			licensed++
		}
	}

	if licensed < 5 {
		t.Errorf("licenses of %d modules of AWS", licensed)
	}

	program := filepath.Join(t.TempDir(), "ratchet")
	if err := os.WriteFile(program, all[name+"/ratchet"], 0o755); err != nil {
		t.Fatal(err)
	}

	if out := command(t, "", program, "version"); !strings.Contains(out, "commit ") {
		t.Errorf("version: %s", out)
	}
}
