import { clock } from '../../platform/clock.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { IntegrationFailure } from '../calls/failures.ts';
import type { RefusedResource } from '../entities.ts';

/*
 * A resource whose subscription fails does not hold up the others. Its subscription is requested again after a pause, which
 * doubles with each failure.
 */

const firstPauseMs = 300_000;
const maxPauseMs = 6 * 3_600_000;

const find = statement({
  name: 'integration.refused_resources',
  parameters: { id: 'uuid' },
  row: { refused: typed<Record<string, RefusedResource>>('jsonb') },
  text: `select refused_resources as refused from integration_connection
    where organization_id = :organizationId and environment = :environment and id = :id`,
});
const save = statement({
  name: 'integration.save_refused_resources',
  parameters: { id: 'uuid', gone: 'text[]', refused: 'jsonb' },
  text: `update integration_connection set refused_resources = (refused_resources - :gone) || :refused
    where organization_id = :organizationId and environment = :environment and id = :id`,
});

/** The resources of a connection whose subscriptions failed. */
export class RefusedResources {
  readonly #scope: Scope;
  readonly #id: string;
  readonly #known: Map<string, RefusedResource>;

  private constructor(scope: Scope, id: string, known: Record<string, RefusedResource>) {
    this.#scope = scope;
    this.#id = id;
    this.#known = new Map(Object.entries(known));
  }

  /** @param id of the connection */
  static async of(scope: Scope, id: string): Promise<RefusedResources> {
    return new RefusedResources(scope, id, (await scope.one(find, { id }))?.refused ?? {});
  }

  /** Why a resource failed, while its pause lasts. */
  find(resource: string): IntegrationFailure | undefined {
    const refused = this.#known.get(resource);
    if (!refused || refused.until <= clock.now()) return undefined;
    return new IntegrationFailure('action_failed', { providerCode: refused.reason });
  }

  /** Saved at once: a run may be interrupted by its time limit. */
  async add(resource: string, { providerCode, kind }: IntegrationFailure): Promise<void> {
    const failures = (this.#known.get(resource)?.failures ?? 0) + 1;
    const pauseMs = Math.min(firstPauseMs * 2 ** (failures - 1), maxPauseMs);
    const refused = { failures, until: clock.now() + pauseMs, reason: providerCode ?? kind };
    this.#known.set(resource, refused);
    await this.#save([], { [resource]: refused });
  }

  /** Forgets resources that succeeded, or are not subscribed any more. */
  async forgetAll(isOver: (resource: string) => boolean): Promise<void> {
    const gone = [...this.#known.keys()].filter(isOver);
    if (gone.length > 0) await this.#save(gone, {});
  }

  async #save(gone: string[], refused: Record<string, RefusedResource>): Promise<void> {
    await this.#scope.rows(save, { id: this.#id, gone, refused: JSON.stringify(refused) });
  }
}
