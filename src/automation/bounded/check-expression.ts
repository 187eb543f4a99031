// Runs in a process of the pool.
import { compileExpression, ExpressionError, type ExpressionKind } from '../core/expression.ts';

export type CheckedExpression =
  /** What is wrong with it, in words for its author. */
  | { problem: string }
  /** Ids of the steps that it looks at, and of those without whose output it cannot be evaluated. */
  | { steps: string[]; needed: string[] };

export function perform({ source, kind }: { source: string; kind: ExpressionKind }): CheckedExpression {
  try {
    const { steps, needed } = compileExpression(source, kind);
    return { steps: steps === 'all' ? [] : [...steps], needed: [...needed] };
  } catch (error) {
    if (error instanceof ExpressionError) return { problem: error.message };
    throw error;
  }
}
