package streams

import (
	"fmt"
	"strings"
	"testing"

	"ratchet/embedded/internal/attr"
)

// The records of GetRecords, letter by letter. Consumers recognize a record by its eventID: it must
// stay the same in all versions and differ between records.
func TestRecords(t *testing.T) {
	image := func(s string) []byte { return attr.AppendBinary(nil, attr.Item{"id": {Kind: attr.S, Str: s}}) }

	ids := map[string]bool{}
	for no := range uint64(20) {
		for _, seq := range []sequence{0, 1, sequence(no), 1_763_712_000_000 << counterBits} {
			id := fmt.Sprintf("%016x%016x", mix(no), mix(uint64(seq)))
			ids[id] = true

			for _, row := range []struct {
				change Change
				want   string
			}{
				{
					Change{Event: Insert, Keys: image("k"), New: image("n"), Size: 9},
					`"eventName":"INSERT"%s,"dynamodb":{%s,"Keys":{"id":{"S":"k"}},"NewImage":{"id":{"S":"n"}},%s"SizeBytes":9,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
				},
				{
					Change{Event: Modify, Keys: image("k"), New: image("n"), Old: image("o"), Size: 12},
					`"eventName":"MODIFY"%s,"dynamodb":{%s,"Keys":{"id":{"S":"k"}},"NewImage":{"id":{"S":"n"}},"OldImage":{"id":{"S":"o"}},%s"SizeBytes":12,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
				},
				{
					Change{Event: Remove, Expired: true, Keys: image("k"), Old: image("o"), Size: 9},
					`"eventName":"REMOVE"%s,"dynamodb":{%s,"Keys":{"id":{"S":"k"}},"OldImage":{"id":{"S":"o"}},%s"SizeBytes":9,"StreamViewType":"NEW_AND_OLD_IMAGES"},"userIdentity":{"Type":"Service","PrincipalId":"dynamodb.amazonaws.com"}}`,
				},
			} {
				st := new(Stream)
				st.record.No, st.record.View = no, NewAndOldImages

				got, err := row.change.appendJSON([]byte("before"), st, seq, "eu-west-1")
				if err != nil {
					t.Fatal(err)
				}

				want := `before{"eventID":"` + id + `",` + fmt.Sprintf(row.want, `,"eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1"`,
					fmt.Sprintf(`"ApproximateCreationDateTime":%d`, seq.time().Unix()), fmt.Sprintf(`"SequenceNumber":"1%020d",`, uint64(seq)))
				if string(got) != want {
					t.Errorf("record %d of stream %d\n got %s\nwant %s", seq, no, got, want)
				}
			}
		}
	}

	if want := 20*4 - 2; len(ids) != want { // streams 0 and 1 have a sequence number twice
		t.Errorf("%d ids, want %d", len(ids), want)
	}
}

// A page that outgrows its memory keeps the records that it has.
func TestAPageThatGrows(t *testing.T) {
	st := new(Stream)
	st.record.View = NewAndOldImages

	for _, size := range []int{10, 300, 5_000, 60_000} {
		p := page{region: "eu-west-1", limit: 40, out: make([]byte, 0, firstRoom)}

		want := ""
		for n := range 10 {
			image := attr.AppendBinary(nil, attr.Item{"id": {Kind: attr.S, Str: strings.Repeat(string(rune('a'+n)), size)}})
			c := Change{Event: Insert, Keys: image, New: image, Size: 2 * size}

			record, err := c.appendJSON(nil, st, sequence(n), p.region)
			if err != nil {
				t.Fatal(err)
			}

			if fits, err := p.add(st, sequence(n), c.encode(nil, NewAndOldImages)); err != nil || fits != (n*c.Size+c.Size <= maxRecordBytes) {
				t.Fatalf("record %d of %d bytes fits: %v, %v", n, size, fits, err)
			} else if fits {
				want += "," + string(record)
			}
		}

		if string(p.out) != want[1:] {
			t.Errorf("a page of records of %d bytes has other ones: %.200s", size, p.out)
		}
	}
}

// Few records take little memory, although the page has room for a thousand.
func TestAPageOfFewRecordsIsSmall(t *testing.T) {
	st := new(Stream)
	st.record.View = NewAndOldImages

	image := attr.AppendBinary(nil, attr.Item{"id": {Kind: attr.S, Str: strings.Repeat("a", 1000)}})
	c := Change{Event: Insert, Keys: image, New: image, Size: 2000}
	p := page{region: "eu-west-1", limit: maxRecords, out: make([]byte, 0, firstRoom)}

	for n := range 100 {
		if fits, err := p.add(st, sequence(n), c.encode(nil, NewAndOldImages)); err != nil || !fits {
			t.Fatalf("record %d fits: %v, %v", n, fits, err)
		}

		// A larger buffer is the smallest that a pool has, or up to twice what was asked for.
		if room := cap(p.out); room > 32<<10 && room > 2*(mostGrowth+1)*len(p.out) {
			t.Fatalf("an answer of %d bytes, %d records, has room for %d", len(p.out), n+1, room)
		}
	}
}
