package console

import "strings"

// commandsIn cuts a text at the backquotes around commands: every second part is a command. A text whose backquotes are no pairs is one part.
func commandsIn(text string) []string {
	if parts := strings.Split(text, "`"); len(parts)%2 == 1 {
		return parts
	}

	return []string{text}
}
