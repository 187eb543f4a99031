import type { Database } from '../platform/database.ts';
import type { Log } from '../platform/log.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { queues } from '../temporal/contracts/queues.ts';
import { voiceCallWorkflowId, voiceWorkflows } from '../temporal/contracts/voice.ts';
import { endOverdueRows, forgetting, type OpenRow, openRows, overdueRows, scopeOfRow } from '../temporal/open-rows.ts';
import { watchEachStopped } from '../temporal/stopped-workflows.ts';
import { type VoiceCallError, voiceCallStates } from './core/status.ts';
import { type StopServices, stopCall } from './end-call.ts';

/** Time for a workflow to record the end by itself. */
const graceMs = 60_000;

const calls = { name: 'voice', table: 'voice_call', isOpen: `status in (${voiceCallStates.sql('processing')})` };
const overdueCalls = overdueRows(calls, 'created_at');
const openCalls = openRows(calls);

type WatchServices = StopServices & { database: Database; log: Log };

const end = (services: WatchServices, row: OpenRow, error: VoiceCallError) =>
  stopCall(services, scopeOfRow(services.database, row), { callId: row.id, waiter: null }, error);

/**
 * Ends calls that nobody works on any more, whatever became of their workflow: they have failed, and their credits are given
 * back. Across all tenants.
 * @returns how many
 */
export function endOverdueCalls(services: WatchServices, deadlineMs: number, limit: number): Promise<number> {
  const error = { code: 'timeout', message: 'The provider did not answer in time.' } as const;
  return endOverdueRows(services, overdueCalls, [deadlineMs + graceMs, limit], (row) => end(services, row, error));
}

/** Ends the calls whose workflows an operator terminated, or that timed out. */
export const watchStoppedCalls = (services: WatchServices & { temporal: TemporalClient }): (() => Promise<number>) =>
  watchEachStopped(services, {
    queue: queues.generation,
    type: voiceWorkflows.performVoiceCall,
    workflowId: voiceCallWorkflowId,
    ...openCalls,
    end: (row) => end(services, row, { code: 'provider_error', message: 'The call was terminated by an operator.' }),
  });

/** Removes the calls of the day before, of all tenants. @returns how many; as many as `limit`: there may be more */
export const forgetCalls = forgetting(calls);
