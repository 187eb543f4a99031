import type { Scope } from '../platform/scope.ts';
import { mayCall, unknownOutcome } from '../tools/core/rounds.ts';
import type { Tools } from '../tools/tools.ts';
import type { CallingRuns } from './calling-runs.ts';
import { failPoint } from './fail-points.ts';
import { beginCall, findStepCall, recordResult, type StepCallRef } from './tool-rounds.ts';

export interface ToolCallServices {
  callingRuns: CallingRuns;
  tools: Pick<Tools, 'call'>;
}

/**
 * Executes a call that the model of a step asked for, and records its result. It is called once: where an earlier attempt
 * began and nobody knows how it ended, only a tool that may be repeated is called again. The run keeps its place among those
 * that call out.
 * @returns `wait` when the place was lost in between: the run's workflow is signalled when it is its turn
 * @throws errors of the database; the reason of `signal`
 */
export async function callStepTool(
  { callingRuns, tools }: ToolCallServices,
  scope: Scope,
  ref: StepCallRef,
  signal: AbortSignal,
): Promise<{ kind: 'done' | 'wait' }> {
  const found = await findStepCall(scope, ref);
  if (!found) return { kind: 'done' };
  const { runId } = ref;
  if (!(await callingRuns.claim(scope, runId))) return { kind: 'wait' };
  let isOver = false;
  try {
    const { asked, tool } = found;
    const attempts = await beginCall(scope, ref, asked);
    isOver = attempts === undefined;
    if (attempts === undefined) return { kind: 'done' };
    failPoint('step.tool_begun');
    const { server, tool: name, idempotent } = tool;
    const result = mayCall(attempts, idempotent)
      ? await tools.call(scope, { server, tool: name, args: asked.args, callId: asked.id }, signal)
      : unknownOutcome;
    failPoint('step.tool_called');
    await recordResult(scope, ref, result);
    failPoint('step.tool_recorded');
    return { kind: 'done' };
  } finally {
    // The run may have ended: then nobody else gives its place up. One that goes on claims another.
    if (isOver) await callingRuns.leave(scope, runId);
    else callingRuns.handOver(runId);
  }
}
