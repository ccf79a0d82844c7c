package deploy

import (
	"os"
	"testing"

	"ratchet/cmd/cli"
	"ratchet/server"
)

// asProgram makes a process of this test the program `ratchet`, so that none has to be built.
const asProgram = "DEPLOY_TEST_IS_RATCHET"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		cli.Main(server.Parts{})
	}

	os.Exit(m.Run())
}
