import { setTimeout as sleep } from 'node:timers/promises';
import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkQueueFull, WorkTooCostly } from '../../platform/bounded-work/task.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import { matchEvent } from '../bounded/bounded-tasks.ts';
import type {
  EventValue,
  JsonValue,
  MatchArguments,
  MatchCandidate,
  Matched,
  PackedCandidate,
} from '../bounded/match-event.ts';

/** Before candidates are matched again that found no room in the pool: so many times, and after so long. */
const attempts = 5;
const pauseMs = 200;

/**
 * The arguments of the task as JSON. Values that several candidates look at are sent once: with different expressions, a
 * hundred waits of a run have one input.
 */
function pack(event: EventValue, candidates: readonly MatchCandidate[]): string {
  const values: JsonValue[] = [];
  const places = new Map<JsonValue, number>();
  const placeOf = (value: JsonValue): number => {
    const known = places.get(value);
    if (known !== undefined) return known;
    places.set(value, values.length);
    return values.push(value) - 1;
  };
  const packed = candidates.map(({ condition, inputs }): PackedCandidate => {
    if (!condition) return { inputs };
    const { kind, source, values: { input, variables, steps } = {} } = condition;
    return {
      condition: {
        kind,
        source,
        ...(input && { input: placeOf(input) }),
        ...(variables && { variables: placeOf(variables) }),
        ...(steps && { steps: Object.fromEntries(Object.entries(steps).map(([id, one]) => [id, placeOf(one)])) }),
      },
      inputs,
    };
  });
  const others: Omit<MatchArguments, 'values'> = { event, candidates: packed };
  return `${JSON.stringify(others).slice(0, -'}'.length)},"values":[${values.map(({ json }) => json).join(',')}]}`;
}

/** Values of more characters are large work of the main thread. */
const largeCharacters = 64 * 1024;

function charactersOf(candidates: readonly MatchCandidate[]): number {
  let characters = 0;
  for (const { condition } of candidates) {
    const { input, variables, steps = {} } = condition?.values ?? {};
    for (const value of [input, variables, ...Object.values(steps)]) characters += value?.json.length ?? 0;
  }
  return characters;
}

async function matchOnce(
  work: BoundedWork,
  tenantKey: TenantKey,
  event: EventValue,
  candidates: MatchCandidate[],
): Promise<Matched[]> {
  const write = () => pack(event, candidates);
  const args = charactersOf(candidates) > largeCharacters ? await work.inMainThread(tenantKey, write) : write();
  for (let attempt = 1; ; attempt++) {
    try {
      return JSON.parse(await work.runAsText(matchEvent, tenantKey, args));
    } catch (error) {
      if (!(error instanceof WorkQueueFull) || attempt === attempts) throw error;
      await sleep(pauseMs * attempt);
    }
  }
}

/**
 * Matches an event with triggers and waits, in a process of the pool. A costly expression makes its own candidate fail and
 * no other.
 * @throws WorkQueueFull while too much of the organization's is being evaluated
 */
export async function matchCandidates(
  work: BoundedWork,
  tenantKey: TenantKey,
  event: EventValue,
  candidates: MatchCandidate[],
): Promise<Matched[]> {
  const isPlain = ({ condition, inputs = {} }: MatchCandidate) => !condition && Object.keys(inputs).length === 0;
  if (candidates.every(isPlain)) return candidates.map(() => ({ matches: true, variables: {} }));
  try {
    return await matchOnce(work, tenantKey, event, candidates);
  } catch (error) {
    if (!(error instanceof WorkTooCostly)) throw error;
    if (candidates.length === 1) return [{ matches: false, hasFailed: true }];
  }
  const middle = Math.ceil(candidates.length / 2);
  const matched: Matched[] = [];
  for (const half of [candidates.slice(0, middle), candidates.slice(middle)]) {
    matched.push(...(await matchCandidates(work, tenantKey, event, half)));
  }
  return matched;
}
