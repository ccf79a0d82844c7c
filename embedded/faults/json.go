package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"
)

// encoded is a Fault as JSON.
type encoded struct {
	On          []string `json:",omitempty"`
	Skip        int      `json:",omitzero"`
	Every       int      `json:",omitzero"`
	Probability float64  `json:",omitzero"`
	Seed        uint64   `json:",omitzero"`
	Bucket      int      `json:",omitzero"`
	Refill      float64  `json:",omitzero"`
	Times       int      `json:",omitzero"`
	Answered    string   `json:",omitzero"`
	DelayMillis int64    `json:",omitzero"`
	Error       string   `json:",omitzero"`
	Message     string   `json:",omitzero"`
	Status      int      `json:",omitzero"`
	AfterCommit bool     `json:",omitzero"`
}

// Names of errors that are no codes of AWS.
const (
	nameLost      = "Lost"
	nameThrottled = "Throttled"
	nameConflict  = "Conflict"
)

// UnmarshalJSON reads a fault with the names of its fields, except that these replace Delay and
// Err: DelayMillis, a whole number of milliseconds; Error, which is Lost for a broken connection,
// Throttled for ErrThrottled, Conflict for ErrConflict, else the code of an [Error]; and the
// error's Message and Status. An unknown member is an error.
func (f *Fault) UnmarshalJSON(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))

	// A misspelled field that selects calls would let the fault strike all of them.
	d.DisallowUnknownFields()

	var in encoded
	if err := d.Decode(&in); err != nil {
		return err
	}

	*f = Fault{
		On:          in.On,
		Skip:        in.Skip,
		Every:       in.Every,
		Probability: in.Probability,
		Seed:        in.Seed,
		Bucket:      in.Bucket,
		Refill:      in.Refill,
		Times:       in.Times,
		Answered:    in.Answered,
		Delay:       time.Duration(in.DelayMillis) * time.Millisecond,
		AfterCommit: in.AfterCommit,
	}

	switch in.Error {
	case "":
	case nameLost:
		f.Err = ErrLost
	case nameThrottled:
		f.Err = ErrThrottled
	case nameConflict:
		f.Err = ErrConflict
	default:
		f.Err = &Error{Code: in.Error, Message: in.Message, Status: in.Status}
	}

	return nil
}

// MarshalJSON writes what UnmarshalJSON reads. Match is left out, and so are the members of an
// [Error]; any other error is Lost.
func (f Fault) MarshalJSON() ([]byte, error) {
	out := encoded{
		On:          f.On,
		Skip:        f.Skip,
		Every:       f.Every,
		Probability: f.Probability,
		Seed:        f.Seed,
		Bucket:      f.Bucket,
		Refill:      f.Refill,
		Times:       f.Times,
		Answered:    f.Answered,
		DelayMillis: f.Delay.Milliseconds(),
		AfterCommit: f.AfterCommit,
	}

	answer, isAnswer := errors.AsType[*Error](f.Err)
	switch {
	case f.Err == nil:
	case isAnswer:
		out.Error, out.Message, out.Status = answer.Code, answer.Message, answer.Status
	case errors.Is(f.Err, ErrThrottled):
		out.Error = nameThrottled
	case errors.Is(f.Err, ErrConflict):
		out.Error = nameConflict
	default:
		// ErrAnswerLost is Lost, too: AfterCommit tells the two apart.
		out.Error = nameLost
	}

	return json.Marshal(out)
}
