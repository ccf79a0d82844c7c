// Package oci writes a container image with one static program as an OCI archive: nothing but the program, the root
// certificates and an empty /tmp, started as user 65532. The same program gives the same bytes.
package oci

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the user of distroless' "nonroot". No file of the image belongs to it.
const user = "65532:65532"

var epoch = time.Unix(0, 0).UTC()

// Write writes the image of a program, which is linked statically for the architecture, into the file out. It returns
// the image's digest.
func Write(binary, arch, revision, out string) (string, error) {
	image, err := build(binary, arch, revision)
	if err != nil {
		return "", err
	}

	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)

	// The tools read an OCI layout from a directory; the archive is the same directory as a tar.
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return "", fmt.Errorf("write layout: %w", err)
	}

	platform := v1.Platform{OS: "linux", Architecture: arch}
	if err := path.AppendImage(image, layout.WithPlatform(platform)); err != nil {
		return "", fmt.Errorf("write image: %w", err)
	}

	digest, err := image.Digest()
	if err != nil {
		return "", err
	}

	if err := archive(dir, out); err != nil {
		return "", fmt.Errorf("write %s: %w", out, err)
	}

	return digest.String(), nil
}

// build returns the image.
func build(binary, arch, revision string) (v1.Image, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}

	files, err := layer([]file{
		// The program calls AWS over TLS, and the image has no system that brings certificates.
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: certificates()},
		{name: "ratchet", mode: 0o755, content: content},
		// With the sticky bit, as /tmp has it everywhere.
		{name: "tmp/", mode: 0o1777},
	})
	if err != nil {
		return nil, err
	}

	// The library opens the layer several times: for its digests, and to write it.
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("make layer: %w", err)
	}

	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return nil, fmt.Errorf("append layer: %w", err)
	}

	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}

	config = config.DeepCopy()
	// A fixed time, so that the same program gives the same bytes.
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: epoch}
	config.Config = v1.Config{
		Entrypoint: []string{"/ratchet"},
		Cmd:        []string{"worker"},
		User:       user,
		WorkingDir: "/tmp",
		Labels:     map[string]string{"org.opencontainers.image.title": "ratchet", "org.opencontainers.image.revision": revision},
	}

	return mutate.ConfigFile(image, config)
}

// certificates returns Mozilla's root certificates, as the version of the module in go.mod has them.
func certificates() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		// A bytes.Buffer takes every write.
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
	}

	return text.Bytes()
}

// file is a file or directory of the image. A directory's name ends with a slash.
type file struct {
	name    string
	mode    int64
	content []byte
}

func layer(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		// Owner and times are the zero values: the same input gives the same bytes.
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: epoch, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}

		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}

	if err := w.Close(); err != nil {
		return nil, err
	}

	return out.Bytes(), nil
}

// archive writes the files of a directory, in the order of their names.
func archive(dir, out string) error {
	var files []file

	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			// WalkDir goes by name, so the order does not depend on the file system.
			return err
		}

		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		name, err := filepath.Rel(dir, path)
		files = append(files, file{name: name, mode: 0o644, content: content})

		return err
	})
	if err != nil {
		return err
	}

	content, err := layer(files)
	if err != nil {
		return err
	}

	return os.WriteFile(out, content, 0o644)
}
