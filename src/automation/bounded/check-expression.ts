// Runs in a process of the pool.
import {
  compileExpression,
  ExpressionError,
  type ExpressionKind,
  type ExpressionVariable,
} from '../core/expression.ts';

interface ExpressionCheck {
  source: string;
  kind: ExpressionKind;
  /** The names that it can use. Default: those of its kind. */
  variables?: readonly ExpressionVariable[];
}

export type CheckedExpression =
  /** The problem, in words for its author. */
  | { problem: string }
  /** Ids of the steps that it looks at, and of those without whose output it cannot be evaluated. */
  | { steps: string[]; needed: string[] };

export function perform({ source, kind, variables }: ExpressionCheck): CheckedExpression {
  try {
    const { steps, needed } = compileExpression(source, kind, variables);
    return { steps: steps === 'all' ? [] : [...steps], needed: [...needed] };
  } catch (error) {
    if (error instanceof ExpressionError) return { problem: error.message };
    throw error;
  }
}
