package jsonpath

import "testing"

// TestAsJayway has what Jayway JsonPath 2 does, the library of the service by the form of its messages.
// Source: https://github.com/json-path/JsonPath at 2.9, PathCompiler.java and ArraySliceOperation.java; the README
// says of $['a','b'] that it reads several properties
func TestAsJayway(t *testing.T) {
	for _, row := range []struct{ path, want string }{
		{"$.['limit']", "10"},
		{"$.['limit', 'big']", `{"limit":10,"big":9007199254740993}`},
		{"$.store.['book'].[0].['title']", `"Sayings"`},
		{"$.store.book.[?(@.isbn)].title", `["Moby","Lord"]`},
		{"$.store.book.[1:3].title", `["Sword","Moby"]`},
		{"$.store.book.[*].price", "[8.95,12.99,8.99,22.99]"},
		{"$..['isbn']", `["0-553","0-395"]`},

		// A definite path with several names at its end is one object, with the members that are there.
		{"$['limit','none','nothing']", `{"limit":10,"none":null}`},
		{"$['x','y']", "{}"},
		{"$['limit','limit']", `{"limit":10}`},
		{"$..book[0]['title','price']", `[{"title":"Sayings","price":8.95}]`},
		// Before further steps the names are as many paths.
		{"$.store['book','bicycle']..color", `["red"]`},

		// A slice has no step.
		{"$.store.book[0:3:2].title", `["Sayings","Sword","Moby"]`},
		{"$.store.book[1::9].title", `["Sword","Moby","Lord"]`},

		// Words without quotes, as AWS's samples have them. Jayway takes them in 2.0 only.
		{"$.store.book[?(@.category==reference)].title", `["Sayings"]`},
		{"$.store.book[?(@.category == fiction && @.price < 10)].title", `["Moby"]`},
		{"$.store.book[?(@.price == true)].title", "[]"},
	} {
		p, err := Compile(row.path)
		if err != nil {
			t.Errorf("%s: %v", row.path, err)
			continue
		}

		if got, err := p.Evaluate(&Scope{Input: []byte(store)}); err != nil || string(got) != row.want {
			t.Errorf("%s: %s, %v; want %s", row.path, got, err, row.want)
		}
	}
}

// TestCompiledAsJayway has the paths of the library's own PathCompilerTest, and whether it takes them.
// Left out are functions (foo()), paths that begin with @, and regular expressions, which this package refuses.
func TestCompiledAsJayway(t *testing.T) {
	for path, takes := range map[string]bool{
		"$X": false, "$": true, "$.": false, "$.prop.": false, "$..": false, "$.prop..": false, "$.prop": true, "$.1prop": true,
		"$['prop']": true, "$['1prop']": true, "$['@prop']": true, "$[  '@prop'  ]": true, `$["prop"]`: true,
		"$['prop0', 'prop1']": true, "$[  'prop0'  , 'prop1'  ]": true, "$.aaa.bbb.ccc": true, "$.foo bar": false,
		"$.*": true, "$[*]": true, "$[ * ]": true, "$.prop[*]": true, "$['prop'][*]": true,
		"$[1]": true, "$[1,2,3]": true, "$[ 1 , 2 , 3 ]": true, "$[-1:]": true, "$[1:2]": true, "$[:2]": true,
		"$[?(@.foo == 'bar')]": true, `$[?(@.foo == "bar")]`: true, "$..['prop']..[*]": true,
		"$[0, 1, 2 4]": false, "$['1','2',]": false, "$['1', ,'3']": false, "$['aaa'}'bbb']": false,
		"$.logs[?(@.message && (@.id == 1 || @.id == 2))].id": true, "$.logs[?(@.message == '] it')].message": true,
	} {
		p, err := Compile(path)
		// A name after $ is a variable of Step Functions, which the library does not have.
		if path == "$X" {
			takes = err == nil && p.variable == "X"
		}

		if (err == nil) != takes {
			t.Errorf("%s: %v", path, err)
		}
	}
}
