package transitions

import "fmt"

// Verdict is the answer to a request. The texts of the verdicts are part of the wire
// formats: they never change, and a new verdict goes to the end of the list.
type Verdict uint8

// The seven verdicts.
const (
	_ Verdict = iota
	// Applied: this call moved the order.
	Applied
	// Replayed: this request had been applied before; the result is the same.
	Replayed
	// Superseded: another transition took this id or a later one. This request was never
	// applied and never will be. If the request names a life of the order that is over, the Reason says
	// so: the present order does not know what became of the request in that life.
	Superseded
	// WrongState: the event is not allowed from the order's state, or a guard does not
	// hold. Nothing is recorded: the same request may be applied later.
	WrongState
	// Conflict: the same id or the same request id was used with other content.
	Conflict
	// NotFound: there is no such order.
	NotFound
	// Illegal: the definition has no such event, or does not allow it from the state that
	// the request names. If there is an order, it was read: the request was not applied under an
	// earlier definition.
	Illegal
)

var verdictTexts = [...]string{
	Applied:    "Applied",
	Replayed:   "Replayed",
	Superseded: "Superseded",
	WrongState: "WrongState",
	Conflict:   "Conflict",
	NotFound:   "NotFound",
	Illegal:    "Illegal",
}

// String returns the verdict's name, like "Applied".
func (v Verdict) String() string {
	if v == 0 || int(v) >= len(verdictTexts) {
		return fmt.Sprintf("Verdict(%d)", uint8(v))
	}

	return verdictTexts[v]
}

// Verdicts returns all seven verdicts, in their order.
func Verdicts() []Verdict {
	return []Verdict{Applied, Replayed, Superseded, WrongState, Conflict, NotFound, Illegal}
}

// MarshalText writes the verdict's name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a verdict's name. It fails for any other text.
func (v *Verdict) UnmarshalText(text []byte) error {
	for _, known := range Verdicts() {
		if known.String() == string(text) {
			*v = known
			return nil
		}
	}

	return fmt.Errorf("verdict %q is not known", text)
}

// Done reports whether the order has made the requested transition, by this call or an
// earlier one: the verdict is Applied or Replayed.
func (v Verdict) Done() bool { return v == Applied || v == Replayed }
