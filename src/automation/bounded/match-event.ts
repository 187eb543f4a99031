// Runs in a process of the pool.
import { isLargerThan } from '../../platform/core/json-size.ts';
import { maxEventDataBytes } from '../core/event-names.ts';
import { compileExpression, ExpressionError, type ExpressionValues } from '../core/expression.ts';

/** An event as expressions, runs and callers see it. */
export interface EventValue {
  id: string;
  type: string;
  data: unknown;
  /** ISO 8601. */
  receivedAt: string;
}

/** A value as its JSON: one of a megabyte is not parsed only to be written again. */
export interface JsonValue {
  readonly json: string;
}

/** The values of a run that a match looks at. Those that it does not look at may be absent. */
export interface MatchValues {
  input?: JsonValue;
  variables?: JsonValue;
  steps?: Record<string, JsonValue>;
}

/** What an event is matched with. */
export interface MatchCandidate {
  /** A filter looks at the event alone, a match at its run too. */
  condition?: { kind: 'filter' | 'match'; source: string; values?: MatchValues } | undefined;
  /** Expressions of the variables of the run that a trigger starts. */
  inputs?: Record<string, string> | undefined;
}

/** The same with numbers in the place of values: many candidates may look at one value of a megabyte. */
export interface PackedCandidate {
  condition?:
    | { kind: 'filter' | 'match'; source: string; input?: number; variables?: number; steps?: Record<string, number> }
    | undefined;
  inputs?: Record<string, string> | undefined;
}

export interface MatchArguments {
  event: EventValue;
  /** What candidates look at, each once. */
  values: unknown[];
  candidates: PackedCandidate[];
}

/** Whether a candidate matches, with the values of its inputs. One whose expressions fail does not match. */
export type Matched = { matches: boolean; hasFailed?: true; variables?: Record<string, unknown> };

const outcomeOf = ({ condition, inputs = {} }: PackedCandidate, { event, values }: MatchArguments): Matched => {
  try {
    if (condition) {
      const { kind, source, input, variables, steps } = condition;
      const seen: ExpressionValues = {
        ...(input !== undefined && { input: values[input] }),
        ...(variables !== undefined && { variables: values[variables] as Record<string, unknown> }),
        ...(steps && { steps: Object.fromEntries(Object.entries(steps).map(([id, at]) => [id, values[at]])) }),
        event,
      };
      if (!compileExpression(source, kind).evaluate(seen)) return { matches: false };
    }
    const variables = Object.fromEntries(
      Object.entries(inputs).map(([name, source]): [string, unknown] => [
        name,
        compileExpression(source, 'event_value').evaluate({ event }),
      ]),
    );
    // A hundred inputs can each be the whole event.
    if (isLargerThan(variables, maxEventDataBytes)) return { matches: false, hasFailed: true };
    return { matches: true, variables };
  } catch (error) {
    if (error instanceof ExpressionError) return { matches: false, hasFailed: true };
    throw error;
  }
};

export const perform = (given: MatchArguments): Matched[] =>
  given.candidates.map((candidate) => outcomeOf(candidate, given));
