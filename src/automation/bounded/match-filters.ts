// Runs in a process of the pool.
import type { FilterOutcome } from '../../webhooks/index.ts';
import { compileExpression, type Expression, ExpressionError } from '../core/expression.ts';

/** An event and the filter of a webhook. */
export interface FilterCandidate {
  /** The place of the event's body in `events`. */
  event: number;
  filter: string;
}

interface FilterArguments {
  /** Complete bodies of events, whichever part the webhooks receive. */
  events: unknown[];
  candidates: FilterCandidate[];
}

export function perform({ events, candidates }: FilterArguments): FilterOutcome[] {
  const compiled = new Map<string, Expression>();
  const compile = (filter: string): Expression => {
    const known = compiled.get(filter) ?? compileExpression(filter, 'filter');
    compiled.set(filter, known);
    return known;
  };
  return candidates.map(({ event, filter }) => {
    try {
      return compile(filter).evaluate({ event: events[event] }) ? 'matches' : 'differs';
    } catch (error) {
      if (error instanceof ExpressionError) return 'failed';
      throw error;
    }
  });
}
