import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiClient } from '../api-client.ts';
import { runningServers } from '../servers.ts';

/** Where a file is stored that has this address. */
export function pathOf(url: string): string {
  const name = new URL(url).pathname.slice('/files/'.length);
  return join(runningServers().folder, 'files', name.slice(0, 2), name);
}

/** The bytes of a stored file, as its address names it. */
export const fileAt = (url: string): Promise<Buffer> => readFile(pathOf(url));

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Credits of a tenant: what can be spent, and what is reserved. */
export async function creditsOf(api: ApiClient): Promise<{ balance: number; reserved: number }> {
  const { balance, reserved } = (await api.get('/api/v1/credits')).body.data;
  return { balance, reserved };
}
