package transitions_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

var sameValues = cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{},
	types.AttributeValueMemberBOOL{}, types.AttributeValueMemberNULL{}, types.AttributeValueMemberSS{}, types.AttributeValueMemberNS{},
	types.AttributeValueMemberBS{}, types.AttributeValueMemberL{}, types.AttributeValueMemberM{})

// everyKind has an own attribute of each type of DynamoDB, with names that need placeholders.
func everyKind() transitions.Attributes {
	return transitions.Attributes{
		"WHERE": text("x"), "a.b": &types.AttributeValueMemberN{Value: "-12.5"}, "size(é)": &types.AttributeValueMemberB{Value: []byte{0, 255}},
		"SELECT": dynamo.Bool(false), "#n": &types.AttributeValueMemberNULL{Value: true}, ":v": dynamo.SS("b", "a"),
		"own0": &types.AttributeValueMemberNS{Value: []string{"2", "1"}}, "none": &types.AttributeValueMemberBS{Value: [][]byte{{1}, {}}},
		"a list": &types.AttributeValueMemberL{Value: []types.AttributeValue{text(""), dynamo.M(dynamo.Item{"a/b": num(1)})}},
		"map":    dynamo.M(dynamo.Item{}), "nil map": &types.AttributeValueMemberM{}, "nil list": &types.AttributeValueMemberL{},
	}
}

// tableOwn returns the attributes of the order's item in the table that neither Ratchet nor the key has.
func (s *orders) tableOwn(t *testing.T, id transitions.OrderID) transitions.Attributes {
	t.Helper()

	m, item := s.Shop.Mapping, s.Item(t, id)
	for _, field := range m.Fields() {
		name := m.Attributes[field]
		if name == "" {
			name = m.Prefix + field
		}
		delete(item, name)
	}

	for name := range m.ItemKey(id) {
		delete(item, name)
	}

	return item
}

func (s *orders) wantOwn(t *testing.T, id transitions.OrderID, seen *transitions.Order, want transitions.Attributes) {
	t.Helper()

	for where, got := range map[string]transitions.Attributes{"the answer": seen.Own, "a read": s.read(t, id).Own, "the table": s.tableOwn(t, id)} {
		if diff := cmp.Diff(want, got, sameValues, cmpopts.EquateEmpty(), cmpopts.SortSlices(strings.Compare), cmpopts.SortSlices(bytes.Compare)); diff != "" {
			t.Errorf("own attributes in %s (-want +got):\n%s", where, diff)
		}
	}
}

// Own attributes are set, removed and compared in the one write of a transition, whatever the mapping is.
func TestOwnAttributesAreWrittenWithTheTransition(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, open maker) {
		s := open(t)
		placed := shop.Mugs("o-1", 2)
		placed.Own = transitions.Attributes{"old": text("1"), "stays": num(1)}

		result, err := s.Create(t.Context(), placed)
		if err != nil || result.Verdict != transitions.Applied {
			t.Fatal(result.Verdict, err)
		}
		s.wantOwn(t, "o-1", result.Order, placed.Own)

		pay := keyed("o-1", workflow.Pay, "p")
		pay.TransitionID = 2
		pay.Own = transitions.OwnChange{
			Set: everyKind(), Remove: []string{"old", "never"},
			If: transitions.OwnGuards{Equals: transitions.Attributes{"old": text("1")}, Exists: []string{"stays"}, Missing: []string{"WHERE", "none"}},
		}

		s.Wire.Reset()

		result = s.want(t, pay, transitions.Applied)
		if n := s.Wire.Count(moves...); n != 1 {
			t.Errorf("%d writes: %v", n, s.Wire.Calls())
		}

		want := everyKind()
		want["stays"] = num(1)
		s.wantOwn(t, "o-1", result.Order, want)

		// The conditions no longer hold, and the request was applied all the same.
		s.want(t, pay, transitions.Replayed)

		other := pay
		other.Own.Set = transitions.Attributes{"WHERE": text("y")}
		s.want(t, other, transitions.Conflict)
		other.Own = transitions.OwnChange{}
		s.want(t, other, transitions.Conflict)

		ship := given("o-1", workflow.Ship, 3)
		ship.Own.If.Equals = everyKind()
		ship.Own.If.Equals[":v"] = dynamo.SS("a", "b")
		s.want(t, ship, transitions.Applied)
	})
}

// An own condition that does not hold is a refusal like that of a guard, and names the attribute, but not its value.
func TestAnOwnGuardRefuses(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, open maker) {
		s := open(t)
		placed := shop.Mugs("o-1", 2)
		placed.Own = transitions.Attributes{"weight": num(3)}
		shop.Place(t, s.Orders, placed)

		for reason, guards := range map[string]transitions.OwnGuards{
			`own attribute "weight" has another value than the request needs`:       {Equals: transitions.Attributes{"weight": num(4)}},
			`own attribute "height" has another value than the request needs`:       {Equals: transitions.Attributes{"height": num(4)}},
			`own attribute "height" is missing, and the request needs it`:           {Exists: []string{"weight", "height"}},
			`own attribute "weight" exists, and the request needs that it does not`: {Missing: []string{"weight"}},
		} {
			pay := given("o-1", workflow.Pay, 2)
			pay.Own = transitions.OwnChange{Set: transitions.Attributes{"paid": dynamo.Bool(true)}, If: guards}

			if r := s.want(t, pay, transitions.WrongState); r.Reason != reason {
				t.Errorf("%q, want %q", r.Reason, reason)
			}

			preview, err := s.Preview(t.Context(), pay)
			if err != nil || preview.Verdict != transitions.WrongState || preview.Reason != reason {
				t.Errorf("preview: %s %q %v", preview.Verdict, preview.Reason, err)
			}
		}
		s.wantOwn(t, "o-1", s.read(t, "o-1"), placed.Own)
	})
}

// The content of a request is found where its transition has gone: in the ring, and later in the row of its request
// id or in the journal.
func TestOwnAttributesArePartOfARequestForGood(t *testing.T) {
	for name, forget := range map[string]bool{"rows of requests": false, "journal": true} {
		t.Run(name, func(t *testing.T) {
			s := newOrdersIn(t, transitions.JournalTransactional)
			if forget {
				s.forgetRequests()
			}
			s.place(t, "o-1")

			hold := keyed("o-1", workflow.Hold, "h")
			hold.Own.Set = transitions.Attributes{"by": text("ada")}
			s.want(t, hold, transitions.Applied)

			for n := range 5 {
				s.want(t, keyed("o-1", workflow.Release, transitions.RequestID(fmt.Sprint("r-", n))), transitions.Applied)
				s.want(t, keyed("o-1", workflow.Hold, transitions.RequestID(fmt.Sprint("h-", n))), transitions.Applied)
			}

			s.want(t, hold, transitions.Replayed)
			hold.Own.Set = transitions.Attributes{"by": text("bob")}
			s.want(t, hold, transitions.Conflict)
			hold.Own = transitions.OwnChange{}
			s.want(t, hold, transitions.Conflict)
		})
	}
}

// An edit changes own attributes in the states that the definition says, once.
func TestAnEditChangesOwnAttributes(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, open maker) {
		s := open(t)
		s.place(t, "o-1")

		first := transitions.OwnChange{Set: everyKind(), If: transitions.OwnGuards{Missing: []string{"WHERE"}}}
		s.Wire.Reset()

		result := edited(t, transitions.Applied)(s.SetOwn(t.Context(), edit("o-1", "e-1"), first))
		if n := len(s.Wire.Calls()); n != 1 {
			t.Errorf("%d requests: %v", n, s.Wire.Calls())
		}
		s.wantOwn(t, "o-1", result.Order, everyKind())
		edited(t, transitions.Replayed)(s.SetOwn(t.Context(), edit("o-1", "e-1"), first))

		first.If = transitions.OwnGuards{}
		edited(t, transitions.Conflict)(s.SetOwn(t.Context(), edit("o-1", "e-1"), first))

		late := transitions.OwnChange{Remove: []string{"WHERE"}, If: transitions.OwnGuards{Exists: []string{"nothing"}}}

		refused := edited(t, transitions.WrongState)(s.SetOwn(t.Context(), edit("o-1", "e-2"), late))
		if want := `own attribute "nothing" is missing, and the request needs it`; refused.Reason != want {
			t.Errorf("%q, want %q", refused.Reason, want)
		}
		late.If.Exists = []string{"WHERE"}
		edited(t, transitions.Applied)(s.SetOwn(t.Context(), edit("o-1", "e-2"), late))

		s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
		edited(t, transitions.WrongState)(s.SetOwn(t.Context(), edit("o-1", "e-3"), first))
	})
}

// Placing with other own attributes is another order.
func TestOwnAttributesArePartOfThePlacing(t *testing.T) {
	s := newOrders(t)
	order := shop.Mugs("o-1", 1)
	order.Own = transitions.Attributes{"a": num(1)}
	shop.Place(t, s.Orders, order)

	for want, own := range map[transitions.Verdict]transitions.Attributes{transitions.Replayed: {"a": num(1)}, transitions.Conflict: {"a": num(2)}} {
		order.Own = own
		if r, err := s.Create(t.Context(), order); err != nil || r.Verdict != want {
			t.Errorf("%s, want %s, %v", r.Verdict, want, err)
		}
	}

	s.want(t, transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2, Own: transitions.OwnChange{Remove: []string{"a"}}}, transitions.Applied)

	order.Own = transitions.Attributes{"a": num(1)}
	if r, err := s.Create(t.Context(), order); err != nil || r.Verdict != transitions.Replayed {
		t.Errorf("after the attribute is gone: %s, %v", r.Verdict, err)
	}
}

// What breaks a rule is refused before anything is sent, with the place and the rule, and without the value.
func TestOwnAttributesHaveRules(t *testing.T) {
	deep := text("x")
	for range 16 {
		deep = dynamo.M(dynamo.Item{"a": deep})
	}

	many := make([]string, 21)
	for i := range many {
		many[i] = fmt.Sprint("a", i)
	}
	set := func(v types.AttributeValue) transitions.OwnChange {
		return transitions.OwnChange{Set: transitions.Attributes{"a": v}}
	}
	number := "a number in plain decimal form with at most 38 digits and no needless zero"

	for want, change := range map[string]transitions.OwnChange{
		`own/set/total: attribute "total": is one of Ratchet's fields: total`:                         {Set: transitions.Attributes{"total": num(1)}},
		`own/remove/1: attribute "orderId": is the key of the table`:                                  {Remove: []string{"a", "orderId"}},
		`own/if/exists/0: attribute "recent": is one of Ratchet's fields: recent`:                     {If: transitions.OwnGuards{Exists: []string{"recent"}}},
		`own/remove/0: attribute "a": is named twice`:                                                 {Set: transitions.Attributes{"a": num(1)}, Remove: []string{"a"}},
		`own/if/missing/1: attribute "a": is named twice`:                                             {If: transitions.OwnGuards{Missing: []string{"a", "a"}}},
		`own/set/: attribute "": a name has 1 to 255 characters of UTF-8, without control characters`: {Set: transitions.Attributes{"": num(1)}},
		"own/remove: 21 attributes, at most 20":                                                       {Remove: many},
		"own: 65544 bytes of names and values, at most 65536":                                         set(text(strings.Repeat("x", 64<<10+5))),
		"own/set/a: a value of DynamoDB with one type of S, N, B, BOOL, NULL, SS, NS, BS, L, M":       set(nil),
		"own/set/a/N: " + number: set(&types.AttributeValueMemberN{Value: "secret"}),
		"own/set/a/M/b~1c/L/1/NS: one or more different numbers, each " + number: set(dynamo.M(dynamo.Item{"b/c": &types.AttributeValueMemberL{
			Value: []types.AttributeValue{text(""), &types.AttributeValueMemberNS{Value: []string{"1", "1"}}},
		}})),
		"own/set/a/SS: one or more different texts of UTF-8":     set(dynamo.SS()),
		"own/set/a/BS: one or more different bytes, and not nil": set(&types.AttributeValueMemberBS{Value: [][]byte{{1}, {1}}}),
		"own/set/a/B: bytes, and not nil":                        set(&types.AttributeValueMemberB{}),
		"own/set/a/L/0/BS: one or more different bytes, and not nil": set(&types.AttributeValueMemberL{
			Value: []types.AttributeValue{&types.AttributeValueMemberBS{Value: [][]byte{{1}, nil}}},
		}),
		"own/set/a/S: a text of UTF-8": set(text("\xff")),
		"own/set/a/NULL: true":         set(&types.AttributeValueMemberNULL{}),
		"own/set/a" + strings.Repeat("/M/a", 16) + ": at most 16 lists and maps in each other": set(deep),
	} {
		s := newOrders(t)
		s.Wire.Reset()

		r := given("o-1", workflow.Pay, 2)
		r.Own = change

		_, err := s.Apply(t.Context(), r)
		if !errors.Is(err, transitions.ErrInvalidRequest) || !strings.HasSuffix(err.Error(), "invalid request: "+want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v\nwant %s", err, want)
		}

		if n := len(s.Wire.Calls()); n != 0 {
			t.Errorf("%s: %d requests were sent", want, n)
		}
	}
}

// A number has one spelling, which DynamoDB takes.
func TestOwnNumbersHaveOneSpelling(t *testing.T) {
	digits := strings.Repeat("9", 38)
	for number, valid := range map[string]bool{
		"0": true, "-1": true, "10": true, "0.5": true, "-0.05": true, "12.5": true, digits: true, "-" + digits: true,
		"": false, "-0": false, "01": false, "1.0": false, "0.50": false, ".5": false, "1.": false, "+1": false, "1e3": false, digits + "9": false, "1 ": false, "NaN": false,
	} {
		err := transitions.OwnChange{Set: transitions.Attributes{"n": &types.AttributeValueMemberN{Value: number}}}.Validate(transitions.Mapping{})
		if valid != (err == nil) {
			t.Errorf("%q: %v", number, err)
		}
	}
}

// A name is Ratchet's under the mapping of the table, and free under another.
func TestAnOwnNameIsFreeUnderTheMapping(t *testing.T) {
	mapping := shop.OddMapping()
	s := newMappedOrders(t, transitions.JournalByStream, mapping)
	// The name of a field that is no attribute's name in this table.
	taken := slices.Collect(maps.Values(mapping.Attributes))
	free := mapping.Fields()[slices.IndexFunc(mapping.Fields(), func(field string) bool { return !slices.Contains(taken, field) })]

	placed := shop.Mugs("o-1", 1)
	placed.Own = transitions.Attributes{"orderId": text("mine"), free: num(3)}
	shop.Place(t, s.Orders, placed)
	s.wantOwn(t, "o-1", s.read(t, "o-1"), placed.Own)

	for _, name := range []string{mapping.Attributes["total"], mapping.PartitionKey, mapping.SortKey} {
		r := given("o-1", workflow.Pay, 2)
		r.Own.Remove = []string{name}

		if _, err := s.Apply(t.Context(), r); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Conditions that do not fit into one expression together with those of the definition are refused.
func TestOwnConditionsHaveRoomInTheExpression(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	spec := workflow.Order().Spec()
	guarded := slices.IndexFunc(spec.Transitions, func(t workflow.Transition) bool { return t.Event == workflow.Expire })

	// As many guards as the definition may have.
	for i := 0; ; i++ {
		spec.Transitions[guarded].Guards = append(spec.Transitions[guarded].Guards, workflow.Guard{Name: fmt.Sprint("g", i), Attribute: fmt.Sprint("a", i), Op: "missing"})

		d, err := workflow.New(spec)
		if err != nil {
			t.Fatal(err)
		}

		full, err := transitions.New(transitions.Config{DynamoDB: s.DB, Table: shop.OrdersTable, Definition: d})
		if err != nil {
			break
		}
		s.Orders = full
	}

	r := given("o-1", workflow.Expire, 2)
	for i := range 20 {
		name := fmt.Sprintf("%0255d", i)
		r.Own.If.Missing = append(r.Own.If.Missing, name)
	}

	if _, err := s.Apply(t.Context(), r); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "own/if: makes a condition of") {
		t.Errorf("with the guards of the definition: %v", err)
	}

	s.reconfigure(func(*transitions.Config) {})
	s.want(t, r, transitions.Applied)
}

// A small change of own attributes costs what the transition costs.
func TestOwnAttributesCostNoUnitMore(t *testing.T) {
	s := newOrders(t)
	units, reads := 0.0, 0.0
	s.reconfigure(func(c *transitions.Config) {
		c.Events.Consumed = func(_ transitions.OrderID, _ transitions.Verdict, r, w float64) { reads, units = reads+r, units+w }
	})
	s.place(t, "o-1")
	units, reads = 0, 0

	r := given("o-1", workflow.Pay, 2)
	r.Own = transitions.OwnChange{Set: transitions.Attributes{"a": num(1)}, If: transitions.OwnGuards{Missing: []string{"a"}}}
	s.want(t, r, transitions.Applied)

	if units != 1 || reads != 0 {
		t.Errorf("%v write units and %v read units", units, reads)
	}
}

// A row of the journal has the own attributes only where that was asked for, the same in both modes.
func TestTheJournalHasOwnAttributesWhereAskedFor(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		inBothModes(t, func(t *testing.T, open maker) {
			s := open(t)
			s.reconfigure(func(c *transitions.Config) { c.Journal, c.JournalOwn = s.mode, wanted })

			order := shop.Mugs("o-1", 1)
			order.Own = transitions.Attributes{"a": num(1), "b": num(1)}
			shop.Place(t, s.Orders, order)
			placed := s.Item(t, "o-1")

			pay := given("o-1", workflow.Pay, 2)
			pay.Own = transitions.OwnChange{Set: transitions.Attributes{"b": num(2), "c": num(3)}, Remove: []string{"a", "never"}}
			s.want(t, pay, transitions.Applied)

			if s.mode == transitions.JournalByStream {
				shop.Record(t, s.Orders, nil, placed)
				shop.Record(t, s.Orders, placed, s.Item(t, "o-1"))
			}

			rows := s.rows(t, 0)

			want := []transitions.OwnChange{{}, {}}
			if wanted {
				want = []transitions.OwnChange{{Set: order.Own}, {Set: pay.Own.Set, Remove: []string{"a"}}}
			}

			for i, row := range rows {
				if diff := cmp.Diff(want[i], row.Own, sameValues); diff != "" {
					t.Errorf("row %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

// Nothing of the person is left in own attributes and their digests, and what the mapping keeps stays.
func TestAnErasureRemovesOwnAttributes(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.Shop.Mapping.Keep = []string{"kind"}
	s.reconfigure(shop.Journal(s.mode), func(c *transitions.Config) { c.JournalOwn = true })

	order := shop.Mugs("o-1", 1)
	order.Own = transitions.Attributes{"kind": text("order"), "name": text("Ada")}
	shop.Place(t, s.Orders, order)

	hold := keyed("o-1", workflow.Hold, "h")
	hold.Own.Set = transitions.Attributes{"a.b": text("Ada")}
	s.want(t, hold, transitions.Applied)

	for n := range 5 {
		s.want(t, keyed("o-1", workflow.Release, transitions.RequestID(fmt.Sprint("r-", n))), transitions.Applied)
		s.want(t, keyed("o-1", workflow.Hold, transitions.RequestID(fmt.Sprint("h-", n))), transitions.Applied)
	}
	s.want(t, keyed("o-1", workflow.Release, "r"), transitions.Applied)
	expire := keyed("o-1", workflow.Expire, "e")
	expire.Own.Set = transitions.Attributes{"c": text("Ada")}
	s.want(t, expire, transitions.Applied)

	image := s.Shop.Mapping.WithoutPerson(s.Item(t, "o-1"))
	digests := s.ownDigests(t)
	if len(digests) < 4 {
		t.Fatalf("digests %q", digests)
	}

	if err := s.eraseItem(t, s.read(t, "o-1")); err != nil {
		t.Fatal(err)
	}

	for i, want := range []int{3, 0} {
		if n, err := s.EraseHistory(t.Context(), s.read(t, "o-1")); err != nil || n != want {
			t.Errorf("time %d: %d rows, want %d: %v", i, n, want, err)
		}
	}
	s.wantOwn(t, "o-1", s.read(t, "o-1"), transitions.Attributes{"kind": text("order")})

	for _, item := range append(s.everything(t), image) {
		shown, err := json.Marshal(transitions.Attributes(item))
		if err != nil || strings.Contains(string(shown), "Ada") {
			t.Errorf("left %s, %v", shown, err)
		}
	}

	for _, d := range s.ownDigests(t) {
		if strings.Trim(d, "7") != "" && strings.ReplaceAll(d, "\xff", "") != "" && strings.Trim(d, "74") != "" {
			t.Errorf("a digest is left: %q", d)
		}
	}

	s.want(t, hold, transitions.Replayed)
	s.want(t, expire, transitions.Replayed)
}

// An order may have more own attributes than one update names: other programs write them, and one request after another.
func TestAnErasureRemovesAnyNumberOfOwnAttributes(t *testing.T) {
	for name, mapping := range shop.Mappings() {
		s := newMappedOrders(t, transitions.JournalByStream, mapping)
		s.Shop.Mapping.Keep = []string{"a-7"}
		s.reconfigure()
		s.place(t, "o-1")

		id := transitions.TransitionID(2)
		for i := range 10 {
			many := transitions.Attributes{}
			for k := range 50 {
				many[fmt.Sprint("a-", 50*i+k)] = text("Ada")
			}

			r := given("o-1", []workflow.Event{workflow.Hold, workflow.Release}[i%2], id)
			r.Own.Set = many
			s.want(t, r, transitions.Applied)
			id++
		}
		s.want(t, given("o-1", workflow.Expire, id), transitions.Applied)
		before := s.read(t, "o-1")

		for range 2 {
			if err := s.eraseItem(t, before); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		after := s.read(t, "o-1")
		s.wantOwn(t, "o-1", after, transitions.Attributes{"a-7": text("Ada")})

		if after.ErasedAt.IsZero() || after.State != before.State || after.Total != before.Total || len(after.Recent()) != len(before.Recent()) || len(after.Unreadable) > 0 {
			t.Errorf("%s: the order is %+v", name, after)
		}
	}
}

// everything returns all items of the tables of orders, journal and requests.
func (s *orders) everything(t *testing.T) (all []map[string]types.AttributeValue) {
	t.Helper()

	for _, table := range []string{shop.OrdersTable, shop.JournalTable, shop.RequestsTable} {
		out, err := s.DB.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(table)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, out.Items...)
	}

	return all
}

// ownDigests returns the digests of own attributes in all tables.
func (s *orders) ownDigests(t *testing.T) (all []string) {
	t.Helper()

	for _, item := range s.everything(t) {
		if b := dynamo.Bytes(item, "ownHash"); b != nil {
			all = append(all, string(b))
		}

		recent, _ := item["recent"].(*types.AttributeValueMemberM)
		if recent == nil {
			continue
		}

		for name, v := range recent.Value {
			slot, _ := v.(*types.AttributeValueMemberS)
			if slot == nil || name[0] != 's' {
				continue
			}

			if fields := strings.Fields(slot.Value); len(fields) == 6 && strings.ToLower(fields[5]) != fields[5] {
				all = append(all, strings.TrimLeft(fields[5], "af"))
			}
		}
	}

	return all
}

// A migration, a new life and a restoration leave own attributes as they are, and reactions see them.
func TestOwnAttributesOutliveMaintenance(t *testing.T) {
	s := newOrders(t)
	order := shop.Mugs("o-1", 1)
	order.Own = transitions.Attributes{"a": num(1)}
	shop.Place(t, s.Orders, order)
	placed := s.Item(t, "o-1")

	r := given("o-1", workflow.Hold, 2)
	r.Own.Set = transitions.Attributes{"b": num(2)}
	s.want(t, r, transitions.Applied)
	want := transitions.Attributes{"a": num(1), "b": num(2)}

	change, moved, err := s.Shop.Mapping.FromRecord(placed, s.Item(t, "o-1"))
	if err != nil || !moved || len(change.Old.Own) != 1 || !cmp.Equal(want, change.New.Own, sameValues) {
		t.Errorf("a reaction sees %v and %v, %v", change.Old.Own, change.New.Own, err)
	}

	shop.Record(t, s.Orders, nil, placed)
	shop.Record(t, s.Orders, placed, s.Item(t, "o-1"))

	if renewed, err := s.Renew(t.Context(), s.read(t, "o-1")); err != nil || !renewed {
		t.Fatal(renewed, err)
	}
	s.wantOwn(t, "o-1", s.read(t, "o-1"), want)

	s.putItem(t, placed)

	if _, err := s.Restore(t.Context(), "o-1", true); err != nil {
		t.Fatal(err)
	}
	s.wantOwn(t, "o-1", s.read(t, "o-1"), order.Own) // the item that was found keeps them
	s.want(t, r, transitions.Replayed)
}

// Several requests change own attributes of one order in turn.
func TestApplyManyCarriesOwnAttributes(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	var requests []transitions.Request
	for i, event := range []workflow.Event{workflow.Hold, workflow.Release, workflow.Pay} {
		r := given("o-1", event, transitions.TransitionID(i+2))
		r.Own.Set = transitions.Attributes{"n": num(i + 1)}
		if i > 0 {
			r.Own.If.Equals = transitions.Attributes{"n": num(i)}
		}
		requests = append(requests, r)
	}

	outcomes, err := s.ApplyMany(t.Context(), requests, 2)
	if err != nil {
		t.Fatal(err)
	}

	for i, o := range outcomes {
		if o.Err != nil || o.Verdict != transitions.Applied {
			t.Errorf("%d: %s %v", i, o.Verdict, o.Err)
		}
	}
	s.wantOwn(t, "o-1", outcomes[2].Order, transitions.Attributes{"n": num(3)})
}

// The answer to a write that was lost is found, and own conditions do not matter then.
func TestALostAnswerOfAnOwnChangeIsFound(t *testing.T) {
	inBothModesOnVirtualTime(t, func(t *testing.T, open maker) {
		s := open(t)
		s.place(t, "o-1")
		s.Wire.Inject(embeddedtest.LoseAnswer(moves...).Next(1))

		r := given("o-1", workflow.Pay, 2)
		r.Own = transitions.OwnChange{Set: transitions.Attributes{"a": num(1)}, If: transitions.OwnGuards{Missing: []string{"a"}}}
		s.want(t, r, transitions.Applied)
	})
}

// Attributes are read as they are written.
func TestAttributesHaveDynamoDBsJSON(t *testing.T) {
	text, err := json.Marshal(everyKind())
	if err != nil {
		t.Fatal(err)
	}

	var read transitions.Attributes
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(everyKind(), read, sameValues, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", text, diff)
	}

	for in, want := range map[string]string{
		`[]`: ": an object of attributes", `{"a":null}`: "/a: a value", `{"a":{}}`: "/a: a value", `{"a":{"S":"","N":"1"}}`: "/a: a value",
		`{"a":{"X":""}}`: "/a/X: a value", `{"a":{"S":1}}`: "/a/S: has another form than S", `{"a":{"B":"AB=="}}`: "/a/B: has", `{"a":{"B":"AA==\n"}}`: "/a/B: has",
		`{"a":{"L":[{"M":{"b":{"SS":[null]}}}]}}`: "/a/L/0/M/b/SS: has another form", `{"a":{"BOOL":"true"}}`: "/a/BOOL: has", `{"a":{"NULL":null}}`: "/a/NULL: has",
		`{"a":{"BS":["A"]}}`: "/a/BS: has", `{"a":{"L":{}}}`: "/a/L: has", `{"a":{"M":[]}}`: "/a/M: an object", `{"a":{"NS":"1"}}`: "/a/NS: has",
	} {
		var a transitions.Attributes
		if err := a.UnmarshalJSON([]byte(in)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}

	if shown := fmt.Sprintf("%v %+v %#v %s", everyKind(), everyKind(), everyKind(), everyKind().LogValue()); shown != "[attributes] [attributes] [attributes] [attributes]" {
		t.Error(shown)
	}
}
