import type { Database } from '../platform/database.ts';
import type { Log } from '../platform/log.ts';
import { statement } from '../platform/sql.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { queues } from '../temporal/contracts/queues.ts';
import { generationWorkflowId, studioWorkflows } from '../temporal/contracts/studio.ts';
import { endOverdueRows, type OpenRow, openRowColumns, openRows, scopeOfRow } from '../temporal/open-rows.ts';
import { watchEachStopped } from '../temporal/stopped-workflows.ts';
import type { Deadlines } from './core/deadlines.ts';
import { type GenerationError, generationStates } from './core/status.ts';
import { type StopServices, stopGeneration } from './end-generation.ts';

/** Time for a workflow to record the end by itself. */
const graceMs = 120_000;

const isOpen = `status in (${generationStates.sql('processing')})`;

// Each kind has a deadline of its own.
const overdueGenerations = statement<OpenRow>(
  'generation.overdue',
  `select ${openRowColumns} from generation
    where ${isOpen}
      and created_at < clock_timestamp()
            - make_interval(secs => case when kind = 'video' then $1::float8 else $2::float8 end / 1000)
    order by created_at limit $3`,
);
const openGenerations = openRows({ name: 'generation', table: 'generation', isOpen });

type WatchServices = StopServices & { database: Database; log: Log };

const end = (services: WatchServices, row: OpenRow, error: GenerationError) =>
  stopGeneration(services, scopeOfRow(services.database, row), { generationId: row.id, waiter: null }, error);

/**
 * Ends generations that nobody works on any more, whatever became of their workflow: they have failed, and their credits
 * are given back. Across all tenants.
 * @returns how many
 */
export function endOverdueGenerations(services: WatchServices, deadlines: Deadlines, limit: number): Promise<number> {
  const limits = [deadlines.video + graceMs, deadlines.others + graceMs];
  const error = { code: 'timeout', message: 'The generation did not finish in time.' } as const;
  return endOverdueRows(services, overdueGenerations, [...limits, limit], (row) => end(services, row, error));
}

/**
 * Ends the generations whose workflows an operator terminated, or that timed out: they have failed, and their credits are
 * given back. What is older is ended when it is overdue.
 */
export const watchStoppedGenerations = (
  services: WatchServices & { temporal: TemporalClient },
): (() => Promise<number>) =>
  watchEachStopped(services, {
    queue: queues.generation,
    type: studioWorkflows.makeGeneration,
    workflowId: generationWorkflowId,
    ...openGenerations,
    end: (row) =>
      end(services, row, { code: 'provider_error', message: 'The generation was terminated by an operator.' }),
  });
