// Runs in a process of the pool.
import {
  compileExpression,
  ExpressionError,
  type ExpressionKind,
  type ExpressionValues,
  type ExpressionVariable,
} from '../core/expression.ts';

export interface Evaluation {
  source: string;
  kind: ExpressionKind;
  /** The names that it can use. Default: those of its kind. */
  variables?: readonly ExpressionVariable[];
  values: ExpressionValues;
}

export type Evaluated = { output: unknown } | { problem: string };

export function perform({ source, kind, variables, values }: Evaluation): Evaluated {
  try {
    return { output: compileExpression(source, kind, variables).evaluate(values) };
  } catch (error) {
    if (error instanceof ExpressionError) return { problem: error.message };
    throw error;
  }
}
