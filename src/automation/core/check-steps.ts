// Problems of steps that show without any other data.
import { isJsonObject } from '../../platform/core/json-shapes.ts';
import { placedSteps } from './definition-tree.ts';
import { readDuration } from './duration.ts';
import { findHttpProblems } from './http-request.ts';
import { readMoment } from './moment.ts';
import { type ApprovalStep, defaultApprovalActions, type ParallelStep } from './step-types.ts';
import { findTargetProblems, type Step, type StepProblem } from './steps.ts';

const maxFormProperties = 16;
const scalarTypes: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean']);

/** The members of an answer besides the values of its form. Assistants are asked for all of them in one form. */
const reservedFields: ReadonlySet<string> = new Set(['action', 'comment']);

/** A form is an object of few scalar properties, so that a page can show it. */
function findFormProblem(form: Record<string, unknown>): string | undefined {
  if (form.type !== 'object' || !isJsonObject(form.properties)) {
    return 'Expected a JSON Schema with `"type": "object"` and `properties`.';
  }
  const properties = Object.entries(form.properties);
  if (properties.length > maxFormProperties) return `Expected at most ${maxFormProperties} properties.`;
  const reserved = properties.find(([name]) => reservedFields.has(name));
  if (reserved) return `No property may be called "${reserved[0]}": the answer itself has this member.`;
  const other = properties.find(([, schema]) => !isJsonObject(schema) || !scalarTypes.has(schema.type));
  return other && `The type of the property "${other[0].slice(0, 100)}" must be string, number, integer or boolean.`;
}

function* repeated(ids: readonly string[]): Generator<number> {
  const seen = new Set<string>();
  for (const [index, id] of ids.entries()) {
    if (seen.has(id)) yield index;
    seen.add(id);
  }
}

const twice = (id: string) => `The id "${id}" is used twice.`;

const branchProblems = ({ branches }: ParallelStep): StepProblem[] =>
  [...repeated(branches.map(({ id }) => id))].map((index) => ({
    path: `branches.${index}.id`,
    message: twice(branches[index]!.id),
  }));

function approvalProblems({
  actions = [...defaultApprovalActions],
  form,
  onTimeout = 'fail',
}: ApprovalStep): StepProblem[] {
  const problems = [...repeated(actions.map(({ id }) => id))].map((index) => ({
    path: `actions.${index}.id`,
    message: twice(actions[index]!.id),
  }));
  if (onTimeout !== 'fail' && !actions.some(({ id }) => id === onTimeout)) {
    problems.push({ path: 'onTimeout', message: 'Expected "fail" or the id of an action.' });
  }
  const formProblem = form && findFormProblem(form);
  if (formProblem) problems.push({ path: 'form', message: formProblem });
  return problems;
}

function problemsOf(step: Step): StepProblem[] {
  if (step.type === 'parallel') return branchProblems(step);
  if (step.type === 'approval') return approvalProblems(step);
  if (step.type === 'http') return findHttpProblems(step);
  if (step.type === 'workflow' && step.input !== undefined && step.variables !== undefined) {
    return [{ path: 'variables', message: 'Give either input or variables.' }];
  }
  if (step.type !== 'wait') return [];
  const { for: duration, until } = step;
  if ((duration === undefined) === (until === undefined)) {
    return [{ path: duration === undefined ? 'for' : 'until', message: 'Give exactly one of for and until.' }];
  }
  const isMoment = until === undefined || until.includes('{{') || readMoment(until) !== undefined;
  return isMoment ? [] : [{ path: 'until', message: 'Expected a time with an offset, as in 2026-12-01T09:00:00Z.' }];
}

/** Problems of steps that do not depend on the values of runs. Paths are below `steps`. */
export function findStepProblems(steps: readonly Step[]): StepProblem[] {
  const seen = new Set<string>();
  const problems: StepProblem[] = [];
  for (const { step, at, list, index } of placedSteps(steps)) {
    if (seen.has(step.id)) problems.push({ path: `${at}.id`, message: twice(step.id) });
    seen.add(step.id);
    const own = [...findTargetProblems(list, index), ...problemsOf(step)];
    for (const { path, message } of own) problems.push({ path: `${at}.${path}`, message });
  }
  return problems;
}

/** Whether a duration is one, and no longer than a step may wait. */
export const isDurationWithin = (value: number | string, maxSeconds: number): boolean => {
  const ms = readDuration(value);
  return ms !== undefined && ms <= maxSeconds * 1_000;
};
