import { definitionOf } from '../../../src/automation/core/definition-fields.ts';
import type { DefinitionFields } from '../../../src/automation/definitions/automations.ts';
import { isJsonObject } from '../../../src/platform/core/json-shapes.ts';
import type { Variant } from '../../../src/tenancy/caller.ts';

type Members = Record<string, unknown>;

/** A step and those inside it. Dialect B calls a prompt step `ai_chat`. */
function inB(step: unknown): unknown {
  if (!isJsonObject(step)) return step;
  const { type, steps, branches } = step;
  return {
    ...step,
    ...(type === 'prompt' && { type: 'ai_chat' }),
    ...(Array.isArray(steps) && { steps: steps.map(inB) }),
    ...(Array.isArray(branches) && { branches: branches.map(inB) }),
  };
}

interface ShownDefinition extends Omit<DefinitionFields, 'steps' | 'concurrency' | 'maxDurationSeconds'> {
  steps: Members[];
  concurrency: Members | null;
  maxDurationSeconds: number | null;
}

/** A definition as the API returns it: in the form that a save accepts, with every member. */
export function shownDefinition(definition: DefinitionFields, variant: Variant): ShownDefinition {
  const { steps, ...fields } = definitionOf(definition) as unknown as ShownDefinition;
  return { ...fields, steps: (variant === 'B' ? steps.map(inB) : steps) as Members[] };
}
