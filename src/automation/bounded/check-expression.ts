// Runs in a process of the pool.
import { compileExpression, ExpressionError, type ExpressionKind } from '../core/expression.ts';

/** @returns what is wrong with an expression, in words for its author; null when nothing is */
export function perform({ source, kind }: { source: string; kind: ExpressionKind }): string | null {
  try {
    compileExpression(source, kind);
    return null;
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
}
