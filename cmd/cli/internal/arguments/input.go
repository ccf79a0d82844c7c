package arguments

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
)

// OpenInput opens the file, or standard input for -.
func OpenInput(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	return os.Open(name)
}

// ReadFile reads a file that the user names, or standard input for "-".
func ReadFile(c *cobra.Command, path string) ([]byte, error) {
	var text []byte
	var err error
	if path == "-" {
		text, err = io.ReadAll(c.InOrStdin())
	} else {
		text, err = os.ReadFile(path)
	}

	if err != nil {
		return nil, exit.UsageError("read %s: %w", path, err)
	}

	return text, nil
}
