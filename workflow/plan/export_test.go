package plan

// What the tests of package plan_test use beside the exported names.

const ItemWrites = itemWrites
const OpenExecutions = openExecutions
