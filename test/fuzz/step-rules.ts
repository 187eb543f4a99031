import { componentOf } from '../../api/schemas/automation/feature-step.ts';
import { catalog } from '../../src/services.ts';
import type { Json } from '../openapi/document.ts';
import { oneOf, type WordedRule } from './schema-arbitrary.ts';

const action = { integration: 'slack', action: 'send_message', payload: { channel: 'C1', text: 'About {{input}}' } };

/** The payloads of steps of features: the examples of the reference. */
const payloadRules: WordedRule[] = [...catalog.stepKinds.values()].flatMap(({ type, example }) =>
  example ? [{ at: [`${componentOf(type)}.payload`], words: /A valid payload/, follow: () => oneOf(example) }] : [],
);

/** Rules of the steps of workflows. */
export const stepRules: WordedRule[] = [
  ...payloadRules,
  {
    at: ['WorkflowStepInput'],
    words: /Required for conditions and transforms: a valid CEL expression.*Required for actions: a valid payload/,
    follow: (steps) =>
      steps.map((step) => ({
        expression: 'true',
        ...(step as Json),
        ...((step as Json).type === 'action' && action),
      })),
  },
  {
    at: ['WorkflowStepInput.expression'],
    words: /a valid CEL expression over input, variables and steps/,
    follow: () => oneOf('input == "x"', 'size(variables) > 1', 'has(steps.before.output)'),
  },
  {
    at: ['WorkflowStepInput.then', 'WorkflowStepInput.else'],
    words: /the id of a later step or end/,
    follow: () => oneOf('end'),
  },
  {
    at: ['WorkflowStepInput.outputSchema'],
    words: /A valid JSON Schema/,
    follow: () => oneOf({}, { type: 'object', properties: { a: { type: 'string' } } }, { enum: [1, 'x'] }),
  },
  {
    at: ['WorkflowStepInput.tools'],
    words: /ids of tool servers/,
    follow: () => oneOf([], ['memory'], ['notion', 'docker']),
  },
];
