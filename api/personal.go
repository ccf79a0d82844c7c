package api

// masked stands in an answer for a value that may concern a person, if the caller has no grant for personal
// data. It is reserved: no request may contain it as a value.
const masked = "[masked]"

// mask returns a value that may concern a person as the caller may see it. An absent value stays absent.
func (c caller) mask(value string) string {
	if value == "" || c.Personal {
		return value
	}

	return masked
}
