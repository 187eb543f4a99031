import { compileExpression, ExpressionError } from './core/expression.ts';
import { expressionOf, type Step, type StepProblem } from './core/steps.ts';
import { findSchemaProblem } from './output-schema.ts';

function expressionProblem(step: Exclude<Step, { type: 'prompt' }>): string | undefined {
  const source = expressionOf(step);
  if (source === undefined || source.trim() === '') return 'Expected an expression.';
  try {
    compileExpression(source, step.type);
    return undefined;
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
}

/** Problems inside steps: expressions and schemas are compiled when they are saved, not when a run needs them. */
export function findContentProblems(steps: readonly Step[]): StepProblem[] {
  return steps.flatMap((step, index) => {
    if (step.type === 'prompt') {
      const message = step.outputSchema && findSchemaProblem(step.outputSchema);
      return message ? [{ path: `${index}.outputSchema`, message }] : [];
    }
    const message = expressionProblem(step);
    const member = step.expression === undefined && step.prompt !== undefined ? 'prompt' : 'expression';
    return message ? [{ path: `${index}.${member}`, message }] : [];
  });
}
