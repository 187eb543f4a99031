import type { Scope } from '../../platform/database/scope.ts';
import { isToolServerName } from '../../tools/core/server-ids.ts';
import { type CalledTool, executeCall, ToolServerUnavailable, type Tools } from '../../tools/index.ts';
import { failPoint } from '../fail-points.ts';
import type { ActiveRunLimiter } from '../runs/active-run-limiter.ts';
import {
  beginCall,
  findServersToAsk,
  findStepCall,
  recordOffered,
  recordResult,
  type StepCallRef,
  type StepRef,
} from './tool-rounds.ts';

export interface StepToolServices {
  activeRuns: ActiveRunLimiter;
  tools: Pick<Tools, 'call' | 'list'>;
}

/** The owner of a step's tools: the sandbox in a test run, in which nothing is stored or sent. */
export interface ToolTenant {
  scope: Scope;
  isTrial: boolean;
}

/** `wait`: the run lost its slot among those that call out. Its workflow is signalled when it has a slot again. */
export type ToolProgress = { kind: 'done' | 'wait' };

const done: ToolProgress = { kind: 'done' };

/**
 * Does work of a step while its run keeps its slot among those that call out.
 * @param work resolves with false when it finds the step over
 */
async function withSlot(
  activeRuns: ActiveRunLimiter,
  scope: Scope,
  runId: string,
  work: () => Promise<boolean>,
): Promise<ToolProgress> {
  if (!(await activeRuns.claim(scope, runId))) return { kind: 'wait' };
  let goesOn = true;
  try {
    goesOn = await work();
    return done;
  } finally {
    // The run may have ended: then nothing else releases its slot. A run that continues claims another one.
    if (goesOn) activeRuns.handOver(runId);
    else await activeRuns.release(scope, runId);
  }
}

/**
 * Asks the tool servers of a step which tools they have, once, and records what its model is offered.
 * @param maxAttempts unless the step sets its own number
 * @throws ToolServerUnavailable while it may be tried again; errors of the database; the reason of `signal`
 */
export async function offerStepTools(
  { activeRuns, tools }: StepToolServices,
  scope: Scope,
  { scope: toolScope }: ToolTenant,
  ref: StepRef,
  { attempt, maxAttempts, signal }: { attempt: number; maxAttempts: number; signal: AbortSignal },
): Promise<ToolProgress> {
  const named = await findServersToAsk(scope, ref);
  if (!named) return done;
  const servers = [...new Set(named.servers)].filter(isToolServerName);
  return withSlot(activeRuns, scope, ref.runId, async () => {
    try {
      await recordOffered(scope, ref, await tools.list(toolScope, servers, signal));
    } catch (error) {
      const isLast = attempt >= (named.maxAttempts ?? maxAttempts);
      if (!(error instanceof ToolServerUnavailable) || !isLast) throw error;
      await recordOffered(scope, ref, { unavailable: error.message });
    }
    return true;
  });
}

/**
 * Executes a call that the model of a step asked for, and records its result, as `executeCall` does.
 * @param toolScope whose tools they are
 * @throws errors of the database; the reason of `signal`
 */
export async function callStepTool(
  { activeRuns, tools }: StepToolServices,
  scope: Scope,
  { scope: toolScope, isTrial }: ToolTenant,
  ref: StepCallRef,
  signal: AbortSignal,
): Promise<ToolProgress> {
  const found = await findStepCall(scope, ref);
  if (!found) return done;
  return withSlot(activeRuns, scope, ref.runId, async () => {
    const row = {
      begin: async () => {
        const attempt = await beginCall(scope, ref, found.asked);
        if (attempt !== undefined) failPoint('step.tool_begun');
        return attempt;
      },
      record: async (called: CalledTool) => {
        failPoint('step.tool_called');
        await recordResult(scope, ref, called);
        failPoint('step.tool_recorded');
      },
    };
    const key = `${ref.runId}.${ref.position}.${ref.round}.${ref.call}`;
    return executeCall({ tools, scope: toolScope }, { ...found, key, isTrial }, row, signal);
  });
}
