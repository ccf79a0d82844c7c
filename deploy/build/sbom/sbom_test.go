package sbom_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"build/sbom"
)

// TestABillHasEveryModule: the bill of the program that makes releases names the modules that it links, and is the same a second time.
func TestABillHasEveryModule(t *testing.T) {
	// The linker notes no modules in the program of a test.
	program := filepath.Join(t.TempDir(), "release")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, "build/release").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	at := time.Unix(1, 0).UTC()

	first, err := sbom.Of(program, "ratchet-v1.0.0", at)
	if err != nil {
		t.Fatal(err)
	}

	again, err := sbom.Of(program, "ratchet-v1.0.0", at)
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("a second bill differs, %v", err)
	}

	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(first), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}

	found := map[string]string{}
	for _, c := range *bom.Components {
		found[c.Name] = c.PackageURL
	}

	if len(found["std"]) == 0 || found["github.com/CycloneDX/cyclonedx-go"] == "" || bom.Metadata.Component.Name != "ratchet-v1.0.0" {
		t.Errorf("%s", first)
	}
}
