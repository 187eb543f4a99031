// Runs in a process of the pool.
import { compileExpression, ExpressionError, type ExpressionKind } from '../core/expression.ts';
import type { TemplateValues } from '../core/template.ts';

export interface Evaluation {
  source: string;
  kind: ExpressionKind;
  values: TemplateValues;
}

export type Evaluated = { output: unknown } | { problem: string };

export function perform({ source, kind, values }: Evaluation): Evaluated {
  try {
    return { output: compileExpression(source, kind).evaluate(values) };
  } catch (error) {
    if (error instanceof ExpressionError) return { problem: error.message };
    throw error;
  }
}
