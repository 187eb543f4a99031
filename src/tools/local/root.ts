import { mkdir, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Tenant } from '../../platform/tenant.ts';

/** The storage limits of a tenant, by its environment. */
export const room = {
  live: { bytes: 100 * 1024 * 1024, files: 1_000 },
  test: { bytes: 10 * 1024 * 1024, files: 1_000 },
} as const;

export interface Usage {
  bytes: number;
  /** Folders count as files. */
  files: number;
}

/** Where one server of a tenant keeps its files, and where all of the tenant's do. */
export interface Root {
  /** Absolute and real. */
  folder: string;
  ofTenant: string;
}

/** Makes the folders of a tenant where they are missing; other users of the machine have no access to them. */
export async function makeRoot(
  folder: string,
  { organizationId, environment }: Tenant,
  program: string,
): Promise<Root> {
  await mkdir(join(folder, organizationId, environment, program), { recursive: true, mode: 0o700 });
  const ofTenant = await realpath(join(folder, organizationId, environment));
  return { folder: join(ofTenant, program), ofTenant };
}

/** The stored files of a tenant. Counting ends soon after the limit, so that its cost is bounded. */
export async function usageOf(folder: string, maxFiles: number): Promise<Usage> {
  const usage: Usage = { bytes: 0, files: 0 };
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined && usage.files <= maxFiles * 2; next = folders.pop()) {
    for (const entry of await readdir(next, { withFileTypes: true }).catch(() => [])) {
      const path = join(next, entry.name);
      usage.files++;
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) usage.bytes += (await stat(path).catch(() => ({ size: 0 }))).size;
    }
  }
  return usage;
}

/** Bytes of one file; 0 where there is none. */
export const sizeOf = async (path: string): Promise<number> => (await stat(path).catch(() => ({ size: 0 }))).size;
