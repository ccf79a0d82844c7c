// Package diagram renders workflow definitions: as a Mermaid or Graphviz diagram, as an
// SVG picture, or as a table for a terminal. Diagrams can carry
// the number of orders in each state.
//
// The output depends on the arguments only, so that it can be kept in documents and
// compared.
package diagram
