import type { CountedUse, UseAmounts } from '../../platform/database/counted-use.ts';
import { publishEventsSql } from '../../webhooks/index.ts';

/** The columns that a statement which changes a run returns for its events. `began`: whether it was queued before. */
export const changedRun = (began: string) =>
  `run.id, run.automation_id, run.correlation_id, run.status, run.duration_ms, run.tokens_used, run.is_test, ${began} as began`;

/** An expression of an UPDATE's RETURNING. */
export const wasQueued = "old.status = 'queued'";

/**
 * CTEs that publish the events of changed runs in the statement that changes them: started, and ended. Runs of deleted
 * workflows, and test runs, publish nothing.
 * @param changed a CTE with the columns of `changedRun`
 */
export const publishRunEventsSql = (changed: string) => `
   announced as (
     select t.type, c.id as subject_id, c.correlation_id,
            json_build_object('runId', c.id, 'automationId', c.automation_id, 'name', a.name, 'status', t.status,
                               'durationMs', t.duration_ms, 'tokensUsed', t.tokens_used) as facts
       from ${changed} c
       join automation a on a.id = c.automation_id and a.deleted_at is null
      cross join lateral (values
        ('workflow.run.started', 'running', 0, 0, c.began),
        ('workflow.run.' || c.status, c.status, coalesce(c.duration_ms, 0), coalesce(c.tokens_used, 0), c.status <> 'running'))
        as t (type, status, duration_ms, tokens_used, applies)
      where t.applies and not c.is_test),
   ${publishEventsSql('announced')}`;

/** The kind of use that runs are. */
const kind = 'workflow';

const ofWorkflow = (automationId: string, amounts: UseAmounts): CountedUse[] => [
  { by: 'kind', value: kind, ...amounts },
  { by: 'workflow', value: automationId, ...amounts },
];

/** Runs that were created. */
export const createdRuns = (automationId: string, runs: number): CountedUse[] => ofWorkflow(automationId, { runs });

/** A run that failed. Cancelled runs are neither failed nor completed. */
export const failedRun = (automationId: string, code: string): CountedUse[] => [
  ...ofWorkflow(automationId, { failedRuns: 1 }),
  { by: 'error', value: code, failedRuns: 1 },
];

/** The code of an error as statements are given it. */
export const codeOf = (error: string): string => (JSON.parse(error) as { code: string }).code;

/** Tokens that a model charged for. */
export interface ModelTokens {
  /** Null for a step without one. */
  model: string | null;
  tokens: number;
}

/** Whose tokens are counted. */
interface RunInUse {
  automationId: string;
  /** The key that started the run; null where none did. */
  keyId: string | null;
}

/** Tokens of steps of a run. */
export const usedTokens = ({ automationId, keyId }: RunInUse, used: readonly ModelTokens[]): CountedUse[] =>
  used.flatMap(({ model, tokens }) => [
    ...ofWorkflow(automationId, { tokens }),
    ...(model === null ? [] : [{ by: 'model' as const, value: model, tokens }]),
    ...(keyId === null ? [] : [{ by: 'key' as const, value: keyId, tokens }]),
  ]);

/** The tokens of the steps that a statement has recorded. Its CTEs are `given` and `recorded`. */
export const modelTokensSql = `(select json_agg(json_build_object('model', model, 'tokens', tokens_used)) from given
            where tokens_used > 0 and position in (select position from recorded))`;
