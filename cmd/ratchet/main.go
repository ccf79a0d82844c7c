// Command ratchet runs and watches the order state machine that only moves forward.
package main

import (
	_ "time/tzdata" // an image from scratch has no time zones

	"ratchet/cmd/cli"
	"ratchet/server"
)

func main() { cli.Main(server.Parts{}) }
