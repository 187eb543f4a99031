import type { Pool } from 'undici';

/**
 * Makes the pools of an agent, which forgets the pool of an origin when its last connection has ended and no request waits.
 * When a request that is aborted ends the connection, the pool says so while that request still counts as one that waits:
 * the agent would keep the pool for ever, and callers choose the names of hosts. So it says it a moment later.
 */
export const poolFactory =
  (OriginPool: typeof Pool) =>
  (origin: string | URL, options: object): Pool => {
    const pool = new OriginPool(origin, options);
    const emit = pool.emit.bind(pool) as (event: string, ...facts: unknown[]) => boolean;
    pool.emit = (event: string, ...facts: unknown[]) => {
      if (event !== 'disconnect') return emit(event, ...facts);
      setImmediate(() => emit(event, ...facts));
      return true;
    };
    return pool;
  };
