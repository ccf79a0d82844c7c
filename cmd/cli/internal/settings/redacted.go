package settings

import (
	"net/url"
	"regexp"
)

// WithoutSecrets hides the password of a URL and the values in its query. It returns other texts as
// they are.
func WithoutSecrets(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return text
	}

	if u.User != nil {
		text = u.Redacted()
	}

	// Tokens are often in a query; each value is hidden, the names stay.
	return queryValue.ReplaceAllString(text, "$1***")
}

// queryValue matches a value of a URL's query or its fragment, with the name before it, or a part that
// has no name.
var queryValue = regexp.MustCompile(`([?&;#](?:[^=&;#]*=)?)[^&;#]+`)
