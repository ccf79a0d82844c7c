// Command release builds the program for each target and writes one archive for each, with the licenses of
// every module that is linked, and the checksums of all.
//
//	go run ./release --module ../.. --out ../../dist
//	go run ./release --module ../.. --out ../../dist --version v1.0.0
//
// For Linux it also writes the container image, and for each target an SBOM (CycloneDX), from what the linker has noted in the
// program.
//
// With a version, the commit must carry that tag and no file may differ from it, and CHANGES.md has the version's section of
// the changelog. Without one, the archives have the name of the commit.
//
// The same commit gives the same bytes: paths are trimmed, and the files have the commit's time.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"build/oci"
	"build/sbom"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")

	module := flag.String("module", "../..", "directory of the module")
	out := flag.String("out", "", "directory of the archives (required)")
	targets := flag.String("targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "what to build for")
	version := flag.String("version", "", "the version to release, which is the tag of the commit; default: the commit's name")
	flag.Parse()

	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}

	if err := run(*module, *out, *version, strings.Split(*targets, ",")); err != nil {
		log.Fatal(err)
	}
}

func run(module, out, wanted string, targets []string) error {
	version, err := versionOf(module, wanted)
	if err != nil {
		return err
	}

	seconds, err := git(module, "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}

	revision, err := git(module, "rev-parse", "HEAD")
	if err != nil {
		return err
	}

	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("time of the commit: %w", err)
	}

	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}

	if wanted != "" {
		if err := writeChanges(module, out, wanted); err != nil {
			return err
		}
	}

	var sums strings.Builder
	for _, target := range targets {
		system, arch, ok := strings.Cut(target, "/")
		if !ok {
			return fmt.Errorf("target %q: must be OS/ARCH, as linux/amd64", target)
		}

		name := fmt.Sprintf("ratchet-%s-%s-%s", version, system, arch)

		b := build{module: module, out: out, name: name, system: system, arch: arch, revision: revision, at: time.Unix(unix, 0).UTC()}

		files, err := b.files()
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}

		for _, file := range files {
			content, err := os.ReadFile(filepath.Join(out, file))
			if err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), file)
			fmt.Printf("%s %.1f MB\n", file, float64(len(content))/1e6)
		}
	}

	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

func git(dir string, args ...string) (string, error) {
	text, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}

	return strings.TrimSpace(string(text)), nil
}

// build is what is released for one target.
type build struct {
	module, out, name string
	system, arch      string
	revision          string
	at                time.Time
}

// files builds the program and writes its archive, its SBOM and, for Linux, its image. It returns their names.
func (b build) files() ([]string, error) {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)

	// Without cgo the program is static, and builds for every system from one machine.
	env := append(os.Environ(), "CGO_ENABLED=0", "GOOS="+b.system, "GOARCH="+b.arch)
	binary := filepath.Join(dir, "ratchet")

	// -buildid= and -trimpath take the machine out of the bytes, and grpcnotrace 16 MB (docs/internals/dependencies.md).
	compile := exec.Command("go", "build", "-buildvcs=auto", "-trimpath", "-tags", "grpcnotrace", "-ldflags", "-s -w -buildid=", "-o", binary, "./cmd/ratchet")
	compile.Dir, compile.Env, compile.Stderr = b.module, env, os.Stderr
	if err := compile.Run(); err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}

	content, err := b.archive(binary, env)
	if err != nil {
		return nil, err
	}

	bill, err := sbom.Of(binary, b.name, b.at)
	if err != nil {
		return nil, err
	}

	names := []string{b.name + ".tar.gz", b.name + ".cdx.json"}
	for i, text := range [][]byte{content, bill} {
		if err := os.WriteFile(filepath.Join(b.out, names[i]), text, 0o644); err != nil {
			return nil, err
		}
	}

	if b.system != "linux" {
		return names, nil
	}

	image := b.name + "-image.tar"
	_, err = oci.Write(binary, b.arch, b.revision, filepath.Join(b.out, image))

	return append(names, image), err
}

// archive returns the archive of the program.
func (b build) archive(binary string, env []string) ([]byte, error) {
	// The licenses of this target: other systems link other modules.
	files, err := licenses(b.module, env)
	if err != nil {
		return nil, err
	}

	for _, name := range []string{"README.md", "LICENSE", "SECURITY.md", "CHANGELOG.md"} {
		if files[name], err = os.ReadFile(filepath.Join(b.module, name)); err != nil {
			return nil, err
		}
	}

	if files["ratchet"], err = os.ReadFile(binary); err != nil {
		return nil, err
	}

	return pack(b.name, files, b.at)
}

// licenseName matches the files that a license may be in.
var licenseName = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|notice|patents)(\.(md|txt|rst)|-[a-z0-9.-]+)?$`)

// licenses returns the licenses of the modules that the program links, and Go's, by their path in
// the archive. A module without a license is an error.
func licenses(module string, env []string) (map[string][]byte, error) {
	list := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/ratchet")
	list.Dir, list.Env, list.Stderr = module, env, os.Stderr

	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list modules: %w", err)
	}

	goroot := exec.Command("go", "env", "GOROOT")
	goroot.Dir, goroot.Env = module, env

	root, err := goroot.Output()
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}

	directories := map[string]string{"go": strings.TrimSpace(string(root))}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p struct {
			Module *struct {
				Path, Version, Dir string
				Main               bool
			}
		}

		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			return nil, fmt.Errorf("list modules: %w", err)
		}

		// Packages of the standard library have no module.
		if m := p.Module; m != nil && !m.Main {
			directories[m.Path+"@"+m.Version] = m.Dir
		}
	}

	files := map[string][]byte{}
	for name, dir := range directories {
		found, err := licensesIn(dir)
		if err != nil {
			return nil, err
		}

		if len(found) == 0 {
			return nil, fmt.Errorf("module %s has no license in %s", name, dir)
		}

		for file, content := range found {
			files["licenses/"+name+"/"+file] = content
		}
	}

	return files, nil
}

func licensesIn(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}

	found := map[string][]byte{}
	for _, entry := range entries {
		if entry.IsDir() || !licenseName.MatchString(entry.Name()) {
			continue
		}

		if found[entry.Name()], err = os.ReadFile(filepath.Join(dir, entry.Name())); err != nil {
			return nil, err
		}
	}

	return found, nil
}

// pack writes the files below a directory of the archive's name.
func pack(name string, files map[string][]byte, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}

	w := tar.NewWriter(compressed)
	// Sorted, so that the same files give the same bytes.
	for _, file := range slices.Sorted(maps.Keys(files)) {
		mode := int64(0o644)
		if file == "ratchet" {
			mode = 0o755
		}

		header := &tar.Header{Name: name + "/" + file, Mode: mode, Size: int64(len(files[file])), ModTime: at, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}

		if _, err := w.Write(files[file]); err != nil {
			return nil, err
		}
	}

	// Both must be closed before the bytes are complete, the inner one first.
	if err := errors.Join(w.Close(), compressed.Close()); err != nil {
		return nil, err
	}

	return out.Bytes(), nil
}
