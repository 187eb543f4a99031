import type { BoundedTask } from '../../platform/bounded-work/task.ts';
import type { perform as checkAnswerTask } from './check-answer.ts';
import type { perform as checkExpressionTask } from './check-expression.ts';
import type { perform as checkFormTask } from './check-form.ts';
import type { perform as checkSchemaTask } from './check-schema.ts';
import type { perform as diffTask } from './diff-definitions.ts';
import type { perform as evaluateTask } from './evaluate-expression.ts';
import type { perform as matchEventTask } from './match-event.ts';
import type { perform as matchFiltersTask } from './match-filters.ts';
import type { perform as readYamlTask } from './read-yaml.ts';
import type { perform as writeYamlTask } from './write-yaml.ts';

type TaskOf<Perform extends (args: never) => unknown> = BoundedTask<Parameters<Perform>[0], ReturnType<Perform>>;

const module = (name: string) => new URL(`./${name}.ts`, import.meta.url).href;

/** Milliseconds of processor time. */
const limits = { expression: 250, schema: 1_000, answer: 1_000, match: 100, diff: 500, yaml: 1_000 };

export const checkExpression: TaskOf<typeof checkExpressionTask> = {
  module: module('check-expression'),
  limitMs: limits.expression,
};

export const evaluateExpression: TaskOf<typeof evaluateTask> = {
  module: module('evaluate-expression'),
  limitMs: limits.expression,
};

export const checkSchema: TaskOf<typeof checkSchemaTask> = { module: module('check-schema'), limitMs: limits.schema };

/** Compiles the schema too, in a process that does not know it yet. */
export const checkAnswer: TaskOf<typeof checkAnswerTask> = { module: module('check-answer'), limitMs: limits.answer };

/** Matches an event with several triggers and waits. A costly filter is found by matching fewer at a time. */
export const matchEvent: TaskOf<typeof matchEventTask> = { module: module('match-event'), limitMs: limits.match };

/** Evaluates filters of webhooks in the same way. */
export const matchFilters: TaskOf<typeof matchFiltersTask> = {
  module: module('match-filters'),
  limitMs: limits.match,
};

/** Compiles the form too, in a process that does not know it yet. */
export const checkForm: TaskOf<typeof checkFormTask> = { module: module('check-form'), limitMs: limits.answer };

export const diffDefinitions: TaskOf<typeof diffTask> = { module: module('diff-definitions'), limitMs: limits.diff };
export const readYaml: TaskOf<typeof readYamlTask> = { module: module('read-yaml'), limitMs: limits.yaml };

export const writeYaml: TaskOf<typeof writeYamlTask> = { module: module('write-yaml'), limitMs: limits.yaml };

export const automationTasks = [
  checkExpression,
  evaluateExpression,
  checkSchema,
  checkAnswer,
  matchEvent,
  matchFilters,
  diffDefinitions,
  readYaml,
  writeYaml,
  checkForm,
];
