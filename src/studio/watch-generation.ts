import type { Background } from '../platform/concurrency/background.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import type { Log } from '../platform/observability/log.ts';
import type { TemporalClient } from '../temporal/client.ts';
import type { GenerationPolicy } from '../temporal/contracts/studio.ts';
import { generationStates } from './core/status.ts';
import type { GenerationDetail } from './generations.ts';
import { wakeGeneration } from './job.ts';

// Decides between processes, and against the requests of the workflow.
const claimQuestion = statement({
  name: 'generation.claim_question',
  parameters: { id: 'uuid', watchedEveryMs: 'float8' },
  row: { id: 'uuid' },
  text: `update generation set asked_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :id
      and status in (${generationStates.sql('processing')})
      and asked_at < atelier_now() - make_interval(secs => :watchedEveryMs / 1000)
   returning id`,
});

/** An organization that watches a thousand videos has this process ask about one of them after so many milliseconds. */
const betweenMs = 250;

/** Organizations whose last question is remembered. */
const maxRemembered = 1_000;

interface WatchOptions {
  temporal: TemporalClient;
  generationPolicy: Pick<GenerationPolicy, 'watchedEveryMs'>;
  background: Background;
  log: Log;
}

/** Causes earlier polls for generations that callers wait for. Others are polled rarely. */
export class GenerationWatch {
  readonly #options: WatchOptions;
  readonly #lastOf = new Map<string, number>();

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** A generation was read. Its workflow asks the provider, unless it did within a few seconds. Never fails. */
  seen(scope: Scope, { id, status, askedMsAgo }: Pick<GenerationDetail, 'id' | 'status' | 'askedMsAgo'>): void {
    const { background, log, generationPolicy } = this.#options;
    if (status !== 'processing' || askedMsAgo === null || askedMsAgo < generationPolicy.watchedEveryMs) return;
    if (!this.#claimLook(scope.tenant.organizationId)) return;
    const asked = this.#ask(scope, id).catch((error) =>
      log.warn({ err: error, generationId: id }, 'the provider of a generation that is watched could not be asked'),
    );
    background.run('generation.watch', asked);
  }

  #claimLook(organizationId: string): boolean {
    const now = performance.now();
    if (now - (this.#lastOf.get(organizationId) ?? Number.NEGATIVE_INFINITY) < betweenMs) return false;
    // The latest is the last one.
    this.#lastOf.delete(organizationId);
    this.#lastOf.set(organizationId, now);
    const [first] = this.#lastOf.keys();
    if (this.#lastOf.size > maxRemembered) this.#lastOf.delete(first!);
    return true;
  }

  async #ask(scope: Scope, id: string): Promise<void> {
    const { temporal, generationPolicy } = this.#options;
    const claimed = await scope.one(claimQuestion, { id, watchedEveryMs: generationPolicy.watchedEveryMs });
    if (claimed) await wakeGeneration(temporal, id);
  }
}
