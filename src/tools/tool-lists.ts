import { clock } from '../platform/clock.ts';
import { memorySizeOf } from '../platform/core/memory-size.ts';
import type { TenantKey } from '../platform/security/tenant-key.ts';
import type { ToolLimits } from './limits.ts';
import type { ListedTool } from './tool.ts';

interface Entry {
  organization: TenantKey;
  tools: ListedTool[];
  /** The version of the configuration that the server was asked with. */
  version: string;
  /** In milliseconds, as `clock.now()`. */
  until: number;
  bytes: number;
}

/**
 * Lists of tools of remote servers, for some minutes. Their memory is bounded for each organization and for this process:
 * the least recently used ones make way, first those of the same organization.
 * @typeParam Key of a server of a tenant
 */
export class ToolLists<Key extends string> {
  readonly #limits: Pick<ToolLimits, 'listedMs' | 'listedBytes'>;
  /** The least recently used one comes first. */
  readonly #entries = new Map<Key, Entry>();
  #bytes = 0;

  constructor(limits: Pick<ToolLimits, 'listedMs' | 'listedBytes'>) {
    this.#limits = limits;
  }

  /** Bytes of memory that the lists take, for tests. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @returns undefined when it is not known with this version of the configuration */
  get(key: Key, version: string): ListedTool[] | undefined {
    const entry = this.#entries.get(key);
    if (entry?.version !== version || entry.until <= clock.now()) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.tools;
  }

  /** A list with more memory than the share of an organization is not kept. */
  put(key: Key, organization: TenantKey, version: string, tools: ListedTool[]): void {
    const now = clock.now();
    const { listedMs, listedBytes } = this.#limits;
    this.#forget(key);
    for (const [old, { until }] of this.#entries) if (until <= now) this.#forget(old);
    const bytes = memorySizeOf(tools);
    if (bytes > listedBytes.perOrganization) return;
    this.#makeRoom(listedBytes.perOrganization - bytes, (entry) => entry.organization === organization);
    this.#makeRoom(listedBytes.perProcess - bytes, () => true);
    this.#entries.set(key, { organization, tools, version, until: now + listedMs, bytes });
    this.#bytes += bytes;
  }

  /** Forgets the least recently used of these until they have at most so many bytes. */
  #makeRoom(maxBytes: number, isOne: (entry: Entry) => boolean): void {
    const some = [...this.#entries].filter(([, entry]) => isOne(entry));
    let bytes = some.reduce((sum, [, entry]) => sum + entry.bytes, 0);
    for (const [key, entry] of some) {
      if (bytes <= maxBytes) return;
      bytes -= entry.bytes;
      this.#forget(key);
    }
  }

  #forget(key: Key): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}
