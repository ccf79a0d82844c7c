package input

// Repeat is the header of an answer that says whether the answer is repeated. The outputs of
// all routes that change something embed Repeat.
type Repeat struct {
	Replayed string `header:"Idempotent-Replayed" json:"-" doc:"true if this request repeats an earlier one. Status and body are those of the first answer."`
}

// MarkReplayed marks the answer as a repeated one.
func (r *Repeat) MarkReplayed() { r.Replayed = "true" }

// IsReplayed reports whether the answer is marked as a repeated one.
func (r *Repeat) IsReplayed() bool { return r.Replayed != "" }

// MayBeKeyed is the header of a request that is new each time, unless it has a key.
type MayBeKeyed struct {
	RequestKey string `header:"Idempotency-Key" minLength:"1" maxLength:"255" pattern:"^[!-~]+$" doc:"Names this request. A repeat with the same key and content gets the first answer; without a key each request is a new one. Quotes around the key are not a part of it." example:"8e03978e-40d5-43dd-bc93-6894a57f9324"`
}
