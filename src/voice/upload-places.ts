import { rateLimited } from '../platform/errors.ts';
import { MemoryOpenCounter } from '../tenancy/open-counter.ts';

/** Recordings that arrive at the same time at one process: of one organization, and in all. */
export const uploadPlaces = { organization: 32, process: 128 } as const;
/** Nobody knows when a place becomes free. */
const retryAfterSeconds = 5;

/** Bounds how many recordings are received at once, each of which takes buffers and a file of up to 25 MB. */
export class UploadPlaces {
  readonly #counter = new MemoryOpenCounter();

  /** @returns what gives the place free @throws AppError rate_limit_exceeded */
  async enter(organizationId: string): Promise<() => void> {
    const entered: (() => void)[] = [];
    const leave = () => {
      for (const one of entered.splice(0)) one();
    };
    for (const [subject, limit] of [
      [`organization ${organizationId}`, uploadPlaces.organization],
      ['process', uploadPlaces.process],
    ] as const) {
      const one = await this.#counter.enter(subject, limit);
      if (!one) {
        leave();
        const resetAt = Math.ceil(Date.now() / 1000) + retryAfterSeconds;
        throw rateLimited({ limit, resetAt, retryAfter: retryAfterSeconds });
      }
      entered.push(one);
    }
    return leave;
  }
}
