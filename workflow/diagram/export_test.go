package diagram

// GraphOf is graphOf for the tests.
var GraphOf = graphOf
