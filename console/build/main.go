// Command consolebuild writes the files that the console embeds:
//
//	go run . ..
//
// It compiles the pages (*.templ) to Go, and bundles scripts and style into static. The scripts of others come
// from the registry of npm as archives, with the checksums of this file. Nothing of Node is needed.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// library is a package of npm, and the files of it that the console uses.
type library struct {
	url, integrity string // as `npm view NAME dist` has them
	files          []string
}

var libraries = []library{
	{
		url:       "https://registry.npmjs.org/htmx.org/-/htmx.org-4.0.1.tgz",
		integrity: "sha512-oF7JgXhDW9UXCy/k1ZYFUQgzu/rm19ORWPSPNL91vPluB2PB9+MV55tyQdH/w7o2EAbTYUG5SDW1R60mdkdqGg==",
		files:     []string{"dist/htmx.esm.js", "dist/ext/hx-csp.js", "dist/ext/hx-sse.js", "LICENSE"},
	},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "consolebuild:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return errors.New("usage: consolebuild DIR, the directory of package console")
	}
	console := os.Args[1]

	templ := exec.Command("go", "tool", "templ", "generate", "-path", console)
	templ.Stdout, templ.Stderr = os.Stdout, os.Stderr
	if err := templ.Run(); err != nil {
		return fmt.Errorf("templ: %w", err)
	}

	fetched, err := os.MkdirTemp("", "consolebuild-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fetched)

	licenses := ""
	for _, l := range libraries {
		text, err := l.fetch(fetched)
		if err != nil {
			return fmt.Errorf("%s: %w", l.url, err)
		}
		licenses += l.url + "\n\n" + text + "\n"
	}

	static := filepath.Join(console, "static")
	if err := os.WriteFile(filepath.Join(static, "LICENSES.txt"), []byte(licenses), 0o644); err != nil {
		return err
	}

	return bundle(console, static, fetched)
}

// bundle writes console.js and console.css.
func bundle(console, static, fetched string) error {
	result := api.Build(api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: filepath.Join(console, "scripts", "console.ts"), OutputPath: "console"},
			{InputPath: filepath.Join(console, "scripts", "style.css"), OutputPath: "style"},
		},
		Bundle:            true,
		MinifySyntax:      true,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		Target:            api.ES2022,
		Format:            api.FormatIIFE,
		Alias:             map[string]string{"npm": fetched},
		Outdir:            static,
		Write:             true,
		LogLevel:          api.LogLevelWarning,
		LegalComments:     api.LegalCommentsNone,
	})
	if len(result.Errors) > 0 {
		return errors.New("the scripts cannot be bundled")
	}

	return nil
}

// fetch writes the files of the library below dir, and returns its license.
func (l library) fetch(dir string) (license string, err error) {
	answer, err := http.Get(l.url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()

	archive, err := io.ReadAll(io.LimitReader(answer.Body, 64<<20))
	if err != nil {
		return "", err
	}

	sum := sha512.Sum512(archive)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); answer.StatusCode != http.StatusOK || got != l.integrity {
		return "", fmt.Errorf("status %d, integrity %s, want %s", answer.StatusCode, got, l.integrity)
	}

	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return "", err
	}
	wanted := map[string]bool{}
	for _, name := range l.files {
		wanted[name] = true
	}

	for files := tar.NewReader(unzipped); ; {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", err
		}

		name := strings.TrimPrefix(file.Name, "package/")
		if !wanted[name] {
			continue
		}
		delete(wanted, name)

		content, err := io.ReadAll(files)
		if err != nil {
			return "", err
		}

		if name == "LICENSE" {
			license = string(content)
			continue
		}

		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), content, 0o600); err != nil {
			return "", err
		}
	}

	if len(wanted) > 0 {
		return "", fmt.Errorf("it lacks %v", wanted)
	}

	return license, nil
}
