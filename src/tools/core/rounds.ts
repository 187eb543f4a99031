import { failedResult, type ToolResult } from './tool-result.ts';

/**
 * A round is an answer of the model that asks for tools. After the last round the model is asked once more, without
 * tools.
 */
export const maxRounds = 8;

/** Maximum per round. */
const maxCalls = 5;

/** Attempts of a tool that may be called again after an attempt whose end is unknown. */
const attemptsOfIdempotent = 3;

export interface AskedCall {
  /** The provider's id of it. */
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** The beginning of arguments that are no JSON object. */
  unreadable?: string;
}

/** The reason why a call is not executed; undefined if it is. */
export function refusalOf(
  { name, unreadable }: AskedCall,
  position: number,
  offered: ReadonlySet<string>,
): ToolResult | undefined {
  if (position >= maxCalls) return failedResult('Too many calls in one round.');
  if (!offered.has(name)) return failedResult(`Unknown tool: ${name.slice(0, 100)}.`);
  if (unreadable === undefined) return undefined;
  return failedResult(`The arguments are not a JSON object, so the tool was not called: ${unreadable}`);
}

/** The positions of the calls to execute, in order. */
export const executedCalls = (calls: readonly AskedCall[], offered: ReadonlySet<string>): number[] =>
  calls.flatMap((call, position) => (refusalOf(call, position, offered) ? [] : [position]));

export const unknownOutcome = failedResult('The outcome of this call is unknown.');

/** @param attempt of this call, from 1; another one began before it and did not end */
export const mayCall = (attempt: number, isIdempotent: boolean): boolean =>
  attempt <= (isIdempotent ? attemptsOfIdempotent : 1);
