// Package sbom writes the bill of materials of a Go program.
package sbom

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// Of returns the bill of materials (CycloneDX 1.6, JSON) of a program with the name, as its linker has noted it: each module with
// its version and the checksum of go.sum, and Go itself. The same program gives the same bytes.
func Of(binary, name string, at time.Time) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read what is built into %s: %w", name, err)
	}

	bom := cdx.NewBOM()
	// A serial number would differ each time.
	bom.Metadata = &cdx.Metadata{
		Timestamp: at.Format(time.RFC3339),
		Component: &cdx.Component{BOMRef: name, Type: cdx.ComponentTypeApplication, Name: name, Version: version(info.Main)},
	}

	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	components := []cdx.Component{component("std", goVersion, "")}

	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		components = append(components, component(m.Path, m.Version, m.Sum))
	}
	bom.Components = &components

	uses := make([]string, len(components))
	for i, c := range components {
		uses[i] = c.BOMRef
	}
	bom.Dependencies = &[]cdx.Dependency{{Ref: name, Dependencies: &uses}}

	var text bytes.Buffer
	if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("write the bill of %s: %w", name, err)
	}

	return text.Bytes(), nil
}

func version(m debug.Module) string {
	if m.Version == "" {
		return "(devel)"
	}

	return m.Version
}

// component is a module. Its package URL is what scanners look up.
func component(path, version, sum string) cdx.Component {
	url := "pkg:golang/" + path + "@" + version
	c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}

	if sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go.sum", Value: sum}}
	}

	return c
}
