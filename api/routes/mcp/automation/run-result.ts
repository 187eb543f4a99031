import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { isFlow, stepsIn } from '../../../../src/automation/core/step-types.ts';
import { asText } from '../../../../src/automation/core/template.ts';
import { stepsOfRun } from '../../../../src/automation/runs/follow-flow.ts';
import type { RunDetail } from '../../../../src/automation/runs/runs.ts';
import type { Scope } from '../../../../src/platform/database/scope.ts';
import type { Services } from '../../../../src/services.ts';
import { contentTypes, typeOf } from '../../../../src/storage/core/file-types.ts';
import { shownOutput } from '../../../dialects/automation/outputs.ts';
import { publishedError } from '../../../dialects/automation/published-error.ts';
import { statusInA } from '../../../schemas/automation/run.ts';
import { failedResult, linkItem, textItem } from '../results.ts';

/** Steps whose outputs contain only data of the workflow, its caller, and people's answers. */
const ownSteps: ReadonlySet<string> = new Set([
  'transform',
  'condition',
  'wait',
  'fail',
  'approval',
  'parallel',
  'map',
]);

/** Facts about the steps of a run. */
export interface RunFacts {
  /** Whether a model or an outside sender may have written its result. */
  isUntrusted: boolean;
  isFlow: boolean;
}

export async function factsOfRun(scope: Scope, runId: string): Promise<RunFacts> {
  const steps = await stepsOfRun(scope, runId);
  const isUntrusted = [...stepsIn(steps)].some(({ type }) => !ownSteps.has(type));
  return { isUntrusted, isFlow: isFlow(steps) };
}

const maxLinks = 20;

/** The addresses of our files in a value, in their order. */
function* filesIn(value: unknown, signedUrls: Services['signedUrls']): Generator<{ url: string; name: string }> {
  if (typeof value === 'string') {
    const own = value.length < 2_048 && value.startsWith('http') ? signedUrls.read(value) : 'elsewhere';
    if (typeof own === 'object') yield { url: value, name: own.name };
  } else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) yield* filesIn(inner, signedUrls);
  }
}

function linksOf(value: unknown, signedUrls: Services['signedUrls'], isUntrusted: boolean): ContentBlock[] {
  const links = new Map<string, ContentBlock>();
  for (const { url, name } of filesIn(value, signedUrls)) {
    links.set(name, linkItem({ uri: url, name, mimeType: contentTypes[typeOf(name)] }, { isUntrusted }));
    if (links.size === maxLinks) break;
  }
  return [...links.values()];
}

/** For programs: the run that a result is of. */
const ofRun = (runId: string) => ({ 'atelier/runId': runId });

/** The answer of a tool with an output schema without such an output. */
const withoutOutput = (runId: string, code: string, message: string): CallToolResult => ({
  ...failedResult({ code, message, facts: { runId }, retryAfter: undefined }),
  _meta: ofRun(runId),
});

/**
 * The result of a run that has ended: its output as text, and as JSON where it is JSON or has a schema, with links to the
 * files that it names. A run that failed or was cancelled is an error with its code.
 */
export async function resultOfRun(
  { signedUrls }: Services,
  scope: Scope,
  run: RunDetail,
  outputSchema: object | null,
): Promise<CallToolResult> {
  const { id } = run;
  if (run.status === 'cancelled') return withoutOutput(id, 'cancelled', 'The run was cancelled.');
  if (run.status !== 'completed') {
    const { code = 'internal_error', message = 'The run failed.', ...facts } = publishedError(run.error) ?? {};
    return {
      ...failedResult({ code, message, facts: { runId: id, ...facts }, retryAfter: undefined }),
      _meta: ofRun(id),
    };
  }
  const { isUntrusted } = await factsOfRun(scope, id);
  const result = shownOutput(run, id)?.result;
  const isApart = run.resultApart !== null || (run.returnsInput && run.inputApart !== null);
  if (isApart && outputSchema) {
    return withoutOutput(id, 'output_too_large', `The output is too large. Read it with get_run: ${asText(result)}.`);
  }
  const isStructured = outputSchema !== null || (typeof result === 'object' && result !== null);
  return {
    content: [textItem(asText(result), { isUntrusted }), ...linksOf(result, signedUrls, isUntrusted)],
    ...(isStructured && { structuredContent: result as Record<string, unknown> }),
    _meta: ofRun(id),
  };
}

/** The result for a run that continues: its id, and how to read it. */
export function unfinishedResult(run: RunDetail, outputSchema: object | null): CallToolResult {
  const { id, waitingFor } = run;
  const waits = (waitingFor ?? []).map(({ type, stepId }) => `the step ${stepId} waits (${type})`).join(', ');
  const text = `The run ${id} has not ended yet${waits && `: ${waits}`}. Ask for it with get_run {"runId": "${id}"}.`;
  if (outputSchema) return withoutOutput(id, 'run_unfinished', text);
  const status = statusInA(run.status);
  return { content: [textItem(text)], structuredContent: { runId: id, status }, _meta: ofRun(id) };
}
