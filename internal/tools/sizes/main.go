// Command sizes prints how many bytes of a program each module has, the largest first:
//
//	go build -o bin/ratchet ./cmd/ratchet && go run ./internal/tools/sizes bin/ratchet
//
// The program must have its symbols (no -ldflags -s). Names and line tables, which a program has for all modules together, are a row
// of their own. docs/internals/dependencies.md has the result.
package main

import (
	"cmp"
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/tools/sizes PROGRAM")
		os.Exit(2)
	}

	all, err := sizes(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}

	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b)) })
	for _, name := range names {
		fmt.Printf("%8.2f MB  %s\n", float64(all[name])/1e6, name)
	}
}

// lineTables has the names of functions, files and lines of all modules.
const lineTables = ".gopclntab"

// sizes returns the bytes in the file by module.
func sizes(program string) (map[string]uint64, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}

	modules := []string{info.Main.Path}
	for _, dep := range info.Deps {
		modules = append(modules, dep.Path)
	}
	// The longest first: a module may lie below the path of another one.
	slices.SortFunc(modules, func(a, b string) int { return cmp.Compare(len(b), len(a)) })

	file, err := elf.Open(program)
	if err != nil {
		return nil, err
	}
	defer file.Close()

	symbols, err := file.Symbols()
	if err != nil {
		return nil, fmt.Errorf("%w: build it without -ldflags -s", err)
	}

	all := map[string]uint64{}

	for _, s := range symbols {
		if int(s.Section) >= len(file.Sections) {
			continue
		}

		section := file.Sections[s.Section]
		// What is zero at the start is not in the file.
		if section.Type == elf.SHT_NOBITS || section.Name == lineTables {
			continue
		}
		all[moduleOf(s.Name, modules)] += s.Size
	}

	if lines := file.Section(lineTables); lines != nil {
		all["names and line tables"] = lines.Size
	}

	return all, nil
}

// moduleOf returns the module of a symbol.
func moduleOf(symbol string, modules []string) string {
	for _, prefix := range []string{"go:itab.", "type:.eq.", "type:.hash.", "type:", "*"} {
		symbol = strings.TrimPrefix(symbol, prefix)
	}

	symbol = strings.ReplaceAll(symbol, "%2e", ".")
	for _, m := range modules {
		if rest, ok := strings.CutPrefix(symbol, m); ok && (strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, ".")) {
			return m
		}
	}

	return "standard library"
}
