// What steps of a test run end with.

/** Seconds after which a test run is cancelled. */
export const testSeconds = 60;

/** A step ends with this instead of being executed. */
export type Mock = { output: unknown } | { error: { message: string; code: string } };

/** By step id. A mock of a step in a map is that of every item. */
export type Mocks = Record<string, Mock>;
