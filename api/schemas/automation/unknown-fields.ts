import {
  maxWorkflowWarnings as maxWarnings,
  type WorkflowWarning,
} from '../../../src/automation/core/step-references.ts';
import { isJsonObject } from '../../../src/platform/core/json-shapes.ts';
import { retry } from './retry.ts';
import {
  concurrency,
  flowSteps,
  inputDefinition,
  mcpSetting,
  modelChoice,
  newWorkflowSchema,
  stepShape,
} from './workflow.ts';

const ofEveryStep = ['id', 'type', 'name', 'prompt'];
const ofActions = ['integration', 'action', 'payload'];
const notOfPrompts = ['expression', 'then', 'else', ...ofActions];
const ofPrompts = Object.keys(stepShape).filter((name) => !notOfPrompts.includes(name));
/** The fields that a step of a type uses. */
const usedBy: Record<string, readonly string[]> = {
  prompt: ofPrompts,
  ai_chat: ofPrompts,
  action: ['id', 'type', 'name', 'retry', ...ofActions],
  transform: [...ofEveryStep, 'expression'],
  condition: [...ofEveryStep, 'expression', 'then', 'else'],
};

const recordsOf = (value: unknown): [number, Record<string, unknown>][] =>
  Array.isArray(value)
    ? [...value.entries()].filter((entry): entry is [number, Record<string, unknown>] => isJsonObject(entry[1]))
    : [];

const unknownIn = (value: unknown, shape: object, path: string): WorkflowWarning[] =>
  Object.keys(isJsonObject(value) ? value : {})
    .filter((name) => !Object.hasOwn(shape, name))
    .slice(0, maxWarnings)
    .map((name) => {
      const shown = name.slice(0, 100);
      return { path: path + shown, code: 'unknown_field', message: `There is no field "${shown}"; it was ignored.` };
    });

function unusedIn(step: Record<string, unknown>, path: string): WorkflowWarning[] {
  const type = String(step.type);
  const unused = Object.keys(stepShape).filter((name) => Object.hasOwn(step, name) && !usedBy[type]?.includes(name));
  return unused.map((name) => ({
    path: path + name,
    code: 'unused_field',
    message: `A step of type ${type} does not use the field "${name}"; it was ignored.`,
  }));
}

/** The fields of each step type of flows. */
const flowShapes = new Map<string, object>(flowSteps.map(({ shape }) => [shape.type.value, shape]));

function* ignoredIn(steps: unknown, at: string): Generator<WorkflowWarning> {
  for (const [index, step] of recordsOf(steps)) {
    const path = `${at}${index}.`;
    const shape = flowShapes.get(String(step.type));
    yield* shape ? unknownIn(step, shape, path) : [...unknownIn(step, stepShape, path), ...unusedIn(step, path)];
    yield* unknownIn(step.retry, retry.shape, `${path}retry.`);
    for (const [choiceAt, choice] of recordsOf(step.fallback))
      yield* unknownIn(choice, modelChoice.shape, `${path}fallback.${choiceAt}.`);
    if (step.type === 'map') yield* ignoredIn(step.steps, `${path}steps.`);
    if (step.type !== 'parallel') continue;
    for (const [branchAt, branch] of recordsOf(step.branches)) {
      const branchPath = `${path}branches.${branchAt}.`;
      yield* unknownIn(branch, { id: 0, name: 0, steps: 0 }, branchPath);
      yield* ignoredIn(branch.steps, `${branchPath}steps.`);
    }
  }
}

/**
 * The fields of a valid workflow, as it was sent, that have no meaning.
 * @param shape the fields that the request takes
 */
export function findIgnoredFields(body: unknown, shape: object = newWorkflowSchema.shape): WorkflowWarning[] {
  if (!isJsonObject(body)) return [];
  const warnings = unknownIn(body, shape, '');
  for (const warning of ignoredIn(body.steps, 'steps.')) {
    if (warnings.length >= maxWarnings) break;
    warnings.push(warning);
  }
  for (const [index, input] of recordsOf(body.inputs))
    warnings.push(...unknownIn(input, inputDefinition.shape, `inputs.${index}.`));
  warnings.push(...unknownIn(body.concurrency, concurrency.shape, 'concurrency.'));
  warnings.push(...unknownIn(body.mcp, mcpSetting.shape, 'mcp.'));
  return warnings.slice(0, maxWarnings);
}
