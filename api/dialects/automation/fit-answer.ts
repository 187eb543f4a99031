import { outputReference } from './outputs.ts';

/** Maximum size of an answer in JSON. */
export const maxAnswerBytes = 2 * 1024 * 1024;
/** A character takes at most six bytes, as an escape does. */
const maxBytesOfCharacter = 6;
/** A smaller value is not replaced: its reference would take as much. */
const minReplacedBytes = 512;

type Members = Record<string, unknown>;

/** A run as an answer shows it, in either dialect. Each dialect has some of these members. */
interface ShownRun {
  id?: unknown;
  runId?: unknown;
  input?: unknown;
  output?: unknown;
  steps?: unknown;
  stepResults?: unknown;
}

/** A value that a reference can replace. */
interface Replaceable {
  holder: Members;
  name: string;
  text: string;
  bytes: number;
  reference: object;
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a value surely takes less than so many bytes. Stops as soon as it is not sure. */
function isSmall(value: unknown, maxBytes: number): boolean {
  let left = maxBytes;
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    left -= maxBytesOfCharacter;
    if (typeof next === 'string') left -= next.length * maxBytesOfCharacter;
    else if (Array.isArray(next)) for (const item of next) pending.push(item);
    else if (isMembers(next)) {
      for (const name in next) {
        left -= (name.length + 4) * maxBytesOfCharacter;
        pending.push(next[name]);
      }
    } else left -= 24;
    if (left < 0) return false;
  }
  return true;
}

function replaceable(holder: Members, name: string, referenceOf: (text: string, bytes: number) => object | undefined) {
  const text = JSON.stringify(holder[name]) as string | undefined;
  const bytes = text === undefined ? 0 : Buffer.byteLength(text);
  const reference = bytes < minReplacedBytes ? undefined : referenceOf(text!, bytes);
  return reference ? [{ holder, name, text: text!, bytes, reference } satisfies Replaceable] : [];
}

/** The inputs and outputs of a run. Members that may be shared with the run itself are copied. */
function replaceableOf(run: ShownRun): Replaceable[] {
  const runId = String(run.runId ?? run.id);
  const ofInput = (_: string, bytes: number) => ({ $ref: `/api/v1/runs/${runId}/input`, bytes });
  const found: Replaceable[] = [];
  if (isMembers(run.input)) {
    const input = { ...run.input };
    run.input = input;
    found.push(...replaceable(input, 'input', ofInput), ...replaceable(input, 'variables', ofInput));
  }
  for (const step of [run.steps, run.stepResults].flat()) {
    if (!isMembers(step) || typeof step.stepId !== 'string') continue;
    const { stepId } = step;
    found.push(...replaceable(step, 'output', (_, bytes) => outputReference(runId, stepId, bytes)));
  }
  if (!isMembers(run.output) || !isMembers(run.output.steps)) return found;
  const steps = { ...run.output.steps };
  const output: Members = { ...run.output, steps };
  run.output = output;
  const ofSteps = Object.keys(steps).flatMap((stepId) =>
    replaceable(steps, stepId, (_, bytes) => outputReference(runId, stepId, bytes)),
  );
  found.push(...ofSteps);
  // The result is the output of a step, or the input of a run without steps.
  const ofResult = (text: string, bytes: number) => {
    const step = ofSteps.find((one) => one.text === text);
    if (step) return step.reference;
    return Object.keys(steps).length === 0 ? ofInput(text, bytes) : undefined;
  };
  found.push(...replaceable(output, 'result', ofResult));
  return found;
}

/**
 * An answer of at most 2 MiB: the largest inputs and outputs of its runs become references, until it fits. Ids, statuses and
 * errors stay.
 * @param runs those in `answer`, which are changed
 */
export function fitAnswer<Answer extends object>(answer: Answer, runs: readonly ShownRun[]): Answer {
  if (isSmall(answer, maxAnswerBytes)) return answer;
  // 64 bytes are for the envelope.
  let bytes = Buffer.byteLength(JSON.stringify(answer)) + 64;
  if (bytes <= maxAnswerBytes) return answer;
  const largestFirst = runs.flatMap(replaceableOf).toSorted((one, other) => other.bytes - one.bytes);
  for (const { holder, name, bytes: size, reference } of largestFirst) {
    holder[name] = reference;
    bytes += JSON.stringify(reference).length - size;
    if (bytes <= maxAnswerBytes) break;
  }
  return answer;
}
