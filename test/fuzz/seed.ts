/**
 * The seed of the tests that ask a whole product: the same in every run, so that a change is judged by what it did.
 * Another number asks other questions; the report of a failure names the path to its smallest counterexample.
 */
export const seed = 36_345_228;
