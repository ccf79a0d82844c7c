package transitions

import "fmt"

// Verdict is the answer to a request. The list is closed and its texts are part
// of the wire formats: new verdicts go at the end, none is ever renamed.
type Verdict uint8

// The seven verdicts.
const (
	_ Verdict = iota
	// Applied: this call moved the order.
	Applied
	// Replayed: this very request had been applied before; the result is the same.
	Replayed
	// Superseded: another transition took this id or a later one, and this request
	// was never applied. It never will be.
	Superseded
	// WrongState: the order is in another state than the event needs. Nothing is
	// recorded; a later retry is judged afresh.
	WrongState
	// Conflict: the same id or the same request id was used with other content.
	Conflict
	// NotFound: there is no such order.
	NotFound
	// Illegal: the definition has no such event, or not from that state.
	Illegal
)

var verdictTexts = [...]string{Applied: "Applied", Replayed: "Replayed", Superseded: "Superseded",
	WrongState: "WrongState", Conflict: "Conflict", NotFound: "NotFound", Illegal: "Illegal"}

func (v Verdict) String() string {
	if v == 0 || int(v) >= len(verdictTexts) {
		return fmt.Sprintf("Verdict(%d)", uint8(v))
	}
	return verdictTexts[v]
}

// Verdicts returns all seven, in order.
func Verdicts() []Verdict {
	return []Verdict{Applied, Replayed, Superseded, WrongState, Conflict, NotFound, Illegal}
}

// MarshalText writes the verdict's name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a verdict's name.
func (v *Verdict) UnmarshalText(text []byte) error {
	for _, known := range Verdicts() {
		if known.String() == string(text) {
			*v = known
			return nil
		}
	}

	return fmt.Errorf("verdict %q is not known", text)
}

// Done reports whether the order has made the transition: the caller goes on.
func (v Verdict) Done() bool { return v == Applied || v == Replayed }
