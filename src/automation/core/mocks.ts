// What steps of a test run end with.

/** Seconds after which a test run is cancelled. */
export const testSeconds = 60;

/** Runs that a tested run starts at most, itself and through the runs that it starts. */
export const maxTestDescendants = 100;

/** A step ends with this instead of being executed. */
export type Mock = { output: unknown } | { error: { message: string; code: string } };

/** By step id. A mock of a step in a map is that of every item. */
export type Mocks = Record<string, Mock>;
