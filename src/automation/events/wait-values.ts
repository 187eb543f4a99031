import type { Scope } from '../../platform/scope.ts';
import { statement } from '../../platform/sql.ts';
import type { Files } from '../../storage/index.ts';
import type { MatchCandidate } from '../bounded/match-event.ts';
import { type ExpressionValues, parseExpression } from '../core/expression.ts';
import { readOutput } from '../large-outputs.ts';

/** A waiting step, as its `match` needs it. */
export interface MatchedWait {
  id: string;
  match: string | null;
}

interface Needs {
  input: boolean;
  variables: boolean;
  steps: ReadonlySet<string> | 'all';
}

function needsOf(match: string): Needs {
  const { names, steps } = parseExpression(match, 'match');
  return {
    input: names.has('input'),
    variables: names.has('variables'),
    steps: names.has('steps') ? steps : new Set(),
  };
}

const findRuns = statement({
  name: 'workflow_event.wait_runs',
  parameters: { ids: 'uuid[]', withInput: 'boolean', withVariables: 'boolean' },
  row: { id: 'uuid', input: 'text?', variables: 'text?' },
  text: `
    select w.id, case when :withInput then r.input::text end as input,
           case when :withVariables then r.variables::text end as variables
      from run_wait w join run r on r.id = w.run_id
     where w.organization_id = :organizationId and w.environment = :environment and w.id = any(:ids)`,
});

// A waiting step sees the steps of its own list and of the lists around it.
const findOutputs = statement({
  name: 'workflow_event.wait_outputs',
  parameters: { ids: 'uuid[]', steps: 'text[]', isAll: 'boolean' },
  row: { id: 'uuid', stepId: 'text', output: 'text?', file: 'text?' },
  text: `
    select w.id, s.step_id as "stepId", s.output::text as output, s.output_file as file
      from run_wait w
      join run_step s on s.run_id = w.run_id and s.status = 'completed' and (:isAll or s.step_id = any(:steps))
       and (s.path is null or starts_with(w.path, left(s.path, length(s.path) - length(s.step_id))))
     where w.organization_id = :organizationId and w.environment = :environment and w.id = any(:ids)`,
});

const parsed = (json: string | null): unknown => (json === null ? null : JSON.parse(json));

/** What each wait's expression looks at, as a candidate. Waits with the same expression are read together. */
export async function candidatesOf(
  files: Files,
  scope: Scope,
  waits: readonly MatchedWait[],
): Promise<Map<string, MatchCandidate>> {
  const candidates = new Map<string, MatchCandidate>(waits.map(({ id }) => [id, {}]));
  const byMatch = Map.groupBy(
    waits.filter(({ match }) => match !== null),
    ({ match }) => match!,
  );
  for (const [source, group] of byMatch) {
    const ids = group.map(({ id }) => id);
    const values = await readValues(files, scope, ids, needsOf(source));
    for (const id of ids) candidates.set(id, { condition: { kind: 'match', source, values: values.get(id) ?? {} } });
  }
  return candidates;
}

async function readValues(files: Files, scope: Scope, ids: string[], { input, variables, steps }: Needs) {
  const values = new Map<string, ExpressionValues>(ids.map((id) => [id, {}]));
  if (input || variables) {
    for (const run of await scope.rows(findRuns, { ids, withInput: input, withVariables: variables })) {
      Object.assign(values.get(run.id)!, {
        input: parsed(run.input),
        variables: (parsed(run.variables) ?? {}) as Record<string, unknown>,
      });
    }
  }
  const isAll = steps === 'all';
  if (isAll || steps.size > 0) {
    for (const row of await scope.rows(findOutputs, { ids, steps: isAll ? [] : [...steps], isAll })) {
      const value = values.get(row.id)!;
      value.steps ??= {};
      value.steps[row.stepId] = await readOutput(files, { output: parsed(row.output), file: row.file });
    }
  }
  return values;
}
