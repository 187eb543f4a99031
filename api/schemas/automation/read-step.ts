import type { ModelChoice, Provider, Step } from '../../../src/automation/core/steps.ts';

/** A step as sent. Fields that its type does not use are dropped. */
interface StepBody {
  id: string;
  type: 'prompt' | 'ai_chat' | 'condition' | 'transform' | 'action';
  name?: string | undefined;
  prompt?: string | undefined;
  expression?: string | undefined;
  then?: string | undefined;
  else?: string | undefined;
  provider?: Provider | undefined;
  model?: string | undefined;
  system?: string | undefined;
  temperature?: number | undefined;
  maxTokens?: number | undefined;
  outputSchema?: Record<string, unknown> | undefined;
  retry?: { maxAttempts: number } | undefined;
  fallback?: ModelChoice[] | undefined;
  tools?: string[] | undefined;
  integration?: string | undefined;
  action?: string | undefined;
  payload?: Record<string, unknown> | undefined;
}

/** Dialect B calls a prompt step `ai_chat`. */
export function readStep(body: StepBody): Step {
  const { type, expression, then: onTrue, else: onFalse, id, name, prompt, ...others } = body;
  const { integration = '', action = '', payload = {}, ...ofPrompts } = others;
  if (type === 'action') {
    const retry = body.retry && { retry: body.retry };
    return { id, type, ...(name !== undefined && { name }), integration, action, payload, ...retry };
  }
  const common = { id, ...(name !== undefined && { name }), ...(prompt !== undefined && { prompt }) };
  if (type === 'prompt' || type === 'ai_chat') return { ...common, ...ofPrompts, type: 'prompt' };
  const evaluated = { ...common, ...(expression !== undefined && { expression }) };
  if (type === 'transform') return { ...evaluated, type };
  return { ...evaluated, type, ...(onTrue && { then: onTrue }), ...(onFalse && { else: onFalse }) };
}
