import type { Database } from '../platform/database.ts';
import type { Log } from '../platform/log.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { conversationWorkflows, messageWorkflowId } from '../temporal/contracts/conversation.ts';
import { queues } from '../temporal/contracts/queues.ts';
import { endOverdueRows, forgetting, type OpenRow, openRows, overdueRows, scopeOfRow } from '../temporal/open-rows.ts';
import { watchEachStopped } from '../temporal/stopped-workflows.ts';
import { type MessageError, messageStates } from './core/status.ts';
import { type EndServices, stopMessage } from './end-message.ts';

/** Time for a workflow to record the end by itself. */
const graceMs = 60_000;

const messages = {
  name: 'message',
  table: 'conversation_message',
  isOpen: `status in (${messageStates.sql('processing')})`,
};
const overdueMessages = overdueRows(messages, 'created_at');
const openMessages = openRows(messages);

type WatchServices = EndServices & { database: Database; log: Log };

const end = (services: WatchServices, row: OpenRow, error: MessageError): Promise<boolean> =>
  stopMessage(services, scopeOfRow(services.database, row), { turnId: row.id, waiter: null }, error);

/**
 * Ends turns that nobody works on any more, whatever became of their workflow: they have failed, and their credits are given
 * back. Across all tenants.
 * @returns how many
 */
export function endOverdueMessages(services: WatchServices, deadlineMs: number, limit: number): Promise<number> {
  const error = { code: 'timeout', message: 'The model did not answer in time.' } as const;
  return endOverdueRows(services, overdueMessages, [deadlineMs + graceMs, limit], (row) => end(services, row, error));
}

/** Ends the turns whose workflows an operator terminated, or that timed out. */
export const watchStoppedTurns = (services: WatchServices & { temporal: TemporalClient }): (() => Promise<number>) =>
  watchEachStopped(services, {
    queue: queues.generation,
    type: conversationWorkflows.takeTurn,
    workflowId: messageWorkflowId,
    ...openMessages,
    end: (row) => end(services, row, { code: 'provider_error', message: 'The message was terminated by an operator.' }),
  });

/** Removes the turns of the day before, of all tenants. @returns how many; as many as `limit`: there may be more */
export const forgetMessages = forgetting(
  messages,
  'entries as (delete from conversation_entry e using old where e.message_id = old.id)',
);
