package diagram

// Of is graphOf for the tests.
var Of = graphOf
