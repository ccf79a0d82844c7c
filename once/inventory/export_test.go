package inventory

// What the tests of package inventory_test use beside the exported names.

const MaxLines = maxLines
