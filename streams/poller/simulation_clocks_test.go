package poller

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// simTimes are the attributes of rows of this package that hold a time, in milliseconds unless
// they are named otherwise. The simulation fails if a row has a time under another name, so that
// someone thinks about what a wrong clock does there.
var simTimes = map[string]string{
	leaseHandledAt:              "when the record was created, by the service's clock; is shown",
	leaseStartAt:                "by the service's clock; where reading begins",
	leaseListedAt:               "by the service's clock; GapUnread",
	leaseFinishedAt:             "by the service's clock; when a tombstone may go",
	leases.LeaseGapAt:           "is shown",
	leases.LeasePausedAt:        "is shown",
	leaseEpoch:                  "seconds; grows from shard to child, whatever the clocks say",
	leases.StreamStateCreatedAt: "by the service's clock; equal or another stream",
	leases.StreamStateBegunAt:   "by the service's clock; GapParent, GapUnread",
	leases.GroupSeenAt:          "by the service's clock; ErrTooManyGroups",
	deadLetterFailedAt:          "is shown and selected by",
	store.Expiry:                "seconds; time to live",
	retrySince:                  "the end of Retry.For",
	retryHolder:                 "seconds; as leaseEpoch",
	retryNextTry:                "bounded by retryPause",
}

// skewedClock stands between a worker and the service. A bubble of synctest has one clock. For the
// worker everything looks as if its own were ahead of the service's by offset: each time that it
// sends is later by that much, and each time that it receives is earlier. Its offset has whole
// seconds.
type skewedClock struct {
	sim    *simulation
	offset time.Duration
}

// around carries out a call of a worker with this clock.
func (k skewedClock) around(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
	c.SetBody(k.shift(c.Body(), k.offset))

	response, err := send()
	if err != nil {
		return nil, err
	}

	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}

	if err := response.Body.Close(); err != nil {
		return nil, err
	}

	body = k.shift(body, -k.offset)
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header = response.Header.Clone()
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))

	// As AWS does; clients in the engine's process have no need of it.
	response.Header.Set("Date", time.Now().Add(-k.offset).UTC().Format(http.TimeFormat))

	return response, nil
}

// shift moves all times in a JSON document.
func (k skewedClock) shift(body []byte, by time.Duration) []byte {
	if by == 0 || len(bytes.TrimSpace(body)) == 0 {
		return body
	}

	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()

	var document any
	if err := d.Decode(&document); err != nil {
		panic(fmt.Sprintf("a body of %d bytes: %v", len(body), err))
	}

	out, err := json.Marshal(k.value(document, "", by))
	if err != nil {
		panic(err)
	}

	return out
}

// value moves the times in a value that stands under a name.
func (k skewedClock) value(v any, name string, by time.Duration) any {
	switch v := v.(type) {
	case map[string]any:
		for member, inner := range v {
			under := member
			if len(v) == 1 && (member == "N" || member == "S" || member == "B") {
				under = name // the attribute's
			}

			text, isText := inner.(string)
			switch {
			case isText && len(v) == 1 && member == "N":
				v[member] = k.number(text, under, by)
			case isText && len(v) == 1 && member == "B":
				v[member] = k.packed(text, by)
			default:
				v[member] = k.value(inner, under, by)
			}
		}

		return v

	case []any:
		for i, inner := range v {
			v[i] = k.value(inner, name, by)
		}

		return v

	case json.Number: // of the protocol, as ApproximateCreationDateTime
		return json.Number(k.number(v.String(), "", by))

	case string:
		return k.text(v, name, by)
	}

	return v
}

// The years 1999 and 2000, where bubbles of synctest begin.
var (
	simFirstTime = time.Date(1999, 6, 1, 0, 0, 0, 0, time.UTC)
	simLastTime  = time.Date(2000, 6, 1, 0, 0, 0, 0, time.UTC)
)

// number moves a number that is a time in seconds or milliseconds.
func (k skewedClock) number(text, name string, by time.Duration) string {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}

	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
		perSecond := float64(time.Second / unit)
		if f < perSecond*float64(simFirstTime.Unix()) || f >= perSecond*float64(simLastTime.Unix()) {
			continue
		}

		if _, known := simTimes[name]; !known && name != "" && !strings.HasPrefix(name, ":") {
			k.sim.Errorf("attribute %s = %s is a time that simTimes does not name", name, text)
		}

		return strconv.FormatFloat(f+float64(by/unit), 'f', -1, 64)
	}

	return text
}

var (
	simShardID = regexp.MustCompile(`shardId-(\d{20})-`)
	simISOTime = regexp.MustCompile(`(1999|2000)-\d\d-\d\dT\d\d:\d\d`)
)

// text moves the times in ids of shards, and in a record that is stored as JSON.
func (k skewedClock) text(s, name string, by time.Duration) string {
	if strings.HasPrefix(s, `{"streamArn"`) {
		return string(k.shift([]byte(s), by))
	}

	if name == "createdAt" {
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
			return t.Add(by).Format(time.RFC3339Nano)
		}
	}

	_, label := store.SplitStreamARN(k.sim.arn)
	if strings.Contains(s, ":") && name != deadLetterError && name != retryError && simISOTime.MatchString(strings.ReplaceAll(s, label, "")) {
		k.sim.Errorf("%s = %q has a time", name, s)
	}

	return k.shardID(s, by)
}

func (k skewedClock) shardID(s string, by time.Duration) string {
	if !strings.Contains(s, "shardId-") {
		return s
	}

	return simShardID.ReplaceAllStringFunc(s, func(id string) string {
		millis, err := strconv.ParseInt(simShardID.FindStringSubmatch(id)[1], 10, 64)
		if err != nil {
			panic(err)
		}

		return fmt.Sprintf("shardId-%020d-", millis+by.Milliseconds())
	})
}

// packed moves the times in a record that is stored as gzipped JSON.
func (k skewedClock) packed(encoded string, by time.Duration) string {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		panic(err)
	}

	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return encoded
	}

	body, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}

	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.NoCompression) // the level is valid
	_, _ = w.Write(k.shift(body, by))
	_ = w.Close()

	return base64.StdEncoding.EncodeToString(packed.Bytes())
}

// gap returns a gap as the worker tells it to others.
func (k skewedClock) gap(g streams.Gap) streams.Gap {
	g.Shard = k.shardID(g.Shard, k.offset)
	g.Until = g.Until.Add(k.offset)

	return g
}

// epoch returns the Epoch of a record as others have it.
func (k skewedClock) epoch(r streams.Record) int64 { return r.Epoch + int64(k.offset/time.Second) }

// clockOf returns by how much the clock of a worker is ahead of the service's, in whole seconds: in
// two of three seeds up to four hours either way, in some of them about a day. Each third worker
// has the right time.
func (s *simulation) clockOf(name int) time.Duration {
	if s.seed%3 == 0 {
		return 0
	}

	rng := s.chance("clock", name)
	if rng.IntN(3) == 0 {
		return 0
	}

	offset := time.Minute + time.Duration(rng.IntN(4*3600))*time.Second
	if s.seed%7 == 1 {
		offset += 22 * time.Hour
	}

	if rng.IntN(2) == 0 {
		return -offset
	}

	return offset
}
