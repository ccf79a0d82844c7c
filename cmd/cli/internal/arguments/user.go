package arguments

import (
	"os/user"
	"strings"
)

// UserName returns the name of the user in up to 60 characters that an actor may have.
func UserName() string {
	// The user may be in no database, as in some containers.
	who, err := user.Current()
	if err != nil || who.Username == "" {
		return "unknown"
	}

	name := strings.Map(func(r rune) rune {
		// An actor has visible ASCII characters only.
		if r <= ' ' || r > '~' {
			return '_'
		}
		return r
	}, who.Username)

	return name[:min(len(name), 60)]
}
