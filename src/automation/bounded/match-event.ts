// Runs in a process of the pool.
import { compileExpression, ExpressionError, type ExpressionValues } from '../core/expression.ts';

/** An event as expressions, runs and callers see it. */
export interface EventValue {
  id: string;
  type: string;
  data: unknown;
  /** ISO 8601. */
  receivedAt: string;
}

/** What an event is matched with. */
export interface MatchCandidate {
  /** A filter looks at the event alone, a match at its run too. */
  condition?: { kind: 'filter' | 'match'; source: string; values?: ExpressionValues } | undefined;
  /** Expressions of the variables of the run that a trigger starts. */
  inputs?: Record<string, string> | undefined;
}

/** Whether a candidate matches, with the values of its inputs. One whose expressions fail does not match. */
export type Matched = { matches: boolean; hasFailed?: true; variables?: Record<string, unknown> };

const outcomeOf = ({ condition, inputs = {} }: MatchCandidate, event: EventValue): Matched => {
  try {
    if (condition) {
      const { kind, source, values } = condition;
      if (!compileExpression(source, kind).evaluate({ ...values, event })) return { matches: false };
    }
    const variables = Object.entries(inputs).map(([name, source]): [string, unknown] => [
      name,
      compileExpression(source, 'event_value').evaluate({ event }),
    ]);
    return { matches: true, variables: Object.fromEntries(variables) };
  } catch (error) {
    if (error instanceof ExpressionError) return { matches: false, hasFailed: true };
    throw error;
  }
};

export const perform = ({ event, candidates }: { event: EventValue; candidates: MatchCandidate[] }): Matched[] =>
  candidates.map((candidate) => outcomeOf(candidate, event));
