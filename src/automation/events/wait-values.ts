import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { Files } from '../../storage/index.ts';
import type { JsonValue, MatchCandidate, MatchValues } from '../bounded/match-event.ts';
import { parseExpression } from '../core/expression.ts';
import { readOutputFile } from '../steps/step-outputs.ts';

/** Bytes of values that are in memory together for the matching of an event. */
const maxBytes = 1024 ** 2;

/** A waiting step, as its `match` needs it. */
interface MatchedWait {
  id: string;
  match: string | null;
}

interface Needs {
  input: boolean;
  variables: boolean;
  steps: ReadonlySet<string> | 'all';
}

/** What an expression looks at. */
export function needsOf(match: string): Needs {
  const { names, steps } = parseExpression(match, 'match');
  return {
    input: names.has('input'),
    variables: names.has('variables'),
    steps: names.has('steps') ? steps : new Set(),
  };
}

const needsSteps = ({ steps }: Needs) => steps === 'all' || steps.size > 0;

/** What expressions look at together. */
function allOf(needs: readonly Needs[]): Needs {
  const steps = needs.map((one) => one.steps);
  return {
    input: needs.some(({ input }) => input),
    variables: needs.some(({ variables }) => variables),
    steps: steps.includes('all') ? 'all' : new Set(steps.flatMap((names) => [...names])),
  };
}

const stepNames = ({ steps }: Needs) => ({ steps: steps === 'all' ? [] : [...steps], isAll: steps === 'all' });

// Each run's values are counted once, because its waits share them.
const measureRuns = statement({
  name: 'workflow_event.wait_sizes',
  parameters: { ids: 'uuid[]', withInput: 'boolean', withVariables: 'boolean', steps: 'text[]', isAll: 'boolean' },
  row: { ids: 'uuid[]', bytes: 'float8' },
  text: `
    select w.ids,
           (case when :withInput then coalesce(octet_length(r.input::text), 0) else 0 end
             + case when :withVariables then coalesce(octet_length(r.variables::text), 0) else 0 end
             + (select coalesce(sum(s.output_bytes), 0) from run_step s
                 where s.run_id = r.id and s.status = 'completed' and (:isAll or s.step_id = any(:steps))))::float8 as bytes
      from (select run_id, array_agg(id order by id) as ids from run_wait
             where organization_id = :organizationId and environment = :environment and id = any(:ids)
             group by run_id) w
      join run r on r.id = w.run_id`,
});

/**
 * Divides waits into groups whose values have a bounded size, a single run's apart: some thousand waits of a run may look at
 * the same large input.
 */
export async function groupsOf<Wait extends MatchedWait>(scope: Scope, waits: readonly Wait[]): Promise<Wait[][]> {
  const looking = new Map<string, Wait>();
  const plain: Wait[] = [];
  const needs: Needs[] = [];
  for (const wait of waits) {
    const needed = wait.match === null ? undefined : needsOf(wait.match);
    if (needed && (needed.input || needed.variables || needsSteps(needed))) {
      looking.set(wait.id, wait);
      needs.push(needed);
    } else plain.push(wait);
  }
  const groups = plain.length > 0 ? [plain] : [];
  if (looking.size === 0) return groups;
  const all = allOf(needs);
  const runs = await scope.rows(measureRuns, {
    ids: [...looking.keys()],
    withInput: all.input,
    withVariables: all.variables,
    ...stepNames(all),
  });
  let left = 0;
  for (const { ids, bytes } of runs) {
    const ofRun = ids.map((id) => looking.get(id)!);
    if (bytes <= left) {
      groups.at(-1)!.push(...ofRun);
      left -= bytes;
    } else {
      groups.push(ofRun);
      left = maxBytes - bytes;
    }
  }
  return groups;
}

const findRuns = statement({
  name: 'workflow_event.wait_runs',
  parameters: { ids: 'uuid[]', withInput: 'boolean', withVariables: 'boolean' },
  row: { ids: 'uuid[]', input: 'text?', variables: 'text?' },
  text: `
    select w.ids, case when :withInput then r.input::text end as input,
           case when :withVariables then r.variables::text end as variables
      from (select run_id, array_agg(id) as ids from run_wait
             where organization_id = :organizationId and environment = :environment and id = any(:ids)
             group by run_id) w
      join run r on r.id = w.run_id`,
});

// A waiting step sees the steps of its own list and of the lists around it.
const findOutputs = statement({
  name: 'workflow_event.wait_outputs',
  parameters: { ids: 'uuid[]', steps: 'text[]', isAll: 'boolean' },
  row: { ids: 'uuid[]', stepId: 'text', output: 'text?', file: 'text?' },
  text: `
    select w.ids, s.step_id as "stepId", s.output::text as output, s.output_file as file
      from (select w.run_id, s.position, array_agg(w.id) as ids
              from run_wait w
              join run_step s on s.run_id = w.run_id and s.status = 'completed' and (:isAll or s.step_id = any(:steps))
               and (s.path is null or starts_with(w.path, left(s.path, length(s.path) - length(s.step_id))))
             where w.organization_id = :organizationId and w.environment = :environment and w.id = any(:ids)
             group by w.run_id, s.position) w
      join run_step s on s.run_id = w.run_id and s.position = w.position`,
});

const jsonOf = (json: string | null, byDefault = 'null'): JsonValue => ({ json: json ?? byDefault });

/**
 * What each wait's expression looks at, as a candidate. What several look at is read once; waits with the same expression that
 * look at the same have the same candidate.
 */
export async function candidatesOf(
  files: Files,
  scope: Scope,
  waits: readonly MatchedWait[],
): Promise<Map<string, MatchCandidate>> {
  const looking = waits.flatMap(({ id, match }) => (match === null ? [] : [{ id, match, needs: needsOf(match) }]));
  const values = new Map<string, MatchValues>(looking.map(({ id }) => [id, {}]));
  const runs = await readRuns(scope, looking, values);
  await readSteps(files, scope, looking, values);
  const candidates = new Map<string, MatchCandidate>(waits.map(({ id }) => [id, {}]));
  const shared = new Map<string, MatchCandidate>();
  for (const { id, match: source, needs } of looking) {
    // The steps that a wait sees depend on its position.
    const key = needsSteps(needs) ? `${id} ${source}` : `${runs.get(id) ?? ''} ${source}`;
    const candidate = shared.get(key) ?? { condition: { kind: 'match', source, values: values.get(id)! } };
    shared.set(key, candidate);
    candidates.set(id, candidate);
  }
  return candidates;
}

interface Looking {
  id: string;
  needs: Needs;
}

/** @returns by wait, a number for its run, where its expression looks at that */
async function readRuns(
  scope: Scope,
  looking: Looking[],
  values: Map<string, MatchValues>,
): Promise<Map<string, number>> {
  const numbers = new Map<string, number>();
  const ids = looking.filter(({ needs }) => needs.input || needs.variables).map(({ id }) => id);
  if (ids.length === 0) return numbers;
  const { input, variables } = allOf(looking.map(({ needs }) => needs));
  const runs = await scope.rows(findRuns, { ids, withInput: input, withVariables: variables });
  for (const [number, run] of runs.entries()) {
    const ofRun = { input: jsonOf(run.input), variables: jsonOf(run.variables, '{}') };
    for (const id of run.ids) {
      Object.assign(values.get(id)!, ofRun);
      numbers.set(id, number);
    }
  }
  return numbers;
}

async function readSteps(
  files: Files,
  scope: Scope,
  looking: Looking[],
  values: Map<string, MatchValues>,
): Promise<void> {
  const needing = looking.filter(({ needs }) => needsSteps(needs));
  if (needing.length === 0) return;
  const ids = needing.map(({ id }) => id);
  const outputs = await scope.rows(findOutputs, { ids, ...stepNames(allOf(needing.map(({ needs }) => needs))) });
  for (const { ids: seeing, stepId, output, file } of outputs) {
    const value = jsonOf(file === null ? output : (await readOutputFile(files, file)).toString());
    for (const id of seeing) {
      const ofWait = values.get(id)!;
      ofWait.steps ??= {};
      // A step can be named `__proto__`, which an assignment would not set.
      Object.defineProperty(ofWait.steps, stepId, { value, enumerable: true, writable: true, configurable: true });
    }
  }
}
