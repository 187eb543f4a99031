import { createHash } from 'node:crypto';
import type { Json } from '../openapi/document.ts';
import type { WordedRule } from './schema-arbitrary.ts';

/** An id for a step within another: no other step has it. */
const within = (id: string, place: string) =>
  `i${createHash('sha256').update(`${place}.${id}`).digest('hex').slice(0, 40)}`;

const list = (id: string, place: string) => [{ id: within(id, place), type: 'transform', expression: '1' }];

const rule = (component: string, words: RegExp, become: (step: Json) => Json): WordedRule => ({
  at: [component],
  words,
  follow: (steps) => steps.map((step) => become(step as Json)),
});

const instead = ({ id }: Json) => ({ id, type: 'transform', expression: '1' });

/** Rules of the steps of flows. Types that are not available yet become others. */
export const flowRules: WordedRule[] = [
  rule('ParallelStepInput', /Executes branches side by side/, (step) => ({
    ...step,
    branches: ['left', 'right'].map((id) => ({ id, steps: list(step.id, id) })),
  })),
  rule('MapStepInput', /Executes its steps once for each item/, (step) => ({
    ...step,
    items: '[1, 2]',
    steps: list(step.id, 'each'),
  })),
  rule('WaitStepInput', /exactly one of `for` and `until`/, ({ id, type }) => ({ id, type, for: '1h' })),
  rule('EventStepInput', /Waits for an event/, ({ timeout: _, ...step }) => ({ ...step, match: 'event.data.n == 1' })),
  rule('HttpStepInput', /Sends a request/, ({ id, type, method }) => ({
    id,
    type,
    method,
    url: 'https://example.com/{{input}}',
  })),
  rule('ApprovalStepInput', /Waits for the answer of a person/, instead),
  rule('WorkflowCallStepInput', /Executes another workflow/, instead),
];
