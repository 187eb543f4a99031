import { settleCredits, voidCredits } from '../credits/reservations.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { Waiters } from '../platform/waiters.ts';
import type { PromptedRequest } from '../providers/core/media/requests.ts';
import type { MadeMedia } from '../providers/media-ports.ts';
import type { Files } from '../storage/files.ts';
import type { StoredFile } from '../storage/ports.ts';
import { settledCredits } from './core/credits.ts';
import type { FailureReason } from './core/status.ts';
import { creditKey } from './create-generation.ts';
import { failPoint } from './fail-points.ts';

export interface EndServices {
  files: Files;
  waiters: Waiters;
}

/** Whose end it is, and the channel of another process that waits for it. */
export interface Ending {
  generationId: string;
  waiter: string | null;
}

const complete = statement<{ id: string }>(
  'generation.complete',
  `update generation set status = 'completed', file = $4::text, width = $5::int, height = $6::int,
          seconds = $7::float8, credits = $8::int, finished_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and status = 'processing'
   returning id`,
);

const stop = statement<{ id: string }>(
  'generation.stop',
  `update generation set status = $4::text, error = $5::jsonb, finished_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and status = 'processing'
   returning id`,
);

const notify = statement(
  'generation.notify',
  `select pg_notify($3::text, $4::text) where $1::uuid is not null and $2::text is not null`,
);

async function tell(
  services: Pick<EndServices, 'waiters'>,
  scope: Scope,
  { generationId, waiter }: Ending,
): Promise<void> {
  if (waiter !== null && waiter !== services.waiters.channel) await scope.rows(notify, waiter, generationId);
}

/**
 * Records a finished generation: its row, its file and its charge are one transaction.
 * @returns false when it had ended before; the file is then removed by the sweep, and nothing is charged
 */
export async function completeGeneration(
  services: EndServices,
  scope: Scope,
  ending: Ending,
  { request, stored, made }: { request: PromptedRequest; stored: StoredFile; made: MadeMedia },
): Promise<boolean> {
  const { generationId } = ending;
  const amount = settledCredits(request, made.seconds);
  const { width = null, height = null } = made.size ?? {};
  const done = await scope.transaction(async (tx) => {
    const values = [stored.name, width, height, made.seconds, amount];
    if (!(await tx.one(complete, generationId, ...values))) return false;
    await services.files.record(tx, stored);
    await settleCredits(tx, { key: creditKey(generationId), amount });
    await tell(services, tx, ending);
    return true;
  });
  failPoint('generation.recorded');
  services.waiters.tell(generationId);
  return done;
}

/**
 * Ends a generation without a file and gives its credits back, in one transaction.
 * @param error null when it was cancelled
 * @returns false when it had ended before
 */
export async function stopGeneration(
  services: Pick<EndServices, 'waiters'>,
  scope: Scope,
  ending: Ending,
  error: { code: FailureReason; message: string } | null,
): Promise<boolean> {
  const { generationId } = ending;
  const stopped = await scope.transaction(async (tx) => {
    const status = error ? 'failed' : 'cancelled';
    if (!(await tx.one(stop, generationId, status, error && JSON.stringify(error)))) return false;
    await voidCredits(tx, { key: creditKey(generationId) });
    await tell(services, tx, ending);
    return true;
  });
  services.waiters.tell(generationId);
  return stopped;
}
