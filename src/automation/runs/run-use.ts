import type { CountedUse, UseAmounts } from '../../platform/database/counted-use.ts';

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
