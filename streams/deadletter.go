package streams

// Attributes of a dead letter.
const (
	letterSource = "source"
	letterID     = "id"
)
